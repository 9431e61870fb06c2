"""What a table says of the population that it is of: counts against a reference table, and estimates."""
