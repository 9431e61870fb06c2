"""The report's section on generalised columns: their labels, the loss of information, and the classes' sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.categories import certainty_penalty
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.counts import number_rows
from rrpolicy.numbers import figure, percent
from rrpolicy.report import Fact, Section

if TYPE_CHECKING:
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.source.protocol import Original


_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


def count_class_sizes(codes: Codes, n: Ints) -> Ints:
    """Return (classes,) the records of each distinct row."""
    member, classes = number_rows(codes.T, len(codes))
    return np.bincount(member, weights=n, minlength=classes).astype(np.int64)


def class_section(sizes: Ints, suppressed: int, records: int, loss: float) -> Section:
    """Return the section on the number of records by size of their class."""
    many = len(sizes)
    facts = (
        Fact("Classes", figure(many)),
        Fact("Records in the smallest class", figure(min(sizes.tolist(), default=0))),
        Fact("Records in a class on average", figure(float(sizes.mean()) if many else 0, 4)),
        Fact("Records in the largest class", figure(max(sizes.tolist(), default=0))),
        Fact(
            "Suppressed records, released as *",
            f"{figure(suppressed)} of {figure(records)} ({percent(suppressed / max(records, 1))})",
        ),
        Fact("Loss (NCP), mean over the columns", figure(loss, 4)),
    )
    rows, shares = _size_histogram(sizes, records)
    header = ("Records in the class", "Classes", "Records")
    return Section("Class sizes", (), facts, header, rows, shares, "Share of records")


def _size_histogram(sizes: Ints, records: int) -> tuple[tuple[tuple[str, ...], ...], tuple[float, ...]]:
    rows, shares = [], []
    for low, high in zip(_EDGES, (*_EDGES[1:], None), strict=True):
        here = (sizes >= low) & (sizes < high) if high is not None else sizes >= low
        if here.any():
            span = (
                f"{figure(low)} or more"
                if high is None
                else figure(low)
                if high == low + 1
                else f"{figure(low)} to {figure(high - 1)}"
            )
            rows.append((span, figure(int(here.sum())), figure(int(sizes[here].sum()))))
            shares.append(float(sizes[here].sum()) / max(records, 1))
    return tuple(rows), tuple(shares)


_SHOWN = 60
HOW = (
    "Nothing was drawn at random. Each value was released as the group that it lies in; records that agree in all that "
    "may be known of a person make an equivalence class, and a class is all that anybody can be traced to."
)
LOST = (
    "The loss (normalised certainty penalty, NCP) is the share of a column's categories that a released label stands "
    "for, 0 for one category and 1 for all categories, on average over the records. All columns have equal weight "
    "here, whatever weights the policy sets."
)


def recode_sections(product: Product, original: Original | None) -> tuple[Section, ...]:
    """Return the sections of a channel that recodes.

    `original` is None for the public page.
    """
    recoded = [axis for axis in product.axes if isinstance(axis, Recode)]
    if not recoded:
        return ()
    used = None if original is None else _ReleasedLabels(recoded, original)
    losses = None if used is None else used.losses()
    rows = [row for axis in recoded for row in _recoded_columns(axis)]
    header = ["Column", "Categories", "Released labels", "Most categories in one label"]
    if losses is not None:
        header.append("Loss (NCP)")
        rows = [(*row, figure(loss, 4)) for row, loss in zip(rows, losses, strict=True)]
    how = (HOW,) if losses is None else (HOW, LOST)
    sections = [Section("Generalisation", how, (), tuple(header), tuple(rows)), *_label_meanings(recoded, used)]
    if used is not None and losses is not None:
        sections.append(class_section(used.sizes, used.suppressed, used.records, sum(losses) / len(losses)))
    return tuple(sections)


class _ReleasedLabels:
    """The released labels of a table's records.

    Attributes:
        sizes: (classes,) records of each class of the others, by the recoded columns alone.
    """

    def __init__(self, recoded: Sequence[Recode], original: Original) -> None:
        counts = original.counts(*(name for axis in recoded for name in axis.attributes))
        parts, start = [], 0
        for axis in recoded:
            span = slice(start, start + len(axis.attributes))
            start = span.stop
            parts.append(axis.recode(counts.codes[:, span]))
        self._recoded, self._codes, self._n = recoded, np.concatenate(parts, axis=1), counts.n
        kept = np.ones(len(self._n), dtype=bool)
        if len(recoded) == 1 and recoded[0].suppressed_row is not None and recoded[0].released_size > 1:
            kept = (self._codes != [len(column.labels) - 1 for column in recoded[0].released]).any(axis=1)
        self.records = original.records
        self.suppressed = int(self._n[~kept].sum())
        self.sizes = count_class_sizes(self._codes[kept], self._n[kept])

    def of(self, column: int) -> Ints:
        labels = [len(released.labels) for axis in self._recoded for released in axis.released][column]
        return np.bincount(self._codes[:, column], weights=self._n, minlength=labels).astype(np.int64)

    def losses(self) -> list[float]:
        found = []
        columns = [pair for axis in self._recoded for pair in zip(axis.original, axis.of_labels, strict=True)]
        for place, (domain, groups) in enumerate(columns):
            penalties = np.array([certainty_penalty(len(group), len(domain.labels)) for group in groups])
            found.append(float(penalties @ self.of(place)) / max(self.records, 1))
        return found


def _recoded_columns(axis: Recode) -> Iterator[tuple[str, ...]]:
    suppressing = axis.suppressed_row is not None
    for domain, column, groups in zip(axis.original, axis.released, axis.of_labels, strict=True):
        own = groups[:-1] if suppressing and len(groups) > 1 else groups
        yield column.name, figure(len(domain.labels)), figure(len(own)), figure(max(len(group) for group in own))


def _label_meanings(recoded: Sequence[Recode], used: _ReleasedLabels | None) -> Iterator[Section]:
    """Yield the categories of each label of more than one; on the audit page with its frequency."""
    rows, shares, place = [], [], 0
    for axis in recoded:
        for domain, column, groups in zip(axis.original, axis.released, axis.of_labels, strict=True):
            people = None if used is None else used.of(place)
            place += 1
            for position, group in enumerate(groups):
                if len(group) > 1 and (people is None or people[position]):
                    every = len(group) == len(domain.labels)
                    named = "every category" if every else ", ".join(str(domain.labels[code]) for code in group)
                    rows.append((column.name, str(column.labels[position]), named))
                    shares.append(0.0 if used is None or people is None else float(people[position]) / used.records)
    if rows:
        more = (f"{figure(len(rows) - _SHOWN)} more labels are in release.json.",) if len(rows) > _SHOWN else ()
        header, shown = ("Column", "Released label", "Stands for"), tuple(rows[:_SHOWN])
        if used is None:
            yield Section("Categories of the labels", more, (), header, shown)
        else:
            bars = tuple(shares[:_SHOWN])
            yield Section("Categories of the labels", more, (), header, shown, bars, "Share of records")
