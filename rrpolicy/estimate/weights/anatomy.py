"""Record weights of dealt groups: the share of a record's group that has a sensitive value.

    w(record in group g, predicate c) = (values of g that satisfy c) / (values of g)

Which of them is the record's own is not released; the share is what follows if inside a group values go with records by
chance. The share depends on the group, not on a released value of the record, so that there is no vector of weights;
counts are taken from both tables, see `rrpolicy.estimate.anatomy`.

References:
    Xiao, Tao 2006, "Anatomy", section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.weights.base import AxisWeights, Mask

if TYPE_CHECKING:
    from rrpolicy.counts import Array


@dataclass(frozen=True)
class AnatomyWeights(AxisWeights):
    """The sensitive column of dealt groups.

    Attributes:
        held_in: the table of its values.
        key: the column that joins both tables.
        count: the column with the number of times that a value occurs in a group.
    """

    held_in: str
    key: str
    count: str

    @property
    def unbiased(self) -> bool:
        """Return False."""
        return False

    def refusal(self) -> PolicyError:
        """Return the error (RR288) for statistics that need the weight of a record by its released value."""
        message = (
            f"{self.columns[0]!r} is released in a separate table, by groups of records: this calculation "
            f"cannot weight records by it"
        )
        hint = "request a crosstab or a cube"
        return PolicyError(Problem("RR288", message, hint=hint))

    def beside(self, other: AnatomyWeights) -> PolicyError:
        """Return the error (RR288) for statistics that need to know which values belong to one record."""
        message = (
            f"{self.columns[0]!r} and {other.columns[0]!r} are released in separate tables: which of a group's "
            "values belong to one record is not released, and no statistic of both can be estimated"
        )
        return PolicyError(Problem("RR288", message, hint="request the statistic by one of them"))

    def solve(self, targets: Mask) -> Array:  # noqa: ARG002 refused whatever is asked
        """Refuse: no released value of a record determines its weight.

        Raises:
            PolicyError: RR288.
        """
        raise self.refusal()

    def under(self, targets: Mask) -> Mask:  # noqa: ARG002 likewise
        """Refuse, as `solve` does."""
        raise self.refusal()
