"""Comparison of policies, mechanisms and values of keys before a release."""
