"""The analyses of the released data that are valid without correction (Guo 2010, chapter 4).

Guo requires for M, U and tau that both matrices be doubly stochastic. One is enough: no matrix adds information. A
doubly stochastic one lowers neither the entropy of the rows (which M divides by) nor that of the columns (U), and
shortens every vector, which reduces tau's numerator and not its denominator. `tests/estimate/test_uncorrected.py`
checks each statement on tables and matrices, with a counterexample for each condition that is left out.

Statements on measures and orders are true for expected released proportions; a single release fluctuates around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field

from rrpolicy.canonical_json import Json
from rrpolicy.channels.decoders import AdditionDecoder, AnatomyDecoder, RecodeDecoder, WithheldDecoder
from rrpolicy.counts import Array
from rrpolicy.escaping.formulas import Handling
from rrpolicy.escaping.printable import line, visible
from rrpolicy.estimate.association.independence import chi_square_tail, released_table_test
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.invert.simplex import transition
from rrpolicy.estimate.results.html import fragment, rows
from rrpolicy.estimate.results.result import json_number
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.frozen import replace
from rrpolicy.numbers import p_value_equation, plain_number

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.estimate.release import Release


Verdict: TypeAlias = Literal["valid", "level kept", "never larger", "order kept", "biased"]
MEANING = {
    "valid": "is valid on the uncorrected released data",
    "level kept": "a test on the released data keeps its level and loses power",
    "never larger": "no larger than in the original, in the expected proportions; larger by chance in a single release",
    "order kept": "biased, but in the expected proportions the order of two of them is the original one; in a single "
    "release close ones may change places",
    "biased": "do it on corrected counts, and not at all where nothing can be corrected",
}
NOTE = (
    "measures and orders are those of the expected released proportions: a single release fluctuates around them, and "
    "association in it is not proof of association in the original; test it"
)


class Statement(Struct, frozen=True):
    """The verdict on one kind of analysis.

    Attributes:
        analysis: the analysis, in words.
        columns: the columns that it is about; empty for any.
        verdict: see `MEANING`.
        because: the reason, in a sentence.
        released: numbers of the table at hand, uncorrected, by name; NaN where an empty cell leaves a measure
            undefined. Empty where no table was counted.
    """

    analysis: str
    columns: tuple[str, ...]
    verdict: Verdict
    because: str
    released: Mapping[str, float] = field(default_factory=dict)


class Holds(Struct, frozen=True):
    """The analyses of the uncorrected released data with their verdicts.

    Attributes:
        statements: one for each kind of analysis.
        table: the table that was counted, in words; "" if none was.
    """

    statements: tuple[Statement, ...]
    table: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: analysis, columns, verdict, because, released."""
        import pandas as pd

        return pd.DataFrame([{**_row(s), "columns": ", ".join(s.columns)} for s in self.statements])

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; missing numbers are null."""
        return {
            "schema": "rrpolicy.what-holds/1",
            "table": self.table or None,
            "note": NOTE,
            "statements": [_row(s) for s in self.statements],
        }

    def to_csv(self, *, formulas: Handling = "escape") -> str:
        """Return the statements as CSV with a header; `formulas` as for other results."""
        from rrpolicy.estimate.results.text import csv

        columns: dict[str, list[str]] = {
            "analysis": [s.analysis for s in self.statements],
            "columns": [", ".join(s.columns) for s in self.statements],
            "verdict": [s.verdict for s in self.statements],
            "because": [s.because for s in self.statements],
            "released": [
                ", ".join(
                    f"{name} = {value if math.isfinite(value) else 'undefined'}" for name, value in s.released.items()
                )
                for s in self.statements
            ],
        }
        return csv(columns, formulas)

    def summary(self) -> str:
        """Return the statements as text, by verdict."""
        lines = [self.table] if self.table else []
        for verdict, meaning in MEANING.items():
            chosen = [s for s in self.statements if s.verdict == verdict]
            if chosen:
                lines += [f"{verdict}: {meaning}"]
                for s in chosen:
                    named = f" ({', '.join(s.columns)})" if s.columns else ""
                    lines += [f"  - {s.analysis}{named}: {s.because}"]
                    lines += [f"    as released: {_format_computed(s.released)}"] if s.released else []
        compared = any(s.verdict in {"never larger", "order kept"} for s in self.statements)
        return "\n".join(map(line, [*lines, *([f"note: {NOTE}"] if compared else [])]))

    def _repr_html_(self) -> str:
        """Return the statements as an HTML table by verdict, for notebooks."""
        names = ["verdict", "analysis", "columns", "because", *(["as released"] if self.table else [])]
        cells = [
            [s.verdict, s.analysis, ", ".join(s.columns), s.because, _format_computed(s.released)][: len(names)]
            for s in sorted(self.statements, key=lambda s: list(MEANING).index(s.verdict))
        ]
        used = dict.fromkeys(row[0] for row in cells)
        head = ["Valid analyses of the uncorrected released data", *([self.table] if self.table else [])]
        table = rows(names, [list(map(visible, row)) for row in cells])
        return fragment(list(map(visible, head)), table, [*(f"{v}: {MEANING[v]}" for v in used), f"note: {NOTE}"])


def _row(statement: Statement) -> dict[str, Json]:
    return {
        "analysis": statement.analysis,
        "columns": list(statement.columns),
        "verdict": statement.verdict,
        "because": statement.because,
        "released": {name: json_number(value) for name, value in statement.released.items()},
    }


def _format_computed(released: Mapping[str, float]) -> str:
    def shown(name: str, value: float) -> str:
        if not math.isfinite(value):
            return f"{name} = undefined"
        return p_value_equation(value, name) if name == "p_value" else f"{name} = {plain_number(value, 4)}"

    return ", ".join(shown(name, value) for name, value in released.items())


_DOUBLY = 1e-12
_NOTHING: Mapping[str, float] = {}
_THESE = "another column of this list or one released unchanged"
_APART = "a column that is randomised by itself or released unchanged"
_INDEPENDENT = "columns that are independent stay so when each is randomised by itself"
_SURVIVES = (
    "it is preserved if and only if no randomised column occurs twice among its highest-order terms; loglinear() "
    "reports this where the matrices are published"
)


class MatrixKnowledge(Struct, frozen=True):
    """Known properties of Pr(released | original) of columns that are randomised together, or of one column."""

    columns: tuple[str, ...]
    randomised: bool = True  # any value can be released as another
    doubly: bool = False  # its rows add up to 1, too
    half: bool = False  # every category is released unchanged with probability one half or more
    two: bool = False  # it has two categories

    @property
    def apart(self) -> bool:
        """Whether it is one column, randomised by itself."""
        return len(self.columns) == 1

    @classmethod
    def withheld(cls, decoder: WithheldDecoder) -> MatrixKnowledge:
        """Return the published properties of a matrix that a release withholds."""
        two = decoder.square and len(decoder.original) == 2  # noqa: PLR2004 - 2 x 2
        return cls(decoder.columns, doubly=decoder.doubly_stochastic, half=decoder.half, two=two)

    @classmethod
    def of(cls, axis: AxisWeights) -> MatrixKnowledge:
        """Return the properties of a randomised axis, which has a matrix unless it is released in sets or groups."""
        P = transition(axis)
        square = axis.released == axis.original
        doubly = square and bool(np.abs(P.sum(axis=1) - 1).max() <= _DOUBLY)
        half = square and bool(np.diag(P).min() >= 0.5)  # noqa: PLR2004 - one half
        return cls(axis.columns, axis.randomised, doubly=doubly, half=half, two=square and len(P) == 2)  # noqa: PLR2004 - 2 x 2


Needed: TypeAlias = Callable[[MatrixKnowledge], bool]


def any_matrix(known: MatrixKnowledge) -> bool:
    """Whether the column has a separate matrix."""
    return known.apart


def doubly_stochastic(known: MatrixKnowledge) -> bool:
    """Whether the column's own matrix is doubly stochastic."""
    return known.apart and known.doubly


