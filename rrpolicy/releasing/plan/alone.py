"""Columns that are released as they are, with how many of their values one record alone has: a warning in the audit.

The numbers are statistics of the original: they stand in the plan and in audit/, never in public/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rrpolicy.channel.base import Channel
from rrpolicy.channel.decoders import IdentityDecoder
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.finding import Measure
from rrpolicy.mechanism import Remark
from rrpolicy.policy.model import Attribute, Policy
from rrpolicy.source.singles import Singles

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

HELD_BY_ONE = "held-by-one"
"""The name of these remarks."""


@runtime_checkable
class _Counting(Protocol):
    """An original that counts them where its rows pass anyway."""

    def singles(self, name: str) -> int: ...


def held_by_one(policy: Policy, channel: Channel, original: Original) -> Iterator[Remark]:
    """Yield a warning for every column released unchanged that has values of one record alone.

    Args:
        policy: resolved.
        channel: as it will be drawn.
        original: the table.
    """
    kept = {name for d in channel.decoders() if isinstance(d, IdentityDecoder) for name in d.attributes}
    changed = {name for d in channel.decoders() if not isinstance(d, IdentityDecoder) for name in d.attributes}
    for attribute in policy.released:
        if attribute.name in kept or (not attribute.categorical and attribute.name not in changed):
            singles = _singles(attribute, original)
            if singles:
                yield Remark(
                    HELD_BY_ONE,
                    f"'{attribute.name}' is released unchanged; values that one record alone has: {singles:,}. Whoever"
                    " knows such a value of a person finds the person's record",
                    Measure(float(singles)),
                    attribute.name,
                )


def _singles(attribute: Attribute, original: Original) -> int:
    """Return how many values of an attribute one record alone has; nulls are no value."""
    from rrpolicy.channel.product.draw import tally

    if isinstance(original, _Counting):
        return original.singles(attribute.name)
    if attribute.categorical:
        return int((original.counts(attribute.name).n == 1).sum())
    found = Singles()
    for batch in tally(original, [], [attribute.name]):
        found.take(batch.column(0), as_numpy(batch.column(1)))
    return found.count()
