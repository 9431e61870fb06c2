"""Identity disclosure: how likely an attacker who knows a person's quasi-identifiers picks that person's record.

    link(alpha) = sum_beta P_QI[beta, alpha]^2 / (N lambda_QI[beta]) = R_QI(alpha) / (N pi[alpha])

(Teng, Du 2006, Theorem 3.2). On an untouched or generalised table it is 1 over the size of the group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.product.channel import Product
from rrpolicy.finding import Basis, Finding, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.privacy.disclosure.identity_options import ADVERSARY, NAME, Options
from rrpolicy.privacy.model import Assessor, Order, Smooth, unreadable

if TYPE_CHECKING:
    from rrpolicy.privacy.model import MinimumRisk
    from rrpolicy.source.protocol import Original

REFERENCE = "Teng, Du 2006, Theorem 3.2"
NOT_COVERED = (
    (
        "It is exact for one attacker, who draws by posterior weight under expected shares. In tiny tables, who knows "
        "everybody's original values links better; 1/k beside it bounds every attacker."
    ),
    "It says nothing of what a record tells once it is found: that is attribute disclosure.",
    "A person with more than one record.",
)


class IdentityDisclosure:
    """The privacy model `identity-disclosure`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED

    def describe(self, options: Options) -> str:
        """Return such as `link <= 1/100`."""
        if options.percentile is None:
            return f"link <= {options.threshold}"
        return f"mean link of the {options.percentile} % most at risk <= {options.threshold}"

    def refuses(self, options: Options, policy: Policy) -> str | None:  # noqa: ARG002
        """Refuse a policy without quasi-identifiers."""
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy names no quasi-identifier"

    def compare(self, old: Options, new: Options) -> Order:
        """Compare thresholds; different percentiles are incomparable."""
        if old.percentile != new.percentile:
            return Order.INCOMPARABLE
        if new.threshold == old.threshold:
            return Order.EQUAL
        return Order.STRONGER if new.threshold < old.threshold else Order.WEAKER


def assessors() -> Iterable[Assessor]:
    """Return the assessor for product channels."""
    return [
        Assessor(NAME, Product, (Axis,), Basis.ORIGINAL, REFERENCE, assess, supports, smooth, holds=holds, floor=floor)
    ]


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse axes that do not tell how they read back, and subgroups by what the attacker does not know."""
    refused = unreadable(axes)
    if refused is not None:
        return refused
    known = {a.name for a in policy.with_role(Role.QUASI_IDENTIFIER)}
    foreign = [name for name in requirement.where if name not in known]
    return f"`where` names {', '.join(foreign)}, which is no quasi-identifier" if foreign else None


def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
    """Return the largest chance of linking, or its mean over those most at risk; undecided without the original."""
    assert isinstance(channel, Product)
    if isinstance(original, int):
        return undecided(requirement)
    from rrpolicy.privacy.disclosure.identity import assess_linking

    return assess_linking(requirement, channel, original)


def undecided(requirement: Requirement) -> Finding:
    """Return the finding of who has only the number of records."""
    options = requirement.options
    assert isinstance(options, Options)
    return Finding(NAME, NAME, "", None, None, options.threshold, Verdict.UNDECIDED, Basis.ORIGINAL, ADVERSARY)


def holds(requirement: Requirement, channel: Channel, original: Original | int) -> bool:
    """Return whether the verdict is that it holds, without the numbers beside it."""
    assert isinstance(channel, Product)
    if isinstance(original, int):
        return False
    from rrpolicy.privacy.disclosure.identity import holds_linking

    return holds_linking(requirement, channel, original)


def floor(
    requirement: Requirement, channel: Channel, original: Original, free: Collection[str]
) -> tuple[MinimumRisk, ...]:
    """Return the smallest reachable as what is free is drawn at random.

    See `rrpolicy.privacy.disclosure.minimum_risk`.
    """
    from rrpolicy.privacy.disclosure.minimum_risk import linking_minimum

    assert isinstance(channel, Product)
    return (linking_minimum(requirement, channel, original, free),)


def smooth(requirement: Requirement, channel: Channel, original: Original | int) -> Smooth:
    """Return link/limit - 1 of every group, or of the mean, as functions of the keep probabilities."""
    from rrpolicy.privacy.disclosure.constraint import linking_constraint

    assert isinstance(channel, Product)
    assert not isinstance(original, int)
    return linking_constraint(requirement, channel, original)
