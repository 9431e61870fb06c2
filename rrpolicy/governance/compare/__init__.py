"""Policies, mechanisms and values of keys compared before anything is released."""
