"""Verifying a bundle: everything recomputed that the inputs at hand allow, nothing believed."""
