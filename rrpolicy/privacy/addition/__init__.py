"""What randomised addition guarantees: the diversity of released sets."""
