"""Measuring a table that somebody else anonymised."""
