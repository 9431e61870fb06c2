"""SQL on a release: read, corrected, answered."""
