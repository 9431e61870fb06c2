"""Disclosure through tuple suppression."""
