"""Comparison of several releases, or of the rows of one result."""
