"""The report's section on equivalence classes of any channel: their number, and their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.counts import number_rows
from rrpolicy.report_blocks import Fact, Section, figure, percent

if TYPE_CHECKING:
    from rrpolicy.counts import Codes, Ints

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
