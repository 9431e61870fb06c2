"""The requirements that an assessor may decide, so that one of them alone decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError, Problem

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Layout
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.model import Assessor


def can_overlap(one: Assessor, other: Assessor) -> bool:
    """Return whether two assessors could both apply to one requirement."""
    if one.model != other.model or not (
        issubclass(one.channel, other.channel) or issubclass(other.channel, one.channel)
    ):
        return False
    if not one.axes or not other.axes:
        return True
    return _intersects(one.needs or one.axes, other.axes) and _intersects(other.needs or other.axes, one.axes)


def _intersects(some: Sequence[type[Axis]], others: Sequence[type[Axis]]) -> bool:
    return any(issubclass(a, b) or issubclass(b, a) for a in some for b in others)


def refuse_undecidable(assessor: Assessor, requirement: Requirement, policy: Policy, axes: Layout) -> None:
    """Raise `PolicyError` if an assessor cannot decide a requirement, though it has rules for its model and channel.

    RR246 if it is for single records and a unit may have several, RR223 if the policy requires an estimate and there
    is none, RR227 if it refuses the attributes of an axis.
    """
    from rrpolicy.privacy.model import refuse_layout

    _refuse_units(assessor, requirement, policy)
    _refuse_estimate(assessor, requirement, policy)
    refuse_layout(assessor.layout, requirement, policy, axes)


def _refuse_units(assessor: Assessor, requirement: Requirement, policy: Policy) -> None:
    """Raise `PolicyError` (RR246) if a unit may have several records and an assessor is for single ones."""
    if requirement.max_records > 1 and assessor.units is None:
        message = (
            f"{requirement.model} on a '{assessor.channel.kind}' channel needs one record a person; the policy allows "
            f"{requirement.max_records}"
        )
        hint = (
            f"`max_records` is stated at {policy.place('source.max_records') or '[source]'}; make one record of each "
            "unit, or use local-dp or pk-anonymity of randomised columns, or generalise the quasi-identifiers"
        )
        raise PolicyError(Problem("RR246", message, requirement.place, hint=hint))


def _refuse_estimate(assessor: Assessor, requirement: Requirement, policy: Policy) -> None:
    if requirement.decided_by == "estimate" and not assessor.estimates:
        kind = assessor.channel.kind
        raise PolicyError(
            Problem(
                "RR223",
                f"{requirement.model}: there is no estimate on a '{kind}' channel that could decide",
                policy.place(f"{requirement.place.key}.decided_by") if requirement.place else None,
                expected='`decided_by = "bound"`, or a mechanism whose risk is estimated, such as `anatomy`',
                hint="take `decided_by` out",
            )
        )
