"""The channel of grouped releases: records are dealt into groups, without the assignment of values inside a group.

Anatomy's two tables: `qit` contains every record's quasi-identifiers, unmodified, with the number of its group; `st`
the count of each sensitive value in each group. Joined by the group they show of a record only that its value is one
of its group's. Each group has l different values, a few have some more.

With two sensitive attributes the records of a group differ in both, and the values of each are in a separate table,
`st_1` and `st_2`: the pairs of values of one record are not released.

The groups' members are drawn. Given the counts, the groups' sizes are fixed; see
`rrpolicy.channels.anatomy.partition_plan`.

References:
    Xiao, Tao 2006, "Anatomy: Simple and Effective Privacy Preservation", definition 3 and figure 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.channels.anatomy.partition_plan import MAX_COMBINATIONS, groups_of
from rrpolicy.channels.base import Channel
from rrpolicy.channels.decoders import AnatomyDecoder, Decoder, IdentityDecoder
from rrpolicy.channels.table import Column, TableSpec, attribute_column
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.base import Sink
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.finding import Finding
    from rrpolicy.policy.model import Attribute
    from rrpolicy.report import Section
    from rrpolicy.source.protocol import Original

QIT, ST = "qit", "st"
MOST_SENSITIVE = 2
"""The most attributes in which the records of a group can differ at once: for more no theorem like König's is known."""
_SMALLEST = 2
_INTEGERS = 1 << 31
_FEW_CELLS = 1 << 16
_MANY_CELLS = 1 << 23


