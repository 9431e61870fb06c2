"""Equivalence classes: counted, measured in exact integers, and assessed."""
