"""Baselines: what a policy takes from the one that it extends, and where it would fall below it."""
