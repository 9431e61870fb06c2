"""Skeleton of a plugin: the files of a distribution, and their generator."""
