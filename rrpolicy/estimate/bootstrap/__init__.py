"""Intervals for what no formula is known of: the release drawn again from the likeliest table."""