def two_categories(known: MatrixKnowledge) -> bool:
    """Whether the column's own matrix is 2 x 2."""
    return known.apart and known.two


def two_by_two_with_dominant_diagonal(known: MatrixKnowledge) -> bool:
    """Whether the column's own matrix is 2 x 2 with a diagonal of at least one half."""
    return two_categories(known) and known.half


class MeasureBound(Struct, frozen=True):
    """Measures that are not larger in the expected released proportions than in the original ones.

    Those that are 1 where there is no association are compared by their distance from 1.
    """

    measures: tuple[str, ...]
    analysis: str  # of tables of a column with any other
    row: Needed  # the condition on the rows' matrix
    column: Needed  # the condition on the columns' matrix
    because: str


BOUNDS = (
    MeasureBound(
        ("chi2", "g2", "mutual_information"), "chi-square and G2 statistics and mutual information",
        any_matrix, any_matrix, "true of any matrices",
    ),
    MeasureBound(
        ("m",), "M, with this column in the rows", doubly_stochastic, any_matrix,
        "the rows' matrix is doubly stochastic, so their entropy does not fall, and no matrix adds information",
    ),
    MeasureBound(
        ("u", "tau"), "U and tau, with this column in the columns", any_matrix, doubly_stochastic,
        "the columns' matrix is doubly stochastic, so their uncertainty does not fall, and no matrix adds information",
    ),
    MeasureBound(
        ("m", "u", "tau", "phi", "risk_difference", "ps"),
        "M, U, tau, |phi|, |risk difference| and |Piatetsky-Shapiro| of 2 x 2 tables",
        two_categories, two_categories, "two categories by two, any matrices",
    ),
    MeasureBound(
        ("certainty", "added_value", "kappa", "odds_ratio", "interest", "conviction", "collective_strength"),
        "distance from independence of certainty, added value, kappa, odds ratio, interest, conviction and collective "
        "strength in 2 x 2 tables",
        two_by_two_with_dominant_diagonal, two_by_two_with_dominant_diagonal,
        "each category of two is kept with probability one half or more",
    ),
)  # fmt: skip


