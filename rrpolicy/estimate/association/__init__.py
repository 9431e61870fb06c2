"""How columns go together: measures with intervals, tests, and loglinear models."""
