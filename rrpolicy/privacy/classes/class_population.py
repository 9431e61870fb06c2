"""The number of people of a population who agree with each equivalence class of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrpolicy.finding import Standing

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.counts import Array, Ints

COUNTED = (
    "The reference table contains the whole population, including every person of the table, one record per person."
)
WEIGHED = (
    "Estimated: the weights give the number of people in the population that a record represents, and the sample "
    "design does not depend on the quasi-identifiers."
)
SAMPLED = "Estimated: everybody of the population was as likely to be in the table, whatever makes their class."


@dataclass(frozen=True, slots=True)
class Population:
    """People by equivalence class, including those of the table.

    Attributes:
        n: (classes,) people: integers if counted, else doubles. Never below the records of the class.
        standing: exact if they were counted.
        assumption: the assumption of the numbers, in a sentence.
        elsewhere: people whose class the table lacks; NaN if unknown.
        suppressed: people whose records are in no class; NaN if unknown.
    """

    n: npt.NDArray[Any]
    standing: Standing
    assumption: str
    elsewhere: float = math.nan
    suppressed: float = math.nan

    @classmethod
    def counted(cls, n: Ints, elsewhere: int, suppressed: float = math.nan) -> Population:
        """Return the counts of a reference table."""
        return cls(n, Standing.EXACT, COUNTED, float(elsewhere), float(suppressed))

    @classmethod
    def weighed(cls, totals: Array) -> Population:
        """Return the sums of the records' weights."""
        return cls(totals, Standing.ESTIMATE, WEIGHED)

    @classmethod
    def sampled(cls, sizes: Ints, fraction: Fraction) -> Population:
        """Return the estimate by a sampling fraction in (0, 1]: n = f/fraction for a class of f records."""
        return cls(sizes.astype("float64") * fraction.denominator / fraction.numerator, Standing.ESTIMATE, SAMPLED)

    def errors(self, sizes: Ints) -> Array:
        """Return (classes,) standard errors for (classes,) sizes f: sqrt(F (F - f)/f), 0 if people were counted.

        Of a negative binomial number, given f records found with probability f/F each (Franconi, Polettini 2004).
        """
        off = 0.0 if self.standing is Standing.EXACT else 1.0
        errors: Array = off * (self.n * (self.n - sizes) / sizes) ** 0.5
        return errors

    @property
    def total(self) -> float:
        """Return the people in all classes of the table, and elsewhere if known."""
        return float(self.n.sum()) + (0.0 if math.isnan(self.elsewhere) else self.elsewhere)
