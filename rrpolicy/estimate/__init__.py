"""Estimation from public/ alone: record weights, counts, standard errors, intervals."""

LEVEL = 0.95
"""The level of intervals unless another one is given."""
