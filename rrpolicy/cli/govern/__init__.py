"""Commands on policies beyond one release: one file a command; no logic."""
