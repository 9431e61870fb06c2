"""Tables of the population, estimated from a sample by its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import Grouping
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.survey.sums import INSIDE, Functions, Survey
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.target import Target

METHOD = "weighted by the design"


@frozen(slots=False)
class PeopleTable(Crosstab):
    """Estimated numbers of people of the population by category.

    `estimate` are weighted sums; "table" speaks of the sums that the original records have.
    """

    intervals: ClassVar[str] = "an estimate can be negative; intervals are truncated at 0"

    survey: Survey = field(kw_only=True, repr=False)
    _functions: Functions = field(kw_only=True, repr=False)

    def variance(self, target: Target | None = None) -> tuple[Array, Mask]:
        """Return the variance of each estimate by the design, and where the population's stands in for a negative one.

        Raises:
            PolicyError: as `Crosstab.variance`; RR546 for a stratum with one cluster.
        """
        target, shape = self.target_scope.of(target), self.estimate.shape
        if target == "population":
            population = np.maximum(self.survey.variance(self._functions, target), 0.0)
            return population.reshape(shape), np.zeros(shape, dtype=bool)
        size = self.estimate.reshape(-1) ** 2 / self.records  # the population's is 0 where totals are known
        (table, stand_in), _ = self.survey.variances(self._functions, size)
        return table.reshape(shape), stand_in.reshape(shape)

    def covariance(self, target: Target | None = None) -> Array:
        """Return (cells, cells) the covariance of all estimates, in the order of `rows`; raises as `variance`."""
        return self.survey.covariance(self._functions, self.target_scope.of(target))

    def replicates(self) -> tuple[Array, float]:
        """Return (cells, clusters) replicates of the estimates, and their scale; see `Survey.replicates`."""
        return self.survey.replicates(self._functions)

    def se_of_sums(self, functions: Array) -> tuple[Mapping[Target, Array], Mask]:
        """Return standard errors of weighted sums of functions of the original cells; see `Crosstab.se_of_sums`."""
        asked = np.tensordot(functions, self._functions, axes=1)
        (table, stand_in), population = self.survey.variances(asked)
        return {"table": np.sqrt(table), "population": np.sqrt(population)}, stand_in

    def randomisation_covariance(self, functions: Array) -> Array:
        """Return (sums, sums) the covariance by randomisation; see `Crosstab.randomisation_covariance`."""
        return self.survey.covariance(np.tensordot(functions, self._functions, axes=1), "table")


def people(  # noqa: PLR0917 what a table is asked
    release: Release, by: Sequence[str], where: str | None, condition: Condition, target: Target, level: float
) -> PeopleTable:
    """Estimate a table of people; arguments as for `rrpolicy.estimate.sums.cube.tables`.

    Raises:
        PolicyError: as `Survey.of`.
    """
    assert release.design is not None
    grouping = Grouping.of(release.columns, by, condition)
    survey = Survey.of(release.design, release.columns, release.data, grouping.axes, condition)
    masks = grouping.axis_masks
    functions = survey.functions({INSIDE: survey.indicators(masks, condition)})
    shape = tuple(len(group.labels) for group in grouping.groups)
    support = survey.speaking(masks, condition).reshape(shape)
    return PeopleTable(
        grouping.by,
        grouping.groups,
        survey.totals(functions).reshape(shape),
        np.zeros(shape),
        support,
        METHOD,
        survey=survey,
        _functions=functions,
        _axes=masks,
        where=where,
        target=target,
        level=level,
        records=release.records,
        max_records=release.max_records,
        sample=survey.sample,
        notes=survey.sample.notes,
    )
