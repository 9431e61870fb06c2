"""Comparison of two policies: weaker and stronger values, and their impact."""
