"""The level of intervals unless another one is given."""

LEVEL = 0.95
