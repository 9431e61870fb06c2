"""The two numbers that bound every attacker, to stand beside those that bound one: 1/k and epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.privacy.epsilon.exposure import attribute_epsilon, exposure, k_companions, k_of, record_epsilon

if TYPE_CHECKING:
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.finding import Companion


def protection(channel: Product, records: int) -> tuple[Companion, ...]:
    """Return k, 1/k and epsilon in both scopes.

    Args:
        channel: what is released.
        records: N.
    """
    exposed = exposure(channel)
    return (*k_companions(k_of(exposed.cross, records)), record_epsilon(exposed), attribute_epsilon(exposed))
