"""The channels that have equivalence classes, and these classes, planned or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rrpolicy.channels.anatomy.channel import AnatomyChannel
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

DETERMINISTIC_AXES: tuple[type[Axis], ...] = (Identity, Recode)
"""The axes that do not randomise, so that their released values make classes."""


class ClassChannel(Struct, frozen=True):
    """A kind of channel with equivalence classes. Every class model is assessed on each of `CLASS_CHANNELS`.

    Attributes:
        channel: its class.
        planned: returns the classes that a channel will release.
        written: returns those of a written release, from its tables and the published channel alone; None if unknown.
        axes: see `Assessor`. With axes, planners may test class by class.
        most: the most sensitive attributes whose values are counted in its classes; None for all of a policy.
        refusal: the reason for which it refuses a requirement that protects more.
        by_units: whether its classes are known of units of several records.
    """

    channel: type[Channel]
    planned: Callable[[Requirement, Any, Original], Classes]
    written: Callable[[Requirement, Policy, Any, Written], Classes] | None = None
    axes: tuple[type[Axis], ...] = ()
    most: int | None = None
    refusal: str = ""
    by_units: bool = False


def _planned_product(requirement: Requirement, channel: Product, original: Original) -> Classes:
    from rrpolicy.privacy.classes.equivalence import expected_classes

    return expected_classes(requirement, channel, original, requirement.protects(original.policy))


def _written_product(requirement: Requirement, policy: Policy, channel: Product, written: Written) -> Classes:
    from rrpolicy.privacy.classes.equivalence import empirical_classes

    return empirical_classes(requirement, policy, channel, written, requirement.protects(policy))


def _planned_suppression(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Classes:
    from rrpolicy.privacy.classes.equivalence import expected_tuple_classes

    return expected_tuple_classes(requirement, channel, original)


def _written_suppression(
    requirement: Requirement, policy: Policy, channel: SuppressionChannel, written: Written
) -> Classes:
    from rrpolicy.privacy.classes.equivalence import empirical_tuple_classes

    del policy
    return empirical_tuple_classes(requirement, channel, written)


CLASS_CHANNELS = (
    ClassChannel(Product, _planned_product, _written_product, DETERMINISTIC_AXES, by_units=True),
    ClassChannel(
        SuppressionChannel,
        _planned_suppression,
        _written_suppression,
        most=1,
        refusal="records are parted by one sensitive attribute",
    ),
    ClassChannel(AnatomyChannel, lambda asked, groups, of: _planned_product(asked, groups.untouched(), of), most=0),
)
"""The one list of channels with classes. Records in groups of anatomy have classes of their unmodified columns."""


def equivalence_classes(requirement: Requirement, channel: Channel, original: Original) -> Classes:
    """Return the classes that a channel will release: records that agree in everything that an attacker knows.

    Args:
        requirement: its `sensitive` lists the attributes to count in each class, its `where` limits the classes
            concerned.
        channel: one of `CLASS_CHANNELS`, with deterministic axes.
        original: the table.

    Returns:
        the classes. Suppressed tuples are one of them. Records of a product whose known columns are all suppressed are
        in no class; they are counted separately.

    Raises:
        TypeError: if the channel decides at random who is in a class.
    """
    return _class_channel(channel, requirement.protects(original.policy)).planned(requirement, channel, original)


def written_classes(requirement: Requirement, policy: Policy, channel: Channel, written: Written) -> Classes:
    """Return the classes of a written release, from its tables and the published channel alone.

    Args:
        requirement: see `equivalence_classes`.
        policy: its published part: domains and roles.
        channel: the channel as published.
        written: the tables.

    Raises:
        TypeError: as `equivalence_classes`.
    """
    kind = _class_channel(channel, requirement.protects(policy))
    assert kind.written is not None
    return kind.written(requirement, policy, channel, written)


def _class_channel(channel: Channel, sensitive: tuple[str, ...]) -> ClassChannel:
    drawn = {axis.kind for axis in getattr(channel, "axes", ()) if not isinstance(axis, DETERMINISTIC_AXES)}
    for kind in () if drawn else CLASS_CHANNELS:
        if isinstance(channel, kind.channel) and (kind.most != 0 or not sensitive):
            return kind
    kinds = ", ".join(sorted(drawn)) or channel.kind
    raise TypeError(f"what is released by {kinds} is left to chance, and has no equivalence classes before it is drawn")
