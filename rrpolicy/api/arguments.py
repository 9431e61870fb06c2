"""The wrapper of every public function, and a check of words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from rrpolicy.annotations import check_arguments
from rrpolicy.plugin_errors.attribution import attribute_errors_to_plugin
from rrpolicy.verb_options import with_options

P = ParamSpec("P")
R = TypeVar("R")


def public_function(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that fills in and checks its arguments, and names the plugin of an unexpected error."""
    public = attribute_errors_to_plugin(check_arguments(with_options(function)))
    vars(public)["__signature__"] = inspect.signature(public)
    del vars(public)["__wrapped__"]  # else documentation shows the signature without the options
    return public


def require_known(name: str, word: str, known: Sequence[str]) -> str:
    """Return a word that is known, or raise RR250."""
    if word not in known:
        from rrpolicy.errors import PolicyError, Problem

        raise PolicyError(Problem("RR250", f"there is no {name} '{word}'", expected=", ".join(known)))
    return word
