"""Evidence of a release for a regime: every clause cites a finding or a declaration, or is "not covered"."""
