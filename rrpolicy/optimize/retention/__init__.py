"""Retention probabilities: the common one, and the one of each attribute that costs least."""
