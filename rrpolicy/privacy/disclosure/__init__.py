"""Attribute and identity disclosure through product channels: risks, bounds, gradients, and what stands beside them."""
