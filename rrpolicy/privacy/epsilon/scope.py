"""Whether what is released unchanged counts, of models that bound how far two originals are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from rrpolicy.channels.base import Axis
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.epsilon.ratio_assessor import ratio_assessor
from rrpolicy.privacy.model import Assessor, Order

Scope: TypeAlias = Literal["record", "attribute"]
MEANING = "record: every released attribute counts; attribute: what is released unchanged is public context."


def compare_with_scope(order: Order, old: Scope, new: Scope) -> Order:
    """Return how a requirement stands to another one of its model, by their limits and scopes.

    Args:
        order: by the limits alone.
        old: the scope of the other one.
        new: its own; record scope implies attribute scope.
    """
    return Order.together(order, Order.by((new == "record") - (old == "record")))


def scoped_assessor(  # noqa: PLR0917 those of `assessor`
    name: str,
    reference: str,
    assess: Callable[..., Finding],
    everybody: str,
    words: Callable[[Any], str],
    cap: Callable[[Requirement[Any]], float],
) -> Assessor:
    """Return the assessor of such a model for product channels.

    Args:
        name: of the model.
        reference: where the formula stands.
        assess: returns the finding of a requirement.
        everybody: why it cannot be limited to a subgroup.
        words: options in words.
        cap: of a requirement on the logarithm of the ratio of a record.
    """
    return ratio_assessor(
        name,
        reference,
        assess,
        units=Basis.CHANNEL,
        everybody=everybody,
        record=lambda requirement: requirement.options.scope == "record",
        words=lambda requirement: words(requirement.options),
        cap=lambda requirement, _: cap(requirement),
        ratio=_axis_ratio,
    )


def _axis_ratio(axis: Axis) -> float | None:
    ratio = axis.max_ratio()
    return None if ratio is None else float(ratio)