@dataclass(frozen=True, slots=True)
class AnatomyChannel(Channel):
    """Records dealt into groups of l different sensitive values, released as two tables, or three.

    Attributes:
        known: the columns of `qit`, unmodified: quasi-identifiers, and other columns released with them.
        sensitive: the column of `st`; or two, that of `st_1` and that of `st_2`.
        group: the groups' number, in all tables.
        count: the count of a value in a group.
        size: l.
        sampler: `cells` sorts by counts, `records` has the rows sorted by the engine; the same distribution.
    """

    kind: ClassVar[str] = "anatomy"
    version: ClassVar[int] = 1

    audit_only: ClassVar[tuple[str, ...]] = ("sampler",)

    known: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    group: Column
    count: Column
    size: int
    sampler: Literal["cells", "records"] = "cells"

    def __post_init__(self) -> None:
        names = [c.name for c in (*self.known, *self.sensitive, self.group, self.count)]
        attributes = [c.attribute for c in (*self.known, *self.sensitive)]
        if len(set(names)) < len(names) or len(set(attributes)) < len(attributes):
            raise ValueError("a column or an attribute appears twice")
        if not 1 <= len(self.sensitive) <= MOST_SENSITIVE:
            raise ValueError(f"groups can differ in one or two sensitive attributes, not {len(self.sensitive)}")
        if not self.known or not all(c.labels for c in self.sensitive):
            raise ValueError("groups need a column besides the sensitive ones; sensitive values must be listed")
        for column in self.sensitive:
            if not _SMALLEST <= self.size <= len(column.labels):
                most = len(column.labels)
                raise ValueError(f"groups of '{column.attribute}' must have from 2 to {most} values, not {self.size}")
        if len(self.sensitive) > 1 and math.prod(len(c.labels) for c in self.sensitive) > MAX_COMBINATIONS:
            raise ValueError(f"the sensitive columns must have at most {MAX_COMBINATIONS:,} combinations of values")

    @classmethod
    def of(cls, attributes: Sequence[Attribute], sensitive: str | Sequence[str], size: int) -> Self:
        """Build the channel over a policy's released attributes.

        Args:
            attributes: the released ones, domains known.
            sensitive: the attribute that is released in a separate table, or two of them.
            size: l.

        Raises:
            ValueError: if a domain is unknown, or l lies outside 2 to the number of sensitive values.
        """
        columns = {a.name: attribute_column(a) for a in attributes}
        own = tuple(columns.pop(name) for name in ((sensitive,) if isinstance(sensitive, str) else sensitive))
        taken = {c.name.casefold() for c in (*columns.values(), *own)}
        group = Column(_unused_name("group_id", taken), "group", (), "", "")
        count = Column(_unused_name("count", taken), "count", (), "", "")
        return cls(tuple(columns.values()), own, group, count, size)

    @property
    def of_values(self) -> tuple[str, ...]:
        """Return the name of each sensitive column's table."""
        return (ST,) if len(self.sensitive) == 1 else tuple(f"{ST}_{i}" for i in range(1, len(self.sensitive) + 1))

    def tables(self) -> tuple[TableSpec, ...]:
        """Return `qit`, sorted by the quasi-identifiers and then by group, and `st`, sorted by group and value."""
        group, names = self.group.name, tuple(c.name for c in self.known)
        return (
            TableSpec(QIT, (*self.known, self.group), (*names, group), {group: (self.of_values[0], group)}),
            *(
                TableSpec(table, (self.group, own, self.count), (group, own.name), {group: (QIT, group)})
                for table, own in zip(self.of_values, self.sensitive, strict=True)
            ),
        )

    def decoders(self) -> tuple[Decoder, ...]:
        """Return identities for `qit`, and the share of a group that has a sensitive value.

        Shares are not unbiased: they assume that values are assigned at random inside a group. And records of one group
        share its values, so that weights depend on one another.
        """
        known = (IdentityDecoder((c.attribute,), c.name, c.labels) for c in self.known)
        values = (
            AnatomyDecoder(
                (own.attribute,),
                *(table, QIT, self.group.name, own.name, self.count.name, own.labels, self.size),
                unbiased=False,
                independent=False,
            )
            for table, own in zip(self.of_values, self.sensitive, strict=True)
        )
        return (*known, *values)

    def settle(self, original: Original) -> AnatomyChannel:
        """Fill in engine types and choose the way of sorting, by public facts.

        Cells, if all columns have categories and there cannot be many distinct rows (65,536, or half the records, and
        2^23 at most); see `Product.settle`.
        """
        from rrpolicy.channels.values import with_engine_types

        typed = with_engine_types((*self.known, *self.sensitive), original.types)
        groups, _ = groups_of(original.records, self.size)
        few = min(max(_FEW_CELLS, original.records // 2), _MANY_CELLS)
        most = math.prod(len(c.labels) for c in (*self.known, *self.sensitive))
        cells = all(c.labels for c in self.known) and min(most, original.records) <= few
        return replace(
            self,
            known=typed[: len(self.known)],
            sensitive=typed[len(self.known) :],
            group=replace(self.group, type="INTEGER" if groups < _INTEGERS else "BIGINT"),
            count=replace(self.count, type="INTEGER"),
            sampler="cells" if cells else "records",
        )

    def draw(self, original: Original, streams: Streams, sink: Sink) -> None:
        """Deal the records and write all tables to the sink."""
        from rrpolicy.channels.anatomy.draw import draw_tables

        draw_tables(self, original, streams, sink)

    def conforms(self, original: Original, released: Mapping[str, pa.RecordBatchReader]) -> Finding:
        """Compare parts that must be equal, and test the draw; see `rrpolicy.channels.anatomy.goodness_of_fit`."""
        from rrpolicy.channels.anatomy.goodness_of_fit import check_fit

        return check_fit(self, original, released[QIT], [released[table] for table in self.of_values])

    def sizes(self, records: int) -> tuple[int, int]:
        """Return the fewest and the most records that a group can have: l, and l with every residue.

        If there are more groups than residues, some group has exactly l.
        """
        _, residues = groups_of(records, self.size)
        return self.size, self.size + residues

    def untouched(self, *sensitive: Column) -> Product:
        """Return the channel of the columns of `qit` except the groups' numbers, unmodified.

        Args:
            sensitive: columns that are released with it, unmodified.
        """
        from rrpolicy.channels.axes.identity import Identity
        from rrpolicy.channels.product.channel import Product

        columns = (*self.known, *sensitive)
        axes = tuple(Identity(c.attribute, c) for c in columns if c.labels)
        carried = tuple(c for c in columns if not c.labels)
        return Product(axes, carried, tuple(c.name for c in columns))

    def sections(self, records: int, original: Original | None) -> tuple[Section, ...]:
        """Return the method of dealing, the sizes of groups, and residues."""
        from rrpolicy.channels.anatomy.report_section import groups_section

        return (groups_section(self, records, original),)

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: only columns and l are described. The facts in the two tables are the release itself."""
        return ()


def _unused_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
