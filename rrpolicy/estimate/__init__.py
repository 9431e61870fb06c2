"""What an analyst does with a release: record weights, counts, standard errors, intervals; from public/ alone."""

LEVEL = 0.95
"""The level of intervals unless another one is given."""
