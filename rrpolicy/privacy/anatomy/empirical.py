"""Dealt groups as they were written: are they what the channel says, and if not, how common is a value in one?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.anatomy.channel import QIT, AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Ints
    from rrpolicy.privacy.model import Written


def empirical_diversity(channel: AnatomyChannel, written: Written) -> tuple[int, Fraction | None]:
    """Read all tables.

    Args:
        channel: what they are said to come from.
        written: the tables.

    Returns:
        The records, and None if every group has l values or more of each attribute, each once, and as many as it has
        records; else the largest share of one value in a group, 1 where a group cannot be told.
    """
    held = [(number, n) for number, n, _ in _group_rows(channel, written.distinct(QIT), None)]
    records = sum(int(n.sum()) for _, n in held)
    shares = [_largest_share(channel, held, records, written.distinct(table)) for table in channel.of_values]
    return records, max((share for share in shares if share is not None), default=None)


def _largest_share(
    channel: AnatomyChannel, held: Sequence[tuple[Ints, Ints]], records: int, rows: Iterable[pa.RecordBatch]
) -> Fraction | None:
    """Return None, or the largest share of a value in a group, of one table of values; see `achieved`."""
    values = list(_group_rows(channel, rows, channel.count.name))
    groups, _ = groups_of(records, channel.size)
    numbers = [number for number, *_ in (*held, *values)]
    if not groups or any(int(n.min(initial=1)) < 1 or int(n.max(initial=1)) > groups for n in numbers):
        return Fraction(1)
    inside, stated, most = (np.zeros(groups + 1, dtype=np.int64) for _ in range(3))
    repeated = False
    for number, n in held:
        np.add.at(inside, number, n)
    for number, n, count in values:
        np.add.at(stated, number, n * count)
        np.maximum.at(most, number, n * count)
        repeated |= bool((n > 1).any())
    inside, stated, most = inside[1:], stated[1:], most[1:]
    if repeated or (inside != stated).any() or (stated == 0).any():
        return Fraction(1)
    if (most == 1).all() and (stated >= channel.size).all():
        return None
    return max(Fraction(int(a), int(b)) for a, b in zip(most, stated, strict=True))


def _group_rows(
    channel: AnatomyChannel, reader: Iterable[pa.RecordBatch], count: str | None
) -> Iterable[tuple[Ints, Ints, Ints]]:
    """Yield the group number of each distinct row, how often it stands, and its count."""
    for batch in reader:
        number, n = (_integer_array(batch.column(name)) for name in (channel.group.name, MULTIPLICITY))
        yield number, n, n if count is None else _integer_array(batch.column(count))


def _integer_array(column: pa.Array) -> Ints:
    """Return whole numbers, 0 for none."""
    numbers: Ints = as_numpy(column, absent=0).astype(np.int64)
    return numbers
