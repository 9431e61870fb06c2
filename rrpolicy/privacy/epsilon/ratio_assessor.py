"""What models of ratios share: product channels, everybody, and all records of a unit together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.epsilon.epsilon_cap import epsilon_cap
from rrpolicy.privacy.epsilon.scope_loss import unbounded_reason
from rrpolicy.privacy.model import Assessor, Smooth

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.source.protocol import Original


def ratio_assessor(
    model: str,
    reference: str,
    assess: Callable[[Requirement, Product, Original | int], Finding],
    *,
    units: Basis,
    everybody: str,
    record: Callable[[Requirement], bool],
    words: Callable[[Requirement], str],
    cap: Callable[[Requirement, Original | int], float],
    ratio: Callable[[Axis], float | None],
) -> Assessor:
    """Return a model's assessor for product channels.

    Args:
        model: its name.
        reference: where the formula stands.
        assess: decides.
        units: as of `Assessor`.
        everybody: why it cannot be limited to a subgroup.
        record: whether unchanged attributes count (record scope).
        words: the requirement, for messages.
        cap: on the sum over the axes, which for retention is epsilon of one record.
        ratio: exponential of what an axis that is not retention adds to it; None for infinity.
    """

    def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        """Return why the requirement cannot be assessed, or never holds, under a policy; None if it can."""
        return everybody if requirement.where else unbounded_reason(policy, axes, record=record(requirement))

    def smooth(requirement: Requirement, channel: Product, original: Original | int) -> Smooth:
        """Return the cap on epsilon as a constraint on keep probabilities."""
        return epsilon_cap(channel, ratio, cap(requirement, original), words(requirement), record=record(requirement))

    return Assessor(model, Product, (Axis,), Basis.CHANNEL, reference, assess, supports, smooth, units=units)
