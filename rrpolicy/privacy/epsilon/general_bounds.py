"""The two numbers that bound every attacker, to stand beside those that bound one: 1/k and epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.privacy.epsilon.scope_loss import (
    attribute_epsilon_measure,
    k_measures,
    k_of_cross_ratio,
    record_epsilon_measure,
    scope_loss,
)

if TYPE_CHECKING:
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.finding import Companion


def general_bound_measures(channel: Product, records: int) -> tuple[Companion, ...]:
    """Return k, 1/k and epsilon in both scopes.

    Args:
        channel: what is released.
        records: N.
    """
    exposed = scope_loss(channel)
    return (
        *k_measures(k_of_cross_ratio(exposed.cross, records)),
        record_epsilon_measure(exposed),
        attribute_epsilon_measure(exposed),
    )
