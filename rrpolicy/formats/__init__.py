"""Formats of released tables: writing, reading and metadata. One per file."""
