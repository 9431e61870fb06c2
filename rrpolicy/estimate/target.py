"""What an estimate can speak of, and how it can be made."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rrpolicy.errors import PolicyError, Problem

Target: TypeAlias = Literal["table", "population"]
Estimator: TypeAlias = Literal["moment", "em", "projection"]


def check_target(target: str, level: float) -> None:
    """Refuse what is no target or no level.

    Raises:
        PolicyError: RR271.
    """
    if target not in {"table", "population"}:
        raise PolicyError(Problem("RR271", f"no such target: {target!r}", expected='"table" or "population"'))
    if not 0 < level < 1:
        raise PolicyError(Problem("RR271", f"the level {level} is no probability", expected="such as 0.95"))
