"""What must be known of a column's matrix to say what holds of the released data as they are."""

from __future__ import annotations

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
