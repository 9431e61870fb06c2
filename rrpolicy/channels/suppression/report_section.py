"""The report's section on suppressed records: their number, and the sizes of the classes of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.channels.class_sizes import class_section, count_class_sizes
from rrpolicy.report import Section

if TYPE_CHECKING:
    from rrpolicy.channels.suppression.channel import SuppressionChannel
    from rrpolicy.source.protocol import Original

PARTED = (
    "Nothing was drawn at random, and no value was made coarser. Records that agree in their quasi-identifiers stay "
    "together as far as their sensitive values are even enough; the others are released as * in every "
    "quasi-identifier, and make a class of their own, which is even enough as well."
)


def suppression_sections(parted: SuppressionChannel, records: int, original: Original | None) -> tuple[Section, ...]:
    """Return the sections of a channel that suppresses records.

    Args:
        parted: the channel.
        records: N.
        original: the table, for the audit page; None for the public one.
    """
    how = Section("Tuple suppression", (PARTED,))
    if original is None or parted.moved is None:
        return (how,)
    released = parted.released(original)
    known, n = released.codes[:, : len(parted.known)], released.n
    gone = sum(row[-1] for row in parted.moved)
    kept = (known != [len(column.labels) - 1 for column in parted.known]).any(axis=1)
    return (how, class_section(count_class_sizes(known[kept], n[kept]), gone, records, gone / max(records, 1)))
