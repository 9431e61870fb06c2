"""Signed statements on a release, in formats that other programs verify."""
