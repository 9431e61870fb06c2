"""Attribute disclosure under linking: how likely randomised values lead back to a person's sensitive value.

    risk(alpha, u) = c_u R_QI(alpha) R_S(u | alpha)

for every combination alpha of quasi-identifiers and sensitive value u that occur together, c_u the share of u in the
group (Guo, Ying, Wu 2011, Result 1, eq. 6-9). The guarantee is the maximum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.product.channel import Product
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Basis, Finding, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.privacy.disclosure.attribute_options import (
    ADVERSARY,
    NAME,
    ONE_EVENT,
    Options,
    targets,
)
from rrpolicy.privacy.model import Assessor, Layout, Order, Smooth, unreadable

if TYPE_CHECKING:
    from rrpolicy.privacy.model import MinimumRisk
    from rrpolicy.source.protocol import Original

REFERENCE = "Guo, Ying, Wu 2011, Result 1, eq. 6-9"
NOT_COVERED = (
    (
        "This is the chance of one event, not the chance that a guess of the value is right: that is `success`, which "
        "the plan and the audit report show beside it."
    ),
    (
        "Who knows or reconstructs the whole table guesses the commonest value of a group: that is `group inference`, "
        "shown there too."
    ),
    "A person with more than one record, and knowledge from elsewhere beyond the quasi-identifiers.",
)


class AttributeDisclosure:
    """The privacy model `attribute-disclosure`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED

    def describe(self, options: Options) -> str:
        """Return such as `risk <= 1/3`."""
        parts = [] if options.threshold is None else [f"risk <= {options.threshold}"]
        parts += [f"risk of {value} <= {t}" for value, t in options.thresholds.items()]
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return (
            ", ".join(parts)
            + of
            + (", also if the other sensitive values are known" if options.known_sensitive else "")
            + (", decided by an estimate" if options.decided_by == "estimate" else "")
        )

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive, and thresholds of values that do not exist."""
        sensitive = targets(options, policy)
        if not sensitive:
            return "the policy names no sensitive attribute"
        for name in sensitive:
            if name not in policy.attributes or policy.attributes[name].role is not Role.SENSITIVE:
                return f"'{name}' is not a sensitive attribute of the policy"
        domains = [policy.attributes[name].domain for name in sensitive]
        if None not in domains:
            known = {str(value) for domain in domains for value in domain or ()}
            for value in options.thresholds:
                if value not in known:
                    return f"`thresholds` names '{value}', which is no category of {', '.join(sensitive)}"
        return None

    def compare(self, old: Options, new: Options) -> Order:
        """Compare limits and what is protected: weaker if something becomes weaker, stronger if stronger."""
        values = [*old.thresholds, *new.thresholds, None]
        change = {(new.limit(v) > old.limit(v)) - (new.limit(v) < old.limit(v)) for v in values}
        change.add(old.known_sensitive - new.known_sensitive)
        change.add((new.decided_by == "estimate") - (old.decided_by == "estimate"))
        if not old.sensitive or not new.sensitive:
            change.add(bool(new.sensitive) - bool(old.sensitive))
        else:
            change |= {1 for a in old.sensitive if a not in new.sensitive}
            change |= {-1 for a in new.sensitive if a not in old.sensitive}
        kinds = {frozenset(): Order.EQUAL, frozenset({1}): Order.WEAKER, frozenset({-1}): Order.STRONGER}
        return kinds.get(frozenset(change - {0}), Order.INCOMPARABLE)


def assessors() -> Iterable[Assessor]:
    """Return the assessor for product channels."""
    return [
        Assessor(
            NAME,
            Product,
            (Axis,),
            Basis.ORIGINAL,
            REFERENCE,
            assess,
            supports,
            smooth,
            holds=holds,
            layout=layout,
            floor=floor,
        )
    ]


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse axes that do not tell how they read back, and subgroups by what the attacker does not know."""
    refused = unreadable(axes)
    if refused is not None:
        return refused
    assert isinstance(requirement.options, Options)
    protected = targets(requirement.options, policy)
    for name in requirement.where:
        role = policy.attributes[name].role
        if role is Role.SENSITIVE and protected != (name,):
            return f"`where` names the sensitive '{name}', which an entry can do only if it protects that one alone"
        if role not in {Role.SENSITIVE, Role.QUASI_IDENTIFIER}:
            return f"`where` names '{name}', which is neither quasi-identifier nor sensitive"
    return None


def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
    """Return the largest risk over everybody that the entry speaks of; undecided without the original."""
    assert isinstance(channel, Product)
    if isinstance(original, int):
        return undecided(requirement)
    from rrpolicy.privacy.disclosure.attribute import assess_attribute

    refuse_coupled(requirement, channel, original.policy)
    return assess_attribute(requirement, channel, original)


def undecided(requirement: Requirement) -> Finding:
    """Return the finding of who has only the number of records."""
    options = requirement.options
    assert isinstance(options, Options)
    return Finding(
        NAME, NAME, "", None, None, options.threshold, Verdict.UNDECIDED, Basis.ORIGINAL, ADVERSARY, (ONE_EVENT,)
    )


def holds(requirement: Requirement, channel: Channel, original: Original | int) -> bool:
    """Return whether the verdict is that it holds, without the numbers beside it."""
    assert isinstance(channel, Product)
    if isinstance(original, int):
        return False
    from rrpolicy.privacy.disclosure.attribute import holds_attribute

    refuse_coupled(requirement, channel, original.policy)
    return holds_attribute(requirement, channel, original)


def floor(
    requirement: Requirement, channel: Channel, original: Original, free: Collection[str]
) -> tuple[MinimumRisk, ...]:
    """Return the smallest reachable as what is free is drawn at random.

    See `rrpolicy.privacy.disclosure.minimum_risk`.
    """
    from rrpolicy.privacy.disclosure.minimum_risk import attribute_minimum

    assert isinstance(channel, Product)
    return attribute_minimum(requirement, channel, original, free)


def smooth(requirement: Requirement, channel: Channel, original: Original | int) -> Smooth:
    """Return risk/limit - 1 of every (group, value) as functions of the keep probabilities."""
    from rrpolicy.privacy.disclosure.constraint import attribute_constraint

    assert isinstance(channel, Product)
    assert not isinstance(original, int)
    refuse_coupled(requirement, channel, original.policy)
    return attribute_constraint(requirement, channel, original)


def layout(requirement: Requirement, policy: Policy, axes: Layout) -> tuple[str, str] | None:
    """Refuse a sensitive attribute that is randomised together with others, unless it can be read out of them."""
    from rrpolicy.privacy.models.coupling import coupled

    options = requirement.options
    assert isinstance(options, Options)
    refused = (coupled(axes, policy, name) for name in targets(options, policy))
    return next((reason for reason in refused if reason is not None), None)


def refuse_coupled(requirement: Requirement, channel: Product, policy: Policy) -> None:
    """Raise `PolicyError` (RR227) if the risk of a sensitive attribute cannot be told from its axis."""
    refused = layout(requirement, policy, [(axis.attributes, type(axis)) for axis in channel.axes])
    if refused is not None:
        raise PolicyError(Problem("RR227", f"{NAME}: {refused[0]}", requirement.place, hint=refused[1]))
