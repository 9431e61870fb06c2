"""The flags of estimates: possible doubts about a row, and their wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import Mask

Flags: TypeAlias = tuple[tuple[str, ...], ...]
"""For each row, the names of possible doubts."""

FEW = 5
FEW_RECORDS = "few records"
POPULATION_VARIANCE = "population variance"
SPREAD = "spread"
OUTSIDE = "outside the possible"
LARGE = "large table"
LINEARISED = "linearised"
MOMENT = "moment"
MAXIMUM_LIKELIHOOD = "EM"
LIKELIHOOD = "likelihood"
NOT_ESTIMABLE = "not estimable"
DEFLATED = "deflated"
ONE_SIDED = "draws to one side"
MIDDLE = "middles of bins"
OPEN = "bins without an end"
AS_RELEASED = "as released"
MEANINGS: Mapping[str, str] = {
    FEW_RECORDS: f"fewer than {FEW} released records support this number: the interval is unreliable",
    POPULATION_VARIANCE: "this table's variance estimate is negative; the population's is used",
    OUTSIDE: "the whole interval lies outside what is possible: it is drawn around the nearest possible value "
    "instead, and is unreliable",
    SPREAD: "spread evenly inside released groups: biased, without a standard error",
    MIDDLE: "as if all values lay in the middle of their bins: biased, without a standard error; low and high allow "
    "for every place inside them",
    OPEN: "bins without an end may contain records: no estimate, and nothing bounds that side; leave them out by a "
    "condition, or state a number for each (in a query, avg of a joined table; in Python, "
    "`release.mean(..., values=...)`) or where they stop (`rrpolicy estimate query --limits`, in Python `limits=...`)",
    AS_RELEASED: "the number is of the records that were released with these labels; others, such as suppressed ones, "
    "may belong here as well: low and high (printed as at least, at most) are certain bounds",
    LARGE: "a table of more than 36 cells has the normal interval, whose coverage was not shown: read it with care",
    LINEARISED: "a measure of association has the normal interval of its linearised error by the design, whose "
    "coverage was not shown: read it with care",
    MAXIMUM_LIKELIHOOD: "a corrected cell is not positive: the maximum likelihood estimate, without a standard error",
    LIKELIHOOD: "corrected scores have no solution: maximum likelihood, whose errors are valid if the model is "
    "right and the sample is large"
    "",
    DEFLATED: "without the association that randomisation alone puts into a corrected table: not unbiased, without a "
    "standard error; the interval is a test's, of tables of up to 36 cells",
    ONE_SIDED: "most releases that were drawn again have estimates to one side of this one: it is biased, and the "
    "interval is unreliable",
    NOT_ESTIMABLE: "a corrected margin or cell that it divides by is not positive; the interval is valid nevertheless",
}
IMPOSSIBLE = "an estimate lies outside what is possible: corrected counts can be negative; its interval does not"
UNINFORMATIVE = "an interval that covers all possible values means that the release does not determine the number"
ONE_END = "where an interval ends on one side alone, the release rules out no value on the other"
UNFLAGGED = "rows without a flag were not checked"
SELECTED = "rows were chosen by their estimates: the largest of uncertain estimates tend to be too large"


def rests_on_few_records(released: Array, errors: Array) -> Mask:
    """Return (rows,) whether fewer than `FEW` released records support an estimate that has an error."""
    few: Mask = (released < FEW) & (errors > 0)
    return few


def flags_of(named: Sequence[tuple[str, Mask]]) -> Flags:
    """Return the flags of each row: the names whose mask is true for it, in their order."""
    return tuple(
        tuple(name for (name, _), holds in zip(named, row, strict=True) if holds)
        for row in zip(*(mask for _, mask in named), strict=True)
    )
