"""Verification of a bundle: everything recomputed that the available inputs allow, nothing trusted."""
