"""Results of a command for machines: one value, and one module per format."""
