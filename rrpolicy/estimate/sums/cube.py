"""The tables of every subset of some columns, from one pass: a column that a table does not name has weight 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from rrpolicy.canonical import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import check_size, grouping, groups_of
from rrpolicy.estimate.results.measured import Column, Measured, joined, key_columns
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.table import EVEN, METHOD, Crosstab
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.frozen import frozen

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

MOST = 12


@frozen(slots=False)
class Cube(Result):
    """One table for each subset of the columns; the rows of all of them below each other, as SQL's CUBE has them.

    Attributes:
        by: the columns.
        tables: from the grand total to the table by all columns.
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
        """Return what is counted, and whether it had to be estimated."""
        return self.tables[-1].title

    def shown(self) -> tuple[Column | Measured, ...]:
        """Return the columns and the counts; a column that a row sums over is None."""
        keys = [key for table in self.tables for key in table.group_values()]
        return (*key_columns(self.by, keys), joined([table.counts for table in self.tables]))

    def facts(self) -> dict[str, Json]:
        """Return the columns, and how counts were estimated."""
        return self.tables[-1].facts()

    def said_of_method(self) -> str:
        """Return how the counts were estimated."""
        return self.tables[-1].said_of_method()


def cube(release: Release, by: Sequence[str], where: str | None, target: Target, level: float) -> Cube:
    """Estimate the table of every subset of columns; `Release.cube` says how.

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
        notes=found[-1].notes,
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
    """Estimate tables by subsets of some columns, in one pass over the data.

    Args:
        release: opened.
        by: all columns.
        subsets: what each table is by.
        where: the condition, as asked.
        condition: the same, split.
        target: as for `Release.crosstab`.
        level: as for `Release.crosstab`.

    Raises:
        PolicyError: as `Release.crosstab`.
    """
    check_target(target, level, release.max_records)
    if release.design is not None:
        from rrpolicy.estimate.survey.table import people

        return [people(release, subset, where, condition, target, level) for subset in subsets]
    names, axes = grouping(release.columns, by, condition)
    check_size(axes, [groups_of(axis, names, condition)[0] for axis in axes], names)
    first, second, support = release.moments(axes, condition)
    certain = release.certain(axes, condition)
    method = METHOD if certain is None else EVEN
    found = []
    for subset in subsets:
        exact = tuple(map(release.columns.name, subset))
        grouped = [groups_of(axis, exact, condition) for axis in axes]
        groups = tuple(g for g, _ in grouped)
        table = Crosstab(
            exact, groups, first, second, support, method,
            certain=certain, where=where, target=target, level=level, records=release.records,
            max_records=release.max_records,
        )  # fmt: skip
        found.append(table.corrected(axes, [targets for _, targets in grouped]))
    return found
