"""Twenty questions asked of three public surveys, released by every mechanism: how often intervals hold the truth."""
