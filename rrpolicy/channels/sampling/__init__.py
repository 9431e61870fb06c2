"""Exact draws: keyed streams of bits, laws over categories, counts, and orders."""
