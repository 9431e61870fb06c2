"""Under which matrices measures of association never grow, and which keep their order (Guo 2010, chapter 4).

Guo asks of M, U and tau that both matrices be doubly stochastic. One is enough: no matrix adds information, a doubly
stochastic one lowers neither the entropy of the rows (which M divides by) nor that of the columns (U), and shortens
every vector, by which tau's numerator shrinks and its denominator does not. `tests/estimate/test_uncorrected.py`
holds each statement to tables and matrices, and shows a counterexample for each condition that is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from rrpolicy.channels.decoders import WithheldDecoder
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.invert.simplex import transition
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.frozen_dataclass import frozen

_DOUBLY = 1e-12


@frozen
class MatrixKnowledge:
    """What is known of the matrix Pr(released | original) of columns that are randomised together, or of one column.

    Attributes:
        columns: their names.
        randomised: whether any value can be released as another.
        matrix: there is one, and it is that of these columns alone.
        doubly: its rows add up to 1, too.
        half: every category is kept with a probability of at least one half.
        two: it has two categories.
    """

    columns: tuple[str, ...]
    randomised: bool = True
    matrix: bool = True
    doubly: bool = False
    half: bool = False
    two: bool = False

    @property
    def apart(self) -> bool:
        """Whether it is one column, randomised by itself."""
        return self.matrix and len(self.columns) == 1

    @classmethod
    def told(cls, decoder: WithheldDecoder) -> MatrixKnowledge:
        """Return what a release tells of a matrix that it withholds."""
        two = decoder.square and len(decoder.original) == 2  # noqa: PLR2004 - 2 x 2
        return cls(decoder.columns, doubly=decoder.doubly_stochastic, half=decoder.half, two=two)

    @classmethod
    def of(cls, axis: AxisWeights) -> MatrixKnowledge:
        """Return what the weights of an axis tell; of a form without a matrix, nothing."""
        try:
            P = transition(axis)
        except PolicyError:
            return cls(axis.columns, axis.randomised, matrix=False)
        square = axis.released == axis.original
        doubly = square and bool(np.abs(P.sum(axis=1) - 1).max() <= _DOUBLY)
        half = square and bool(np.diag(P).min() >= 0.5)  # noqa: PLR2004 - one half
        return cls(axis.columns, axis.randomised, doubly=doubly, half=half, two=square and len(P) == 2)  # noqa: PLR2004 - 2 x 2


Needed: TypeAlias = Callable[[MatrixKnowledge], bool]


def any_matrix(known: MatrixKnowledge) -> bool:
    """Whether the column has a matrix of its own."""
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


@frozen
class MeasureBound:
    """Measures that are no larger in the expected released proportions than in the original ones.

    Attributes:
        measures: by name; those that are 1 where there is no association by their distance from 1.
        analysis: in words, of tables of a column with any other.
        row: what the rows' matrix must be.
        column: what the columns' matrix must be.
        because: why it holds.
    """

    measures: tuple[str, ...]
    analysis: str
    row: Needed
    column: Needed
    because: str

    @property
    def of_both(self) -> bool:
        """Whether it asks the same of both columns."""
        return self.row is self.column


BOUNDS = (
    MeasureBound(
        ("chi2", "g2", "mutual_information"),
        "chi-square and G2 statistics and mutual information",
        any_matrix,
        any_matrix,
        "true of any matrices",
    ),
    MeasureBound(
        ("m",),
        "M, with this column in the rows",
        doubly_stochastic,
        any_matrix,
        "the rows' matrix is doubly stochastic, so their entropy does not fall, and no matrix adds information",
    ),
    MeasureBound(
        ("u", "tau"),
        "U and tau, with this column in the columns",
        any_matrix,
        doubly_stochastic,
        "the columns' matrix is doubly stochastic, so their uncertainty does not fall, and no matrix adds information",
    ),
    MeasureBound(
        ("m", "u", "tau", "phi", "risk_difference", "ps"),
        "M, U, tau, |phi|, |risk difference| and |Piatetsky-Shapiro| of 2 x 2 tables",
        two_categories,
        two_categories,
        "two categories by two, any matrices",
    ),
    MeasureBound(
        ("certainty", "added_value", "kappa", "odds_ratio", "interest", "conviction", "collective_strength"),
        "distance from independence of certainty, added value, kappa, odds ratio, interest, conviction and collective "
        "strength in 2 x 2 tables",
        two_by_two_with_dominant_diagonal,
        two_by_two_with_dominant_diagonal,
        "each category of two is kept with probability one half or more",
    ),
)


@frozen
class OrderPreservation:
    """A measure of 2 x 2 tables whose absolute value orders tables as in the original, if they are randomised alike.

    Attributes:
        measure: by name.
        analysis: in words.
        alone: which of the two columns must be the only one that is randomised; None if both may be.
        because: why it holds.
    """

    measure: str
    analysis: str
    alone: Literal["row", "column"] | None
    because: str

    def holds(self, row: MatrixKnowledge, column: MatrixKnowledge) -> bool:
        """Return whether it holds of tables of these columns."""
        others = {"row": column, "column": row}
        still = self.alone is None or not others[self.alone].randomised
        return two_categories(row) and two_categories(column) and still


_UNTOUCHED = "both are multiplied by the same factor, as the margin that it divides by is untouched"
ORDERS = (
    OrderPreservation(
        "ps",
        "|Piatetsky-Shapiro| of two 2 x 2 pairs randomised alike",
        None,
        "both are multiplied by the same factor if the pairs are randomised alike",
    ),
    OrderPreservation(
        "risk_difference",
        "|risk difference| of two 2 x 2 pairs randomised alike, the row column alone",
        "row",
        _UNTOUCHED,
    ),
    OrderPreservation(
        "added_value", "|added value| of two 2 x 2 pairs randomised alike, the other column alone", "column", _UNTOUCHED
    ),
)
