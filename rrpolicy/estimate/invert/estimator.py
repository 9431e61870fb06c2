"""The protocol of estimators: point estimates for a table from the released counts, in place of the unbiased ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rrpolicy.plugin_errors.type_checks import check_return_type, plugin_contract_error
from rrpolicy.plugin_spec import LazyMapping, Offer

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.counts.condition import Condition
    from rrpolicy.estimate.counts.scan import DataFile
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.weights.base import AxisWeights, Mask


@dataclass(frozen=True)
class Inversion:
    """A table to estimate by another method, of the records of a data file that satisfy a condition."""

    _table: Crosstab
    _data: DataFile
    _condition: Condition

    @property
    def moment(self) -> Array:
        """Return the moment estimates: unbiased, some perhaps negative, in the shape of the result."""
        return self._table.moment_estimate

    @property
    def records(self) -> int:
        """Return N."""
        return self._table.records

    @cached_property
    def _parts(self) -> tuple[tuple[AxisWeights, Mask | None], ...]:
        """The axes that are grouped by, then those of the condition, with the categories that count.

        A mask (original categories, groups) marks these; None for every one by itself.
        """
        grouped = self._table.axes
        others = [
            (a, mask[:, None]) for a, mask in self._condition.masks.values() if all(a is not g for g, _ in grouped)
        ]
        return (*grouped, *others)

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Return the number of released and of original values of each part."""
        return tuple((len(axis.released), len(axis.original)) for axis, _ in self._parts)

    @cached_property
    def matrices(self) -> tuple[Array, ...]:
        """Return (released, original) the column-stochastic matrix of each part.

        Raises:
            PolicyError: RR278 for a column that is not released through a matrix.
        """
        from rrpolicy.estimate.invert.simplex import transition

        return tuple(transition(axis) for axis, _ in self._parts)

    @cached_property
    def released(self) -> Array:
        """Return the released counts, one dimension per part; one pass over the data."""
        from rrpolicy.estimate.invert.simplex import released_counts

        axes = [axis for axis, _ in self._parts]
        return released_counts(self._data, axes, self._condition.filter, self._condition.parameters)

    def answer(self, counts: Array) -> Array:
        """Return original counts, one dimension per part, summed to the shape of the moment estimates."""
        import numpy as np

        from rrpolicy.estimate.invert.simplex import apply_along_axes

        sums = [np.eye(len(a.original)) if mask is None else mask.T.astype(float) for a, mask in self._parts]
        return apply_along_axes(counts, sums).reshape(self.moment.shape)


class Estimator(Protocol):
    """Another point estimate. The intervals stay those of the moment estimate.

    Attributes:
        name: the value of the option `estimator`.
        told: a description in a few words, shown in the result; a separate note states that it is biased.
    """

    name: str
    told: str

    def counts(self, asked: Inversion) -> tuple[Array, str]:
        """Return the estimates in the shape of `asked.moment`, and a note on this run; "" for no note.

        Raises:
            PolicyError: if it is not defined for the table.
        """
        ...


def counts_by(estimator: Estimator, asked: Inversion) -> tuple[Array, str]:
    """Return the estimates of an estimator; see `Estimator.counts` (RR413 if a plugin returns something else)."""
    import numpy as np

    found, note = check_return_type(tuple[Any, str], estimator.counts)(asked)
    if np.shape(found) != asked.moment.shape:
        raise plugin_contract_error(
            estimator.counts, f"returned counts of shape {np.shape(found)}, expected {asked.moment.shape}"
        )
    return found, note


Estimators: TypeAlias = Mapping[str, Estimator]

OFFERS = (
    Offer("em", "rrpolicy.estimate.invert.simplex:MaximumLikelihoodEstimator"),
    Offer("projection", "rrpolicy.estimate.invert.simplex:Projection"),
)
"""The core's own estimators."""
ESTIMATORS: Estimators = LazyMapping({offer.name: offer for offer in OFFERS}, lambda _, offer: offer.load())
"""The estimators that need no plugins."""
