"""SQL on a release: parsed and corrected."""
