"""What a product channel exposes of a record, in exact ratios: k and epsilon, and what stands beside them."""
