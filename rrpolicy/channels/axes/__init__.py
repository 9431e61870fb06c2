"""The factors of a product channel, one a file, and their shared parts."""
