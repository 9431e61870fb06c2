"""Association of columns: measures with intervals, tests, and loglinear models."""
