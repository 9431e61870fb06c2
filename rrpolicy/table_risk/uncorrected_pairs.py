"""Valid statements on two columns of a table without its matrices: counted once, by declared properties."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array
from rrpolicy.discovery import load_registry
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.estimate.uncorrected.release_validity import Holds, MatrixKnowledge, what_holds_of_pair
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.table_risk.table import TableRiskRequest, open_groupable_table, require_scalar_columns

if TYPE_CHECKING:
    from rrpolicy.source.duckdb.snapshot import TableSnapshot

MOST_CELLS = 1_000_000


def uncorrected_properties(  # noqa: PLR0917 each is another thing
    handed: InputTable,
    table: str | None,
    columns: Sequence[str],
    randomised: Collection[str] | None,
    doubly_stochastic: Collection[str],
    half: Collection[str],
    plugins: Sequence[str],
) -> Holds:
    """Return the valid statements on two columns; see `rrpolicy.what_holds` for the arguments and errors."""
    drawn = _randomised_columns(columns, randomised, doubly_stochastic, half)
    registry = load_registry(plugins).opening(handed.engines)
    with registry.naming_engines(), scratch_folder() as spilled:
        asked = TableRiskRequest(handed.uri or "", table, tuple(columns))
        with open_groupable_table(asked, registry, spilled.folder) as (snapshot, _):
            require_scalar_columns(columns, snapshot)
            labels, x = _pair_counts(columns, snapshot)
            snapshot.unchanged()
            name = snapshot.name.strip("'")
    row, column = (
        MatrixKnowledge(
            (name,),
            randomised=name in drawn,
            doubly=name not in drawn or name in doubly_stochastic,
            half=name not in drawn or name in half,
            two=size == 2,  # noqa: PLR2004 - two categories
        )
        for name, size in zip(columns, x.shape, strict=True)
    )
    return what_holds_of_pair(x, row, column, _table_label(name, columns, labels, x))


def _randomised_columns(
    columns: Sequence[str], randomised: Collection[str] | None, doubly: Collection[str], half: Collection[str]
) -> frozenset[str]:
    """Return the randomised columns.

    Raises:
        PolicyError: RR505 if not two columns are named; RR506 if the declarations are contradictory.
    """
    if len(columns) != 2 or columns[0] == columns[1]:  # noqa: PLR2004 - a pair
        message = f"measures of association are of two columns, named are: {', '.join(columns) or 'none'}"
        raise PolicyError(Problem("RR505", message, expected="two different columns, the one in the rows first"))
    drawn = frozenset(columns if randomised is None else _column_name_list(randomised))
    for said, names in (
        ("randomised", drawn),
        ("doubly-stochastic", _column_name_list(doubly)),
        ("half", _column_name_list(half)),
    ):
        for name in sorted(set(names) - (set(columns) if said == "randomised" else drawn)):
            lacking = "is not one of the two columns" if name not in columns else "is declared to be released unchanged"
            hint = "declare only properties of the matrices that the publisher states"
            raise PolicyError(Problem("RR506", f"--{said} names '{name}', which {lacking}", hint=hint))
    return drawn


def _column_name_list(given: Collection[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _pair_counts(columns: Sequence[str], snapshot: TableSnapshot) -> tuple[list[list[Value | None]], Array]:
    """Return the occurring categories of each column, sorted with missing ones last, and the records of each pair.

    Raises:
        PolicyError: RR268 if there are too many pairs.
        DataError: RR507 if a column has a single category.
    """
    first, second = (snapshot.stored[name].typed for name in columns)
    cursor = snapshot.connection.cursor()
    labels = []
    for sql in (first, second):
        query = f"SELECT DISTINCT {sql} AS v FROM {snapshot.source} ORDER BY v NULLS LAST LIMIT {MOST_CELLS}"  # noqa: S608 quoted
        labels.append([v for (v,) in cursor.execute(query).fetchall()])
    for name, found in zip(columns, labels, strict=True):
        if len(found) < 2:  # noqa: PLR2004 - a comparison needs two
            message = f"{snapshot.name}: '{name}' has {len(found)} different values, and goes together with nothing"
            raise DataError(Problem("RR507", message, expected="at least two categories in each column"))
    if len(labels[0]) * len(labels[1]) > MOST_CELLS:
        message = f"the table of {columns[0]!r} and {columns[1]!r} has {len(labels[0]) * len(labels[1]):,} cells"
        raise PolicyError(Problem("RR268", message, hint="name columns of categories, not of single numbers"))
    query = f"SELECT {first} AS a, {second} AS b, count(*) FROM {snapshot.source} GROUP BY a, b"  # noqa: S608 quoted
    at = [{value: i for i, value in enumerate(found)} for found in labels]
    x = np.zeros((len(labels[0]), len(labels[1])))
    for a, b, n in cursor.execute(query).fetchall():
        x[at[0][a], at[1][b]] = n
    return labels, x


def _table_label(name: str, columns: Sequence[str], labels: Sequence[Sequence[Value | None]], x: Array) -> str:
    told = f"{name}: {columns[0]} in {len(labels[0])} rows, {columns[1]} in {len(labels[1])} columns, "
    told += f"{int(x.sum()):,} records"
    if x.shape != (2, 2):
        return told
    present = " and ".join(
        f"{column} {'missing' if found[1] is None else found[1]!r}"
        for column, found in zip(columns, labels, strict=True)
    )
    return f"{told}; present: {present}"
