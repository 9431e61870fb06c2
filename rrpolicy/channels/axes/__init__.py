"""The factors of a product channel, one a file, and what they share."""
