"""A first policy for a table, guessed from its names and values, for a person to finish."""
