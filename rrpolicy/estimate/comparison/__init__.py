"""What several releases say of the same question, beside one another."""
