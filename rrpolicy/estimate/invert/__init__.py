"""Estimators other than the unbiased one: proper tables from released counts."""
