"""The common part of models of ratios: product channels, everybody, and all records of a unit together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.epsilon.scope_loss import unbounded_reason
from rrpolicy.privacy.model import Assessor, Order, Smooth

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import Original


UNREACHABLE = 1e6
"""In the place of infinity in constraint values: an optimiser must not meet infinities."""
_EDGE = 1e-15
Scope: TypeAlias = Literal["record", "attribute"]
MEANING = "record: every released attribute counts; attribute: what is released unchanged is public context."


def compare_with_scope(order: Order, old: Scope, new: Scope) -> Order:
    """Return the order of two requirements by their limits and scopes; record scope implies attribute scope."""
    return Order.together(order, Order.by((new == "record") - (old == "record")))


def scoped_assessor(  # noqa: PLR0917 those of `assessor`
    name: str,
    reference: str,
    assess: Callable[..., Finding],
    everybody: str,
    words: Callable[[Any], str],
    cap: Callable[[Requirement[Any]], float],
) -> Assessor:
    """Return the assessor of a model with scopes; `cap` is on the logarithm of the ratio of a record."""
    return ratio_assessor(
        name,
        reference,
        assess,
        units=Basis.CHANNEL,
        everybody=everybody,
        record=lambda requirement: requirement.options.scope == "record",
        words=lambda requirement: words(requirement.options),
        cap=lambda requirement, _: cap(requirement),
        ratio=lambda axis: None if (found := axis.max_ratio()) is None else float(found),
    )


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

    `everybody`: why it cannot be limited to a subgroup; `words`: the requirement, for messages; `record`, `cap`,
    `ratio`: as of `epsilon_cap`.
    """

    def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        """Return why the requirement cannot be assessed, or is never met, under a policy; None if it can."""
        return everybody if requirement.where else unbounded_reason(policy, axes, record=record(requirement))

    def smooth(requirement: Requirement, channel: Product, original: Original | int) -> Smooth:
        """Return the cap on epsilon as a constraint on keep probabilities."""
        return epsilon_cap(channel, ratio, cap(requirement, original), words(requirement), record=record(requirement))

    return Assessor(model, Product, (Axis,), Basis.CHANNEL, reference, assess, supports, smooth, units=units)


def epsilon_cap(
    channel: Product, fixed: Callable[[Axis], float | None], cap: float, name: str, *, record: bool
) -> Smooth:
    """Return sum_a epsilon_a(p_a) - cap as a constraint <= 0, for axes with exact ratios.

    Retention: epsilon_a = |log(p/q)|, q = (1-p)/(d-1), with derivative 1/(p (1-p)) for p > q. The functions take one
    keep probability for each Retention axis of the channel, in its order; the others are constant. `fixed` returns the
    exponential of an axis that is not retention, None for infinity; `record`: unmodified attributes count.
    """
    import numpy as np

    sought = [axis for axis in channel.axes if isinstance(axis, Retention)]
    size = np.array([axis.original_size for axis in sought], dtype=np.float64)
    alone = size == 1
    constant = sum((UNREACHABLE for axis in sought if len(axis.blocks) > 1), -cap)
    for axis in channel.axes:
        public = isinstance(axis, Identity) and (not record or axis.released.assume_unlinkable is not None)
        if public or isinstance(axis, Retention):
            continue
        ratio = fixed(axis)
        constant += UNREACHABLE if ratio is None else math.log(ratio)
    if record and any(column.assume_unlinkable is None for column in channel.carried):
        constant += UNREACHABLE

    def value(keep: Array) -> Array:
        return np.array([constant + float(np.abs(_log_odds(keep)).sum())])

    def jacobian(keep: Array) -> Array:
        p = np.clip(keep, _EDGE, 1 - _EDGE)
        return np.where(alone, 0.0, np.where(_log_odds(keep) < 0, -1.0, 1.0) / (p * (1 - p)))[None, :]

    def _log_odds(keep: Array) -> Array:
        p = np.clip(keep, _EDGE, 1 - _EDGE)
        odds: Array = np.where(alone, 0.0, np.log(p) - np.log1p(-p) + np.log(np.maximum(size - 1, 1)))
        return odds

    return Smooth(value, jacobian, name)
