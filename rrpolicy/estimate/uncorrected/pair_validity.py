"""What holds of two columns of a table that somebody holds, as far as it is known how they were randomised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rrpolicy.estimate.association.chi_square import chi_square_tail
from rrpolicy.estimate.association.independence import released_table_test
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.uncorrected.conditions import BOUNDS, ORDERS
from rrpolicy.estimate.uncorrected.matrix_knowledge import MatrixKnowledge
from rrpolicy.estimate.uncorrected.release_validity import (
    INDEPENDENT,
    counts_statement,
    equal_frequency_statements,
    orders_statement,
    unchanged_columns_statement,
)
from rrpolicy.estimate.uncorrected.validity_table import Holds, Statement
from rrpolicy.source.counts import Array


def what_holds_of_pair(x: Array, row: MatrixKnowledge, column: MatrixKnowledge, table: str) -> Holds:
    """Say what holds of a released table of two columns, each of them randomised by itself or not at all.

    Args:
        x: (rows, columns) released counts, at least 2 x 2, no row and no column empty. Of two categories the second is
            the one that is present.
        row: what is known of the first column's matrix; one that is not randomised has the identity.
        column: likewise of the second.
        table: which table that is, in words.
    """
    both = (row, column)
    names = tuple(name for known in both for name in known.columns)
    randomised = [known for known in both if known.randomised]
    plain = tuple(name for known in both if not known.randomised for name in known.columns)
    found = [unchanged_columns_statement(plain)] if plain else []
    if not randomised:
        return Holds(tuple(found), table)
    found.append(counts_statement(randomised))
    for known, margin in ((row, x.sum(axis=1)), (column, x.sum(axis=0))):
        if known.randomised:
            found += equal_frequency_statements([known], _equal_frequency_test(margin))
    tested = released_table_test((names[0], names[1]), None, x)
    computed = {"chi2": tested.statistic, "df": float(tested.df), "p_value": tested.p_value}
    because = f"{INDEPENDENT}; {tested.remark}" if tested.remark else INDEPENDENT
    found.append(Statement("chi-square test of independence", names, "level kept", because, computed))
    for bound in BOUNDS:
        if bound.row(row) and bound.column(column):
            measured = _measure_values(x, bound.measures)
            found.append(Statement(bound.analysis, names, "never larger", bound.because, measured))
    for order in ORDERS:
        if order.holds(row, column):
            measured = _measure_values(x, (order.measure,))
            found.append(Statement(order.analysis, names, "order kept", order.because, measured))
    return Holds((*found, orders_statement()), table)


def _measure_values(x: Array, measures: tuple[str, ...]) -> Mapping[str, float]:
    """Return measures of the table as it is; NaN for those that an empty cell leaves undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: float(MEASURES[name].of(x)[0]) for name in measures}
    return {name: value if np.isfinite(value) else np.nan for name, value in values.items()}


def _equal_frequency_test(margin: Array) -> Mapping[str, float]:
    """Return Pearson's test of equal frequencies."""
    expected = margin.sum() / len(margin)
    statistic = float(((margin - expected) ** 2).sum() / expected)
    df = len(margin) - 1
    return {"chi2": statistic, "df": float(df), "p_value": chi_square_tail(statistic, df)}
