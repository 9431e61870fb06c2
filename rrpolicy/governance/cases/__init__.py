"""Policies held to small tables with what is expected of each."""