class OrderPreservation(Struct, frozen=True):
    """A measure of 2 x 2 tables whose absolute value preserves their order under equal randomisation.

    `alone` is the column that must be the only randomised one; None if both may be.
    """

    measure: str
    analysis: str
    alone: Literal["row", "column"] | None
    because: str

    def holds(self, row: MatrixKnowledge, column: MatrixKnowledge) -> bool:
        """Return whether the order is preserved for tables of these columns."""
        others = {"row": column, "column": row}
        still = self.alone is None or not others[self.alone].randomised
        return two_categories(row) and two_categories(column) and still


_UNTOUCHED = "both are multiplied by the same factor, as the margin that it divides by is untouched"
_ALIKE = "two 2 x 2 pairs randomised with the same matrices"
ORDERS = (
    OrderPreservation(
        "ps", f"|Piatetsky-Shapiro| of {_ALIKE}", None,
        "both are multiplied by the same factor if the pairs are randomised with the same matrices",
    ),
    OrderPreservation("risk_difference", f"|risk difference| of {_ALIKE}, the row column alone", "row", _UNTOUCHED),
    OrderPreservation("added_value", f"|added value| of {_ALIKE}, the other column alone", "column", _UNTOUCHED),
)  # fmt: skip
_NO_ORDERS = Statement(
    "orders by support, confidence, gini or naive Bayes scores",
    (),
    "biased",
    "what is frequent or confident in the release need not be so in the original",
)


def what_holds(release: Release) -> Holds:
    """Return the valid analyses; a column whose matrix is not known counts as randomised in an unknown way."""
    grouped = list(_grouped_statements(release.manifest.decoders))
    apart = {column for statement in grouped for column in statement.columns}
    axes = list({id(a): a for a in release.columns.axes.values() if apart.isdisjoint(a.columns)}.values())
    carried = [c for c in release.columns.columns if c not in release.columns.axes and c not in release.columns.refused]
    plain = (*(c for a in axes if not a.randomised for c in a.columns), *(c for c in carried if c not in apart))
    known = [
        *(MatrixKnowledge.of(a) for a in axes if a.randomised),
        *map(MatrixKnowledge.withheld, release.manifest.withheld),
    ]
    told = what_holds_of_columns(plain, known)
    return replace(told, statements=(*told.statements, *grouped))


def _grouped_statements(decoders: Sequence[Decoder]) -> Iterator[Statement]:
    """Yield statements on columns that are generalised, dealt into groups, or hidden in sets: no value is exchanged."""
    recoded = [pair for d in decoders if isinstance(d, RecodeDecoder) for pair in zip(d.columns, d.groups, strict=True)]
    dealt = tuple(d.column for d in decoders if isinstance(d, AnatomyDecoder))
    coarse = tuple(column for column, groups in recoded if any(len(group) > 1 for group in groups))
    overlapping = tuple(c for c, groups in recoded if len({v for g in groups for v in g}) < sum(map(len, groups)))
    single = tuple(column for column in coarse if column not in overlapping)
    hidden = tuple(column for d in decoders if isinstance(d, AdditionDecoder) for column in d.columns)
    found: tuple[tuple[tuple[str, ...], Verdict, str, str], ...] = (
        (dealt, "valid", "any analysis of these columns alone, in their table",
         "each table is released unchanged; the assignment of a group's values to records is not released"),
        (dealt, "biased", "analyses of these columns with those of another table",
         "counts that join them to other columns lie within bounds that are certain, by estimate with spread"),
        (single, "valid", "any analysis by the labels of these columns",
         "every record has the label of its category; nothing is exchanged"),
        (overlapping, "valid", "counts and shares by the labels of these columns",
         "every record has a label of its category; nothing is exchanged"),
        (overlapping, "biased", "tests, associations and models by the labels of these columns",
         "a category has several labels, of which a record's other columns chose one"),
        (coarse, "biased", "analyses by the labels of these columns",
         "a label represents several categories; their counts lie within certain bounds"),
        (hidden, "biased", "counts of the sets of these columns, as counts of their values",
         "a set of values is released in place of the value, which is one of them"),
    )  # fmt: skip
    for columns, verdict, analysis, because in found:
        if columns:
            yield Statement(analysis, columns, verdict, because)


