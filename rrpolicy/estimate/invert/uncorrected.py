"""Which analyses of the released data, uncorrected, stay valid (Guo 2010, chapter 4).

What is said of measures and orders holds for expected released proportions; a single release fluctuates around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rrpolicy.canonical import Json
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.invert.simplex import transition
from rrpolicy.estimate.weights.base import AxisWeights

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.release import Release

Verdict: TypeAlias = Literal["valid", "level kept", "never larger", "order kept", "biased"]
MEANING = {
    "valid": "may be done on the released data as they are",
    "level kept": "a test on the released data keeps its level and loses power",
    "never larger": "no larger than in the original, in the expected proportions; larger by chance in a single release",
    "order kept": "biased, but in the expected proportions the order of two of them is the original one; in a single "
    "release close ones may change places",
    "biased": "do it on corrected counts",
}
NOTE = (
    "measures and orders are those of the expected released proportions: a single release fluctuates around them, and "
    "association in it is no proof of association in the original; test it"
)
_DOUBLY = 1e-12


@dataclass(frozen=True, slots=True)
class Statement:
    """What holds for one kind of analysis.

    Attributes:
        analysis: in words.
        columns: which columns it speaks of; empty for any.
        verdict: see `MEANING`.
        because: the reason, in a sentence.
    """

    analysis: str
    columns: tuple[str, ...]
    verdict: Verdict
    because: str


@dataclass(frozen=True)
class Holds:
    """What holds on the released data as they are.

    Attributes:
        statements: one for each kind of analysis.
    """

    statements: tuple[Statement, ...] = field()

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: analysis, columns, verdict, because."""
        import pandas as pd

        return pd.DataFrame([{**_row(s), "columns": ", ".join(s.columns)} for s in self.statements])

    def to_dict(self) -> dict[str, Json]:
        """Return plain data."""
        return {"schema": "rrpolicy.what-holds/1", "note": NOTE, "statements": [_row(s) for s in self.statements]}

    def summary(self) -> str:
        """Return the statements as text, by verdict."""
        lines = []
        for verdict, meaning in MEANING.items():
            chosen = [s for s in self.statements if s.verdict == verdict]
            if chosen:
                lines += [f"{verdict}: {meaning}"]
                lines += [f"  - {s.analysis}{_named(s.columns)}: {s.because}" for s in chosen]
        return "\n".join([*lines, f"note: {NOTE}"])


def what_holds(release: Release) -> Holds:
    """Say which analyses hold; `Release.what_holds` says of what.

    Axes whose matrix is not known count as randomised in an unknown way.
    """
    axes = list({id(a): a for a in release.columns.axes.values()}.values())
    randomised = [a for a in axes if a.randomised]
    names = tuple(c for a in randomised for c in a.columns)
    carried = [c for c in release.columns.columns if c not in release.columns.axes and c not in release.columns.refused]
    plain = (*(c for a in axes if not a.randomised for c in a.columns), *carried)
    statements = [_plain(plain)] if plain else []
    if randomised:
        square = [_Kind.of(a) for a in randomised]
        statements += [*_counts(names, square), *_tests(square), *_measures(square), *_orders()]
    return Holds(tuple(statements))


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is known of an axis' matrix: that there is one, rows that add up to 1, a diagonal >= 1/2, two categories."""

    columns: tuple[str, ...]
    matrix: bool
    doubly: bool
    half: bool
    two: bool

    @classmethod
    def of(cls, axis: AxisWeights) -> _Kind:
        try:
            P = transition(axis)
        except PolicyError:
            return cls(axis.columns, matrix=False, doubly=False, half=False, two=False)
        square = axis.released == axis.original
        doubly = square and bool(np.abs(P.sum(axis=1) - 1).max() <= _DOUBLY)
        half = square and bool(np.diag(P).min() >= 0.5)  # noqa: PLR2004 - one half
        return cls(axis.columns, matrix=True, doubly=doubly, half=half, two=square and len(P) == 2)  # noqa: PLR2004 - 2 x 2


def _plain(columns: tuple[str, ...]) -> Statement:
    because = "they are released as they are; nothing randomised enters"
    return Statement("any analysis of these columns alone", columns, "valid", because)


def _counts(names: tuple[str, ...], kinds: Sequence[_Kind]) -> list[Statement]:
    because = "a released value may be another than the original one"
    found = [Statement("counts, shares and means by these columns", names, "biased", because)]
    doubly = tuple(c for k in kinds if k.doubly for c in k.columns)
    if doubly:
        because = "a flat table stays flat under a doubly stochastic matrix, so the test keeps its level"
        found.append(Statement("test that the categories are equally frequent", doubly, "level kept", because))
    return found


def _tests(kinds: Sequence[_Kind]) -> list[Statement]:
    apart = tuple(c for k in kinds if len(k.columns) == 1 and k.matrix for c in k.columns)
    coupled = [k.columns for k in kinds if len(k.columns) > 1]
    found = []
    if apart:
        because = "columns that are independent stay so when each is randomised by itself"
        found.append(Statement("chi-square test of independence with any other column", apart, "level kept", because))
        because = "it survives iff no randomised column occurs twice among its highest-order terms: ask loglinear()"
        found.append(Statement("test of a hierarchical loglinear model that survives", apart, "level kept", because))
    for columns in coupled:
        because = "they were randomised together, which makes them dependent"
        found.append(Statement("chi-square test of independence of these", columns, "biased", because))
    return found


def _measures(kinds: Sequence[_Kind]) -> list[Statement]:
    """State which measures never grow, for pairs of columns that are randomised apart."""
    single = [k for k in kinds if len(k.columns) == 1 and k.matrix]
    names = tuple(c for k in single for c in k.columns)
    if not names:
        return []
    found = [
        Statement("chi-square and G2 statistics with any other column", names, "never larger", "true of any matrix")
    ]
    doubly = tuple(c for k in single if k.doubly for c in k.columns)
    if doubly:
        because = "the matrices are doubly stochastic, and so is that of a column released as it is"
        analysis = "M, U and tau with a column of this list or one released as it is"
        found.append(Statement(analysis, doubly, "never larger", because))
    two = tuple(c for k in single if k.two for c in k.columns)
    if two:
        because = "two categories by two, any matrices"
        analysis = "M, U, tau, |phi|, |risk difference| and |Piatetsky-Shapiro| of 2 x 2 tables"
        found.append(Statement(analysis, two, "never larger", because))
        because = "both are multiplied by the same factor if the pairs are randomised alike"
        found.append(Statement("|Piatetsky-Shapiro| of two 2 x 2 pairs randomised alike", two, "order kept", because))
        because = "the margin that it divides by is untouched"
        analysis = "|risk difference| if the row column alone is randomised, |added value| if the other column alone is"
        found.append(Statement(analysis, two, "order kept", because))
    half = tuple(c for k in single if k.two and k.half for c in k.columns)
    if half:
        because = "each category of two is kept with probability one half or more"
        analysis = (
            "distance from independence of certainty, added value, kappa, odds ratio, interest, conviction and "
            "collective strength in 2 x 2 tables"
        )
        found.append(Statement(analysis, half, "never larger", because))
    return found


def _orders() -> list[Statement]:
    because = "what is frequent or confident in the release need not be so in the original"
    return [Statement("orders by support, confidence, gini or naive Bayes scores", (), "biased", because)]


def _row(statement: Statement) -> dict[str, Json]:
    return {
        "analysis": statement.analysis,
        "columns": list(statement.columns),
        "verdict": statement.verdict,
        "because": statement.because,
    }


def _named(columns: Sequence[str]) -> str:
    return f" ({', '.join(columns)})" if columns else ""
