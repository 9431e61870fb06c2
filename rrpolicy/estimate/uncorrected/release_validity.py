"""What holds of an opened release: of each column by what is known of its matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.decoders import AdditionDecoder, AnatomyDecoder, RecodeDecoder
from rrpolicy.counts import Array
from rrpolicy.estimate.association.chi_square import chi_square_tail
from rrpolicy.estimate.association.independence import released_table_test
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.uncorrected.conditions import BOUNDS, ORDERS, MatrixKnowledge, two_categories
from rrpolicy.estimate.uncorrected.validity_table import Holds, Statement

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.estimate.release import Release

_NOTHING: Mapping[str, float] = {}
_THESE = "another column of this list or one released as it is"
_APART = "a column that is randomised by itself or released as it is"
INDEPENDENT = "columns that are independent stay so when each is randomised by itself"
_LOGLINEAR = "it survives iff no randomised column occurs twice among its highest-order terms"


def what_holds(release: Release) -> Holds:
    """Say which analyses hold; `Release.what_holds` says of what.

    Columns whose matrix is not known count as randomised in an unknown way.
    """
    grouped = list(_grouped_statements(release.manifest.decoders))
    apart = {column for statement in grouped for column in statement.columns}
    axes = list({id(a): a for a in release.columns.axes.values() if apart.isdisjoint(a.columns)}.values())
    carried = [c for c in release.columns.columns if c not in release.columns.axes and c not in release.columns.refused]
    plain = (*(c for a in axes if not a.randomised for c in a.columns), *(c for c in carried if c not in apart))
    known = [
        *(MatrixKnowledge.of(a) for a in axes if a.randomised),
        *map(MatrixKnowledge.told, release.manifest.withheld),
    ]
    told = what_holds_of_columns(plain, known)
    return replace(told, statements=(*told.statements, *grouped))


def _grouped_statements(decoders: Sequence[Decoder]) -> Iterator[Statement]:
    """Yield what holds of columns that are generalised, dealt into groups, or hidden in sets: no value is exchanged."""
    dealt = tuple(d.column for d in decoders if isinstance(d, AnatomyDecoder))
    if dealt:
        because = "each table is released as it is; which value of a group is whose is not"
        yield Statement("any analysis of these columns alone, in the table that holds them", dealt, "valid", because)
        because = "counts that join them to other columns lie within bounds that are certain, by estimate with spread"
        yield Statement("analyses of these columns with those of another table", dealt, "biased", because)
    recoded = [pair for d in decoders if isinstance(d, RecodeDecoder) for pair in zip(d.columns, d.groups, strict=True)]
    coarse = tuple(column for column, groups in recoded if any(len(group) > 1 for group in groups))
    overlapping = tuple(c for c, groups in recoded if len({v for g in groups for v in g}) < sum(map(len, groups)))
    single = tuple(column for column in coarse if column not in overlapping)
    if single:
        because = "every record has the label of its category; nothing is exchanged"
        yield Statement("any analysis by the labels of these columns", single, "valid", because)
    if overlapping:
        because = "every record has a label of its category; nothing is exchanged"
        yield Statement("counts and shares by the labels of these columns", overlapping, "valid", because)
        because = "a category has several labels, of which a record's other columns chose one"
        yield Statement("tests, associations and models by the labels of these columns", overlapping, "biased", because)
    if coarse:
        because = "a label stands for several categories; their counts lie within bounds that are certain"
        yield Statement("analyses by what the labels of these columns stand for", coarse, "biased", because)
    hidden = tuple(column for d in decoders if isinstance(d, AdditionDecoder) for column in d.columns)
    if hidden:
        because = "a set of values is released in place of the value, which is one of them"
        yield Statement("counts of the sets of these columns, as counts of their values", hidden, "biased", because)


def what_holds_of_columns(plain: tuple[str, ...], known: Sequence[MatrixKnowledge]) -> Holds:
    """Say which analyses hold of some columns.

    Args:
        plain: columns that are released as they are.
        known: what is known of the matrices of the others.
    """
    if not known:
        return Holds((unchanged_columns_statement(plain),) if plain else ())
    return Holds(
        (
            *((unchanged_columns_statement(plain),) if plain else ()),
            counts_statement(known),
            *equal_frequency_statements(known),
            *_tests(known),
            *_measures([k for k in known if k.apart]),
            orders_statement(),
        )
    )


def unchanged_columns_statement(columns: tuple[str, ...]) -> Statement:
    """Return what holds of columns that are released as they are."""
    because = "they are released as they are; nothing randomised enters"
    return Statement("any analysis of these columns alone", columns, "valid", because)


def counts_statement(known: Sequence[MatrixKnowledge]) -> Statement:
    """Return what holds of the counts of randomised columns."""
    names = tuple(c for k in known for c in k.columns)
    because = "a released value may be another than the original one"
    return Statement("counts, shares and means by these columns", names, "biased", because)


def equal_frequency_statements(
    known: Sequence[MatrixKnowledge], released: Mapping[str, float] = _NOTHING
) -> list[Statement]:
    """Return the test of equal frequencies, of those columns of which its level is kept."""
    doubly = tuple(c for k in known if k.apart and k.doubly for c in k.columns)
    because = "a flat table stays flat under a doubly stochastic matrix, so the test keeps its level"
    analysis = "test that the categories are equally frequent"
    return [Statement(analysis, doubly, "level kept", because, released)] if doubly else []


def orders_statement() -> Statement:
    """Return which orders are not kept."""
    because = "what is frequent or confident in the release need not be so in the original"
    return Statement("orders by support, confidence, gini or naive Bayes scores", (), "biased", because)


def _tests(known: Sequence[MatrixKnowledge]) -> list[Statement]:
    apart = tuple(c for k in known if k.apart for c in k.columns)
    coupled = [k.columns for k in known if len(k.columns) > 1]
    found = []
    if apart:
        analysis = f"chi-square test of independence with {_THESE}"
        found.append(Statement(analysis, apart, "level kept", INDEPENDENT))
        because = f"{_LOGLINEAR}, as loglinear() tells where the matrices are published"
        found.append(Statement("test of a hierarchical loglinear model that survives", apart, "level kept", because))
    for columns in coupled:
        because = "they were randomised together, which makes them dependent"
        found.append(Statement("chi-square test of independence of these", columns, "biased", because))
    return found


def _measures(apart: Sequence[MatrixKnowledge]) -> list[Statement]:
    """State which measures never grow, for pairs of columns that are randomised apart or released as they are."""
    found = []
    for bound in BOUNDS:
        names = tuple(c for k in apart if bound.row(k) and bound.column(k) for c in k.columns)
        if names:
            others = _THESE if bound.of_both else _APART
            found.append(Statement(f"{bound.analysis}, with {others}", names, "never larger", bound.because))
    two = tuple(c for k in apart if two_categories(k) for c in k.columns)
    if two:
        found += [Statement(order.analysis, two, "order kept", order.because) for order in ORDERS]
    return found


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
