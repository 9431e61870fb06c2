"""Formats of released tables: how each is written, read back, and spoken of. One a file."""
