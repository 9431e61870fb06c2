"""What the report says of generalised columns: what they became, how large classes are, and who was suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.recode import Recode
from rrpolicy.section import Fact, Section

if TYPE_CHECKING:
    from rrpolicy.channel.product import Product
    from rrpolicy.source.counts import Ints
    from rrpolicy.source.protocol import Original

_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000)
HOW = (
    "Nothing was drawn at random. Each value was released as the group that it lies in; records that agree in all that "
    "may be known of a person make an equivalence class, and a class is all that anybody can be traced to."
)


def recode_sections(product: Product, original: Original | None) -> tuple[Section, ...]:
    """Return the sections of a channel that recodes.

    Args:
        product: the channel.
        original: the table, for the audit page: class sizes and suppressed records; None for the public one.
    """
    recoded = [axis for axis in product.axes if isinstance(axis, Recode)]
    if not recoded:
        return ()
    rows = [row for axis in recoded for row in _columns(axis)]
    header = ("column", "categories", "released labels", "most categories in one label")
    sections = [Section("Generalisation", (HOW,), (), header, tuple(rows))]
    if original is not None:
        sections.append(_classes(recoded, original))
    return tuple(sections)


def _columns(axis: Recode) -> list[tuple[str, ...]]:
    suppressing = axis.suppressed_row is not None
    rows: list[tuple[str, ...]] = []
    for domain, column, groups in zip(axis.original, axis.released, axis.groups, strict=True):
        own = groups[:-1] if suppressing and len(groups) > 1 else groups
        rows.append((column.name, str(len(domain.labels)), str(len(own)), str(max(len(group) for group in own))))
    return rows


def _classes(recoded: Sequence[Recode], original: Original) -> Section:
    """Return how many records stand in classes of which size, by the generalised columns alone."""
    counts = original.counts(*(name for axis in recoded for name in axis.attributes))
    labels, start = [], 0
    for axis in recoded:
        span = slice(start, start + len(axis.attributes))
        start = span.stop
        labels.append(axis.recode(counts.codes[:, span]))
    rows = np.concatenate(labels, axis=1)
    kept = np.ones(len(rows), dtype=bool)
    if len(recoded) == 1 and recoded[0].suppressed_row is not None and recoded[0].released_size > 1:
        kept = (rows != [len(column.labels) - 1 for column in recoded[0].released]).any(axis=1)
    _, member = np.unique(rows[kept], axis=0, return_inverse=True)
    sizes: Ints = np.bincount(member.ravel(), weights=counts.n[kept]).astype(np.int64)
    facts = (
        Fact("Classes by the generalised columns", f"{len(sizes):,}"),
        Fact("Records in the smallest", f"{min(sizes.tolist(), default=0):,}"),
        Fact("Records in the largest", f"{max(sizes.tolist(), default=0):,}"),
        Fact("Suppressed records, released as *", f"{int(counts.n[~kept].sum()):,} of {original.records:,}"),
    )
    return Section("Class sizes", (), facts, ("records in the class", "classes", "records"), _spread(sizes))


def _spread(sizes: Ints) -> tuple[tuple[str, ...], ...]:
    rows = []
    for low, high in zip(_EDGES, (*_EDGES[1:], None), strict=True):
        here = (sizes >= low) & (sizes < high) if high is not None else sizes >= low
        if here.any():
            span = f"{low:,} or more" if high is None else f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"
            rows.append((span, f"{int(here.sum()):,}", f"{int(sizes[here].sum()):,}"))
    return tuple(rows)
