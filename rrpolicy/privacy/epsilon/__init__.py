"""The privacy loss of a record by a product channel, in exact ratios: k, epsilon, and related measures."""
