"""The channel of tuple suppression: some records keep their quasi-identifiers, the others are released as `*`.

The suppressed records depend on the sensitive values, and equal records may be treated differently, so that no matrix
of values describes it. The number of suppressed records of each cell is fixed by the plan; records of one cell are
equal in all released columns, so that nothing needs to be drawn.

References:
    Xiao, Yi, Tao 2010, "The Hardness and Approximation Algorithms for L-Diversity" (tuple minimisation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rrpolicy.channels.axes.categories import check_labels
from rrpolicy.channels.axes.recode import ANYTHING
from rrpolicy.channels.base import Channel
from rrpolicy.channels.decoders import Decoder, IdentityDecoder, RecodeDecoder
from rrpolicy.channels.table import Column, TableSpec, attribute_column
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.errors import DataError, Problem
from rrpolicy.finding import Finding
from rrpolicy.frozen import replace
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.base import Sink
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.counts import Counts
    from rrpolicy.policy.model import Attribute
    from rrpolicy.report import Section
    from rrpolicy.source.protocol import Original

TABLE = "data"
PARTED = (
    "Nothing was drawn at random, and no value was made coarser. Records with equal quasi-identifiers stay in one "
    "class where their sensitive values are diverse enough. The others are released as * in every "
    "quasi-identifier. They form a separate class, which is diverse enough as well."
)


@dataclass(frozen=True, slots=True)
class SuppressionChannel(Channel):
    """Records that are released unmodified, and some of each cell as `*`.

    Attributes:
        known: the class-defining columns; the last label of each is `*`, the others are the categories.
        sensitive: the column of the sensitive attribute, released unmodified.
        moved: (code of each known attribute, of the sensitive value, number of suppressed records of this cell); None
            in a public description, for it reveals the values that occur.
    """

    kind: ClassVar[str] = "suppression"
    version: ClassVar[int] = 1

    audit_only: ClassVar[tuple[str, ...]] = ("moved",)

    known: tuple[Column, ...]
    sensitive: Column
    moved: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        names = [c.name for c in (*self.known, self.sensitive)]
        if not self.known or len(set(names)) < len(names):
            raise ValueError("records are grouped by one column or more, with distinct names")
        for column in (*self.known, self.sensitive):
            check_labels(column.name, column.labels)
        if any(len(c.labels) < 2 or c.labels[-1] != ANYTHING for c in self.known):  # noqa: PLR2004 a category, and *
            raise ValueError(f"the last label of a column that makes classes is '{ANYTHING}'")
        sizes = [*(len(c.labels) - 1 for c in self.known), len(self.sensitive.labels)]
        for *codes, n in self.moved or ():
            if len(codes) != len(sizes) or n < 1 or not all(0 <= c < s for c, s in zip(codes, sizes, strict=True)):
                raise ValueError("what is suppressed is not a cell of the table")

    @classmethod
    def of(cls, known: Sequence[Attribute], sensitive: Attribute, moved: Sequence[Sequence[int]]) -> SuppressionChannel:
        """Build the channel.

        Args:
            known: the class-defining attributes, domains known.
            sensitive: the sensitive attribute, with its domain.
            moved: see the attribute.
        """
        columns = (attribute_column(a, (*(a.domain or ()), ANYTHING)) for a in known)
        rows = tuple(sorted(tuple(map(int, row)) for row in moved))
        return cls(tuple(columns), attribute_column(sensitive, sensitive.domain or ()), rows)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the original attributes: the class-defining ones, then the sensitive one."""
        return tuple(c.attribute for c in (*self.known, self.sensitive))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the released columns."""
        return (*self.known, self.sensitive)

    def tables(self) -> tuple[TableSpec, ...]:
        """Return the one table `data`, sorted by all its columns."""
        return (TableSpec(TABLE, self.columns, tuple(c.name for c in self.columns)),)

    def decoders(self) -> tuple[Decoder, ...]:
        """Return the recode form of the class-defining columns, and an identity."""
        whole = [tuple(range(len(column.labels) - 1)) for column in self.known]
        recode = RecodeDecoder(
            self.attributes[:-1],
            tuple(column.name for column in self.known),
            tuple(column.labels for column in self.known),
            tuple(column.labels[:-1] for column in self.known),
            tuple((*((code,) for code in codes), codes) for codes in whole),
            unbiased=False,
            independent=False,
        )
        return recode, IdentityDecoder(self.attributes[-1:], self.sensitive.name, self.sensitive.labels)

    def settle(self, original: Original) -> SuppressionChannel:
        """Fill in engine types."""
        from rrpolicy.channels.values import with_engine_types

        described = with_engine_types(self.columns, original.types)
        return replace(self, known=described[:-1], sensitive=described[-1])

    def released(self, original: Original) -> Counts:
        """Return the number of records released with each combination of labels.

        Raises:
            DataError: RR334 if the table lacks the records that are to be suppressed.
        """
        import numpy as np

        from rrpolicy.counts import tabulate

        if self.moved is None:
            raise ValueError("a public description does not reveal which records are suppressed")
        counts = original.counts(*self.attributes)
        moved = np.array(self.moved, dtype=np.int64).reshape(len(self.moved), len(self.attributes) + 1)
        codes, gone = moved[:, :-1], moved[:, -1]
        stars = codes.copy()
        stars[:, :-1] = [len(c.labels) - 1 for c in self.known]
        shape = tuple(len(c.labels) for c in self.columns)
        rows = np.concatenate([counts.codes, codes.astype(np.int32), stars.astype(np.int32)])
        found = tabulate(self.attributes, shape, rows, np.concatenate([counts.n, -gone, gone]))
        if int(found.n.sum()) != counts.records:
            raise DataError(Problem("RR334", "the table has fewer records in a cell than are to be suppressed"))
        return found

    def draw(self, original: Original, streams: Streams, sink: Sink) -> None:
        """Write the released rows; no bit is drawn."""
        import pyarrow as pa

        from rrpolicy.channels.values import dictionary_array, labels

        del streams
        counts = self.released(original)
        arrays = [dictionary_array(counts.codes[:, i], labels(c)) for i, c in enumerate(self.columns)]
        sink.write(TABLE, pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self.columns]), counts.n)

    def conforms(self, original: Original, released: Mapping[str, pa.RecordBatchReader]) -> Finding:
        """Compare the release with the rows computed from the original."""
        import numpy as np

        from rrpolicy.channels.product.goodness_of_fit import deterministic_finding

        expected, found = self.released(original), self.read(released[TABLE])
        same = np.array_equal(found.codes, expected.codes) and np.array_equal(found.n, expected.n)
        return deterministic_finding(None if same else "the counts of the released rows")

    def read(self, released: pa.RecordBatchReader) -> Counts:
        """Return the number of records released with each combination of labels; -1 is the code of an unknown label.

        Args:
            released: distinct rows with a column `MULTIPLICITY`.
        """
        import numpy as np

        from rrpolicy.channels.values import read_codes
        from rrpolicy.counts import tabulate

        parts, counts = [], []
        for batch in released:
            parts.append(np.stack([read_codes(c, batch.column(c.name)) for c in self.columns], axis=1))
            counts.append(as_numpy(batch.column(MULTIPLICITY)).astype(np.int64))
        rows = np.concatenate([np.zeros((0, len(self.columns)), np.int64), *parts]).astype(np.int32)
        shape = tuple(len(c.labels) for c in self.columns)
        return tabulate(self.attributes, shape, rows, np.concatenate([np.zeros(0, np.int64), *counts]))

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: choices from the data are listed with their origin, and name no record."""
        return ()

    def sections(self, records: int, original: Original | None) -> tuple[Section, ...]:
        """Return the method of suppression; on the audit page class sizes and the number of suppressed records."""
        from rrpolicy.channels.product.report_section import class_section, count_class_sizes
        from rrpolicy.report import Section

        how = Section("Tuple suppression", (PARTED,))
        if original is None or self.moved is None:
            return (how,)
        released = self.released(original)
        known, n = released.codes[:, : len(self.known)], released.n
        gone = sum(row[-1] for row in self.moved)
        kept = (known != [len(column.labels) - 1 for column in self.known]).any(axis=1)
        return (how, class_section(count_class_sizes(known[kept], n[kept]), gone, records, gone / max(records, 1)))
