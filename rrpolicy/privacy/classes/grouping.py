"""The equivalence classes of whatever is released without chance, planned or written, by one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Channel
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.classes.histograms import Classes
    from rrpolicy.privacy.model import Written
    from rrpolicy.source.protocol import Original


def deterministic_axes() -> tuple[type[Axis], ...]:
    """Return the axes that leave nothing to chance, so that released values make classes."""
    return (Identity, Recode)


def equivalence_classes(requirement: Requirement, channel: Channel, original: Original) -> Classes:
    """Return the classes that a channel will release: records that agree in all that an attacker is taken to know.

    Args:
        requirement: the attributes of its `sensitive` are counted in each class, its `where` limits the concerned ones.
        channel: a product that leaves nothing to chance, or one that suppresses tuples.
        original: the table.

    Returns:
        the classes. Suppressed tuples are one of them; records of a product that lost all that would be known of them
        are in none, and counted by themselves.

    Raises:
        TypeError: for a channel by which it is left to chance who is in a class.
    """
    if isinstance(channel, SuppressionChannel):
        from rrpolicy.privacy.classes.suppressed_tuples import planned_classes

        return planned_classes(requirement, channel, original)
    from rrpolicy.privacy.classes.equivalence import expected_classes

    return expected_classes(
        requirement, _require_deterministic(channel), original, requirement.protects(original.policy)
    )


def written_classes(requirement: Requirement, policy: Policy, channel: Channel, written: Written) -> Classes:
    """Return the classes of a written release, from its tables and the published channel alone.

    Args:
        requirement: as of `equivalence_classes`.
        policy: as much of it as is published: domains and roles.
        channel: as published.
        written: the tables.

    Raises:
        TypeError: as `equivalence_classes`.
    """
    if isinstance(channel, SuppressionChannel):
        from rrpolicy.privacy.classes import suppressed_tuples

        return suppressed_tuples.empirical_classes(requirement, channel, written)
    from rrpolicy.privacy.classes import equivalence

    return equivalence.empirical_classes(
        requirement, policy, _require_deterministic(channel), written, requirement.protects(policy)
    )


def _require_deterministic(channel: Channel) -> Product:
    drawn = [axis for axis in getattr(channel, "axes", ()) if not isinstance(axis, deterministic_axes())]
    if isinstance(channel, Product) and not drawn:
        return channel
    kinds = ", ".join(sorted({axis.kind for axis in drawn})) or channel.kind
    raise TypeError(f"what is released by {kinds} is left to chance, and has no equivalence classes before it is drawn")
