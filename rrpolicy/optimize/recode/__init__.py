"""Generalisation: the best node of a lattice, or boxes, under every requirement."""
