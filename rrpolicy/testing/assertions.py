"""Assertions that speak, and that `python -O` keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rrpolicy.errors import PLUGIN_CONTRACT_CODE, RefusedError


def demand(condition: bool, reason: str) -> None:
    """Raise AssertionError with a reason unless a condition holds."""
    if not condition:
        raise AssertionError(reason)


@contextmanager
def convert_to_assertion(what: str, *answers: type[Exception]) -> Iterator[None]:
    """Raise AssertionError for whatever goes wrong inside, in the words of RR413 where it is a plugin's; or decorate.

    Args:
        what: is asked, for the message.
        answers: errors that are an answer, and pass.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, RefusedError) and error.problems[0].code == PLUGIN_CONTRACT_CODE:
            raise AssertionError(error.problems[0].message) from error
        if isinstance(error, (AssertionError, *answers)):
            raise
        raise AssertionError(f"{what} fails: {type(error).__name__}: {error}") from error
