"""What a command found, for machines: one value, and one module a format."""
