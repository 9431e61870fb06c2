"""Choice of parameters: objectives, constraints from assessors, and the optimiser that mechanisms share."""
