"""Utility metrics: expected values may gate, actual ones are shown in audit/ and never gate."""
