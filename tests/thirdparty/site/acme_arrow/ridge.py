"""Ridge regression of released counts on original ones, shrunk towards an even table.

    argmin_x |y - P x|^2 + penalty |x - N/d|^2,    x = (P^T P + penalty I)^-1 (P^T y + penalty N/d)

Hoerl, Kennard 1970, "Ridge regression: biased estimation for nonorthogonal problems", with an offset.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from rrpolicy.plugin import Inversion, PolicyError, Problem

MOST_CELLS = 2000


class Ridge:
    """The estimator `acme-ridge`."""

    name = "acme-ridge"
    told = "ridge regression, shrunk towards an even table"
    penalty = 0.1

    def counts(self, asked: Inversion) -> tuple[Any, str]:
        """Solve the normal equations of the whole table at once."""
        import numpy as np

        P = reduce(np.kron, asked.matrices, np.eye(1))
        cells = P.shape[1]
        if cells > MOST_CELLS:
            raise PolicyError(Problem("RR268", f"acme-ridge solves for {cells:,} cells, more than {MOST_CELLS:,}"))
        even = asked.records / cells
        y = asked.released.reshape(-1)
        x = np.linalg.solve(P.T @ P + self.penalty * np.eye(cells), P.T @ y + self.penalty * even)
        shape = tuple(matrix.shape[1] for matrix in asked.matrices)
        return asked.answer(x.reshape(shape)), f"penalty {self.penalty}"
