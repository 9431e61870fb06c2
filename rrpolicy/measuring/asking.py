"""Measuring a table as a caller asks for it: thresholds validated as a policy's entries are, the policy opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.measuring.table import Asked, TableCheck, measure_table
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.models import k_anonymity, l_diversity, t_closeness
from rrpolicy.releasing.plan.opening import PolicyLike, opened
from rrpolicy.scratch import scratch
from rrpolicy.source.memory.handed import Handed

RECURSIVE = l_diversity.Kind.RECURSIVE.value


def check(  # noqa: PLR0917 each is another thing
    handed: Handed,
    table: str | None,
    known: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    policy: PolicyLike | None,
    thresholds: Mapping[str, Any],
    suppressed: str | None,
    root: Path | None,
) -> TableCheck:
    """Measure a table; see `rrpolicy.check_table` for the arguments and errors."""
    found = None if policy is None else opened(policy, root=root)
    registry = (load_registry() if found is None else found.registry).opening(handed.engines)
    with scratch() as spilled:
        asked = Asked(
            handed.uri or "",
            table,
            None if known is None else tuple(known),
            None if sensitive is None else tuple(sensitive),
            None if found is None else found.policy,
            tuple(required(**thresholds)),
            suppressed,
        )
        return measure_table(asked, registry.sources, spilled.folder)


def required(*, k: Any, l: Any, kind: str, c: Any, t: Any, distance: str) -> list[Requirement]:
    """Return thresholds as requirements.

    Raises:
        PolicyError: RR250 if one makes no sense.
    """
    if c is not None and l is None:
        raise PolicyError(Problem("RR250", "--c goes with --l and --kind recursive"))
    if l is not None and (kind == RECURSIVE) != (c is not None):
        message = "--kind recursive needs --c" if c is None else f"--c belongs to --kind recursive, not to {kind}"
        raise PolicyError(Problem("RR250", message, hint="(c, l)-diversity: --l 3 --kind recursive --c 2"))
    found = []
    if k is not None:
        found.append(_requirement(k_anonymity, {"k": k}))
    if l is not None:
        found.append(_requirement(l_diversity, {"l": l, "kind": kind} | ({} if c is None else {"c": c})))
    if t is not None:
        found.append(_requirement(t_closeness, {"t": t, "distance": distance}))
    return found


def _requirement(model: Any, options: dict[str, Any]) -> Requirement:
    """Validate thresholds as a policy's entry would be."""
    try:
        return Requirement(model.NAME, model.Options.model_validate(options))
    except ValidationError as error:
        first = error.errors()[0]
        key = "".join(f"--{part}: " for part in first["loc"][:1])
        raise PolicyError(Problem("RR250", key + first["msg"].removeprefix("Value error, "))) from None
