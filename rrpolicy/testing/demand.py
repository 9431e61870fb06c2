"""Assertions that speak, and that `python -O` keeps."""

from __future__ import annotations


def demand(condition: bool, reason: str) -> None:
    """Raise AssertionError with a reason unless a condition holds."""
    if not condition:
        raise AssertionError(reason)