def what_holds_of_columns(plain: tuple[str, ...], known: Sequence[MatrixKnowledge]) -> Holds:
    """Return the valid analyses of plain columns, which are released unmodified, and of those with known matrices."""
    return Holds(tuple(_column_statements(plain, known)))


def _column_statements(plain: tuple[str, ...], known: Sequence[MatrixKnowledge]) -> Iterator[Statement]:
    yield from _unchanged(plain)
    if not known:
        return
    yield _counts(known)
    yield from _equal_frequencies(known)
    apart = [k for k in known if k.apart]
    if names := _names(apart):
        yield Statement(f"chi-square test of independence with {_THESE}", names, "level kept", _INDEPENDENT)
        yield Statement("test of a hierarchical loglinear model that survives", names, "level kept", _SURVIVES)
    for coupled in (k.columns for k in known if len(k.columns) > 1):
        because = "they were randomised together, which makes them dependent"
        yield Statement("chi-square test of independence of these", coupled, "biased", because)
    for bound in BOUNDS:
        if names := _names(k for k in apart if bound.row(k) and bound.column(k)):
            others = _THESE if bound.row is bound.column else _APART
            yield Statement(f"{bound.analysis}, with {others}", names, "never larger", bound.because)
    if names := _names(filter(two_categories, apart)):
        for order in ORDERS:
            yield Statement(order.analysis, names, "order kept", order.because)
    yield _NO_ORDERS


def what_holds_of_pair(x: Array, row: MatrixKnowledge, column: MatrixKnowledge, table: str) -> Holds:
    """Return the valid analyses of a released table of two columns, each randomised by itself or not at all.

    `x` has (rows, columns) released counts, at least 2 x 2, no row and no column empty. Of two categories the second is
    the one that is present. A column that is not randomised has the identity as its matrix.
    """
    return Holds(tuple(_pair_statements(x, row, column)), table)


def _pair_statements(x: Array, row: MatrixKnowledge, column: MatrixKnowledge) -> Iterator[Statement]:
    both = (row, column)
    names, randomised = _names(both), [known for known in both if known.randomised]
    yield from _unchanged(_names(known for known in both if not known.randomised))
    if not randomised:
        return
    yield _counts(randomised)
    for known, margin in ((row, x.sum(axis=1)), (column, x.sum(axis=0))):
        if known.randomised:
            yield from _equal_frequencies([known], margin)
    tested = released_table_test((names[0], names[1]), None, x)
    computed: Mapping[str, float] = {"chi2": tested.statistic, "df": float(tested.df), "p_value": tested.p_value}
    because = f"{_INDEPENDENT}; {tested.remark}" if tested.remark else _INDEPENDENT
    yield Statement("chi-square test of independence", names, "level kept", because, computed)
    for bound in BOUNDS:
        if bound.row(row) and bound.column(column):
            computed = _measure_values(x, bound.measures)
            yield Statement(bound.analysis, names, "never larger", bound.because, computed)
    for order in ORDERS:
        if order.holds(row, column):
            computed = _measure_values(x, (order.measure,))
            yield Statement(order.analysis, names, "order kept", order.because, computed)
    yield _NO_ORDERS


def _names(known: Iterable[MatrixKnowledge]) -> tuple[str, ...]:
    return tuple(name for k in known for name in k.columns)


def _unchanged(columns: tuple[str, ...]) -> Iterator[Statement]:
    if columns:
        because = "they are released unchanged; nothing randomised enters"
        yield Statement("any analysis of these columns alone", columns, "valid", because)


def _counts(known: Sequence[MatrixKnowledge]) -> Statement:
    because = "a released value may be another than the original one"
    return Statement("counts, shares and means by these columns", _names(known), "biased", because)


def _equal_frequencies(known: Sequence[MatrixKnowledge], margin: Array | None = None) -> Iterator[Statement]:
    """Yield the test of equal frequencies of the columns that preserve its level, by Pearson on their margin."""
    if doubly := _names(filter(doubly_stochastic, known)):
        computed = _NOTHING
        if margin is not None:
            expected, df = margin.sum() / len(margin), len(margin) - 1
            statistic = float(((margin - expected) ** 2).sum() / expected)
            computed = {"chi2": statistic, "df": float(df), "p_value": chi_square_tail(statistic, df)}
        because = "a flat table stays flat under a doubly stochastic matrix, so the test keeps its level"
        yield Statement("test that the categories are equally frequent", doubly, "level kept", because, computed)


def _measure_values(x: Array, measures: tuple[str, ...]) -> Mapping[str, float]:
    """Return measures of the uncorrected table; NaN for those that an empty cell leaves undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: float(MEASURES[name].of(x)[0]) for name in measures}
    return {name: value if np.isfinite(value) else np.nan for name, value in values.items()}
