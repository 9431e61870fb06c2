"""The tables of every subset of some columns, from one pass: a column that a table does not name has weight 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import Grouping
from rrpolicy.estimate.counts.overlap import LabelOverlap, notes_on_overlaps
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn, concatenate_quantities, key_columns
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.table import METHOD, UNIFORM_SPREAD_METHOD, Crosstab
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release

MOST = 12


@dataclass(frozen=True)
class Cube(Result):
    """One table for each subset of the columns; the rows of all of them below each other, as SQL's CUBE has them.

    Attributes:
        by: the columns.
        tables: the tables, from the grand total to the table by all columns.
    """

    schema: ClassVar[str] = "rrpolicy.cube/1"
    intervals: ClassVar[str] = Crosstab.intervals

    by: tuple[str, ...]
    tables: tuple[Crosstab, ...] = field(repr=False)

    def table(self, *by: str) -> Crosstab:
        """Return the table by some of the columns.

        Raises:
            KeyError: if the cube has none.
        """
        for table in self.tables:
            if set(table.by) == set(by):
                return replace(table, weights_inside=self.weights_inside)
        raise KeyError(by)

    @property
    def title(self) -> str:
        """Return the counted quantity, and whether estimation was necessary."""
        return self.tables[-1].title

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the columns and the counts; a column that a row sums over is None."""
        parts = [table.listed_counts() for table in self.tables]
        keys = [key for own, _ in parts for key in own]
        return (*key_columns(self.by, keys), concatenate_quantities([counts for _, counts in parts]))

    def metadata(self) -> dict[str, Json]:
        """Return the columns, and how counts were estimated."""
        return self.tables[-1].metadata()

    def method_description(self) -> str:
        """Return the method of estimation of the counts."""
        return self.tables[-1].method_description()


def cube(release: Release, by: Sequence[str], where: str | None, target: Target, level: float) -> Cube:
    """Estimate the table of every subset of columns; see `Release.cube`.

    Raises:
        PolicyError: RR268 for more than 12 columns or too many cells; else as `Release.crosstab`.
    """
    if len(by) > MOST:
        raise PolicyError(
            Problem("RR268", f"a cube of {len(by)} columns has {2 ** len(by):,} tables", hint=f"at most {MOST} columns")
        )
    subsets = [subset for size in range(len(by) + 1) for subset in combinations(by, size)]
    found = release.tables(by, subsets, where, split(where, release.columns), target=target, level=level)
    return Cube(
        found[-1].by,
        tuple(found),
        where=where,
        target=target,
        level=level,
        records=release.records,
        sample=found[-1].sample,
        notes=tuple(dict.fromkeys(note for table in found for note in table.notes)),
    )


def tables(
    release: Release,
    by: Sequence[str],
    subsets: Sequence[Sequence[str]],
    where: str | None,
    condition: Condition,
    *,
    target: Target,
    level: float,
) -> list[Crosstab]:
    """Estimate tables by subsets of some columns, in one pass over the data."""
    check_target(target, level, release.max_records)
    if release.design is not None:
        from rrpolicy.estimate.survey.people import people

        return [people(release, subset, where, condition, target, level) for subset in subsets]
    whole = Grouping.of(release.columns, by, condition)
    whole.check_size()
    axes = whole.axes
    first, second, support = release.weight_sums(axes, condition)
    certain = release.lower_bounds(axes, condition)
    method = METHOD if certain is None else UNIFORM_SPREAD_METHOD
    found = []
    for subset in subsets:
        grouping = Grouping.over(axes, tuple(map(release.columns.name, subset)), condition)
        table = Crosstab(
            grouping.by, grouping.groups, first, second, support, method,
            lower_bounds=certain, where=where, target=target, level=level, records=release.records,
            max_records=release.max_records,
        )  # fmt: skip
        ends = (first, first) if certain is None else (certain, support)
        found.append(_with_label_bounds(release, table.corrected(axes, grouping.masks), ends))
    return found


def notes_on_labels(release: Release, by: Sequence[str], where: Sequence[Expression]) -> tuple[str, ...]:
    """Return the notes that are required to read rows by labels that overlap."""
    if release.design is not None or not any(name in release.columns.spread for name in map(release.columns.name, by)):
        return ()
    condition = split(where, release.columns)
    (table,) = release.tables(by, [by], None, condition, target="table", level=LEVEL)
    return table.notes


def _with_label_bounds(release: Release, table: Crosstab, ends: tuple[Array, Array]) -> Crosstab:
    """Return a table with bounds for cells whose labels overlap; the same table if none overlap.

    `ends`: of the released cells, the fewest records of each that satisfy the condition, and the most.
    """
    least, released = ends
    places = range(released.ndim)
    overlaps: dict[int, LabelOverlap] = {}
    for place, ((axis, targets), group) in enumerate(zip(table.axes, table.groups, strict=True)):
        alone = released.sum(axis=tuple(other for other in places if other != place))
        overlap = LabelOverlap.of(release.columns, axis, targets, alone) if group.columns else None
        if overlap is not None:
            overlaps[place] = overlap
    if not overlaps:
        return table
    suppressed = released.astype(float)
    for place in places:
        kept = np.ones(released.shape[place], dtype=bool)
        kept = ~overlaps[place].suppressed if place in overlaps else kept
        suppressed = np.moveaxis(np.tensordot(suppressed, kept[:, None].astype(float), axes=(place, 0)), -1, place)
    notes = notes_on_overlaps(release, tuple(overlaps.values()), round(float(released.sum() - suppressed.sum())))
    if any(axis.randomised for axis, _ in table.axes):
        return replace(table, notes=(*table.notes, *notes))
    most = released
    own = np.ones(table.estimate.shape, dtype=bool)
    for place, (axis, targets) in enumerate(table.axes):
        overlap = overlaps.get(place)
        inside, meets = (targets, targets) if overlap is None else (overlap.inside, overlap.meets)
        least, most = axis.contract(least, place, inside, 1), axis.contract(most, place, meets, 1)
        if overlap is not None:
            shape = [1] * own.ndim
            shape[place] = -1
            own = own & (overlap.own & ~overlap.everything).reshape(shape)
    listed = np.flatnonzero((table.estimate != 0) | own)
    table = replace(
        table,
        listed=None if listed.size == table.estimate.size else tuple(listed.tolist()),
        notes=(*table.notes, *notes),
    )
    return (
        replace(table, lower_bounds=least, support=most)
        if table.biased
        else replace(table, bounds=np.stack([least, most]))
    )
