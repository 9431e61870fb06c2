"""From names and conditions to counts of released values: one pass over the data."""
