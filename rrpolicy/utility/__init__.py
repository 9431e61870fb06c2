"""Utility metrics: expected ones may gate, realised ones are shown in audit/ and never gate."""
