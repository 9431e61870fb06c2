"""Equivalence classes: their channels, exact counts and the base of their models."""
