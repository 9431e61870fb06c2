"""What callers hand over, made what the core takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from rrpolicy.argument_types import check_arguments
from rrpolicy.plugin_errors.attribution import attribute_errors_to_plugin

if TYPE_CHECKING:
    from rrpolicy.planning.key_storage import KeyLocation
    from rrpolicy.planning.waivers import Terms

P = ParamSpec("P")
R = TypeVar("R")
PathLike: TypeAlias = "str | os.PathLike[str]"
Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done, and the share done."""
Threshold: TypeAlias = int | float | str | Fraction


def public_function(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that checks the types of its arguments, and names the plugin of an unexpected error."""
    return attribute_errors_to_plugin(check_arguments(function))


def no_progress(what: str, share: float) -> None:
    """Show no progress."""
    del what, share


def to_path(path: PathLike | None) -> Path | None:
    """Return a path that was handed over."""
    return None if path is None else Path(path)


def to_key_location(key: PathLike | None) -> KeyLocation | None:
    """Return where a key is, or of what secret it is derived."""
    from rrpolicy.planning.key_storage import parse_secret

    return None if key is None else parse_secret(os.fspath(key)) or Path(key)


def review_options(today: date | None, *, waivers: bool) -> Terms:
    """Return the day on which a policy is judged, today by default, and whether waivers count."""
    from rrpolicy.planning.waivers import Terms

    return Terms(waivers=waivers) if today is None else Terms(today, waivers)


def require_known(name: str, word: str, known: Sequence[str]) -> str:
    """Return a word that is known, or raise RR250."""
    if word not in known:
        from rrpolicy.errors import PolicyError, Problem

        raise PolicyError(Problem("RR250", f"there is no {name} '{word}'", expected=", ".join(known)))
    return word
