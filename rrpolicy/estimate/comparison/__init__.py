"""What several releases say of the same question, or the rows of one answer, beside one another."""
