"""Assertions that speak, and that `python -O` keeps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from rrpolicy.errors import BLAMED, RefusedError

P = ParamSpec("P")
R = TypeVar("R")


def demand(condition: bool, reason: str) -> None:
    """Raise AssertionError with a reason unless a condition holds."""
    if not condition:
        raise AssertionError(reason)


def demanding(check: Callable[P, R]) -> Callable[P, R]:
    """Return a check that says of what a plugin returned (RR413) as an assertion what is wrong with it."""

    @functools.wraps(check)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return check(*args, **kwargs)
        except RefusedError as error:
            if error.problems[0].code != BLAMED:
                raise
            raise AssertionError(error.problems[0].message) from error

    return run
