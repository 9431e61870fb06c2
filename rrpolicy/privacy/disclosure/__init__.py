"""Attribute and identity disclosure through product channels: risks, bounds, gradients, and related measures."""
