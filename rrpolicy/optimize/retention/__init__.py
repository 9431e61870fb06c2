"""Retention probabilities: the common one, and those of least error for each attribute."""
