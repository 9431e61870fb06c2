"""Assertions with messages, which `python -O` keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rrpolicy.errors import PLUGIN_CONTRACT_CODE, RefusedError

T = TypeVar("T")


def check_options(kind: type[BaseModel], refused: Sequence[Mapping[str, object]] = ()) -> None:
    """Check that options are immutable, and refuse unknown keys and invalid tables."""
    name = getattr(kind, "__name__", repr(kind))
    demand(isinstance(kind, type) and issubclass(kind, BaseModel), f"the options {name} are not a pydantic class")
    demand(kind.model_config.get("frozen") is True, f"{name} is not frozen: a plan could differ from its policy")
    demand(kind.model_config.get("extra") == "forbid", f"{name} takes unknown keys: a misspelt one is passed over")
    for table in refused:
        demand(not _accepts(kind, table), f"{name} takes {dict(table)}, which should be refused")


def returned_or_none(what: str, ask: Callable[[], T], *refusals: type[Exception]) -> T | None:
    """Return the result; None if it raises one of the errors that are valid responses. Other errors are a failure."""
    try:
        with convert_to_assertion(what, *refusals):
            return ask()
    except refusals:
        return None


def _accepts(kind: type[BaseModel], table: Mapping[str, object]) -> bool:
    try:
        with convert_to_assertion(f"refusing {dict(table)} by {kind.__name__}", ValidationError):
            kind.model_validate(table)
    except ValidationError as error:
        demand(all(e["msg"].strip() for e in error.errors()), f"{kind.__name__} refuses {dict(table)} in no words")
        return False
    return True


def demand(condition: bool, reason: str) -> None:
    """Raise AssertionError with a reason unless a condition is true."""
    if not condition:
        raise AssertionError(reason)


@contextmanager
def convert_to_assertion(what: str, *answers: type[Exception]) -> Iterator[None]:
    """Raise AssertionError for any error inside, in the words of RR413 if it is a plugin's; or decorate.

    `answers` are errors that are valid responses, and pass.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, RefusedError) and error.problems[0].code == PLUGIN_CONTRACT_CODE:
            raise AssertionError(error.problems[0].message) from error
        if isinstance(error, (AssertionError, *answers)):
            raise
        raise AssertionError(f"{what} fails: {type(error).__name__}: {error}") from error
