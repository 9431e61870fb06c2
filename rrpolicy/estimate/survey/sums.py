"""Weighted sums over a sample, calibrated to known totals, with the error of the sample and of the randomisation.

A record i of weight d_i adds z_i = d_i w_i to a total, w_i its record weight: unbiased for what the original record
adds, whatever was randomised. Where clusters are drawn with replacement inside strata, with z_hc the sums of z over the
n_h clusters of stratum h,

    V = sum_h n_h / (n_h - 1) sum_c (z_hc - mean_c z_hc)^2

estimates the variance over samples and randomisation together, because each record is randomised by itself: nothing
must be added (ultimate clusters: Wolter 2007, section 2.4; Särndal, Swensson, Wretman 1992, eq. 4.6.2). For the sums
of this table's own records alone it is sum_i d_i^2 (w_i^2 - what w_i^2 is expected to be without randomisation).

Known totals X of variables x: a total of f is estimated by sum d g f, g = 1 + (X - X^)' M^-1 x, M = sum d x x', and its
errors are those of g (f - x' B), B = M^-1 sum d x f (Deville, Särndal 1992, eq. 2.3 and 3.4). Products with x are
estimated by record weights of the cells of all columns that occur, so that x may have been randomised as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.grouping import ungrouped_condition_axes
from rrpolicy.estimate.counts.scan import DataFile, Number, WeightedSums, weighted_sums
from rrpolicy.estimate.results.intervals import FiellerRatios, table_variance
from rrpolicy.estimate.results.target import Sample, Target
from rrpolicy.estimate.survey.design import Design, randomised_design_error, weight_values
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, Mask
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.counts.columns import Columns
    from rrpolicy.estimate.counts.condition import Condition

ALL, INSIDE, VALUE = range(3)
"""The factor of a function of the original cells: d; d if the condition is true; d times the number in that case."""
MOST = 30_000_000
"""Entries of a matrix of functions by cells."""
_SINGULAR = 1e-10
_NEGATIVE = 1e-6

TARGETS: tuple[Target, Target] = ("table", "population")
FactorJoin: TypeAlias = "Callable[[Array, Array], Array]"
"""Combines (functions, terms) with as many others: sums for all pairs of them, or row by row."""
Functions: TypeAlias = "Array"
"""(functions, 3, *V) values by original cell of the axes, to be multiplied by ALL, INSIDE and VALUE, and summed."""


@dataclass(frozen=True)
class Survey:
    """A sample that was read for one question.

    Attributes:
        design: its design.
        axes: each axis once: those of the question, of conditions, of a weight and of known totals.
        weighted: the sums over released records.
        size: by original cell, the size of a weight with categories; 1 if the weight is a column of numbers.
        known: (variables, *V) the variables with known totals, and (variables,) the totals.
    """

    design: Design
    axes: tuple[AxisWeights, ...]
    weighted: WeightedSums = field(repr=False)
    size: Array = field(repr=False)
    known: tuple[Array, Array] | None = field(repr=False)

    @classmethod
    def of(  # noqa: PLR0917 what is read, and for what
        cls,
        design: Design,
        columns: Columns,
        data: DataFile,
        axes: Sequence[AxisWeights],
        condition: Condition,
        value: Number | None = None,
    ) -> Survey:
        """Read a sample for a question, in one pass.

        Raises:
            PolicyError: RR545 for columns whose errors cannot be computed with a design, RR546 for a stratum with one
                cluster, RR268 for too many cells, RR288 for spread counts.
        """
        if design.randomised_clusters:
            raise randomised_design_error(design.randomised_clusters[0])
        asked = [*axes, *(axis for axis, _ in ungrouped_condition_axes(axes, condition))]
        weight = None if design.weight is None else weight_values(columns, design.weight)
        asked += [] if weight is None else [weight[0]]
        asked += [columns.axes[name] for name in design.totals]
        every = tuple({id(axis): axis for axis in asked}.values())
        refuse_biased(every, "estimates by the design of a survey")
        for axis in every:
            if isinstance(axis, SetWeights):
                message = f"{', '.join(map(repr, axis.columns))} is released as sets, whose estimates know no design"
                hint = "`release.without_design()`, or --design none, estimates this table"
                raise PolicyError(Problem("RR545", message, hint=hint))
        strata = design.strata
        clusters = (*strata, *design.clusters) if design.clusters else ()
        found = weighted_sums(
            data,
            every,
            [strata, clusters],
            design.weight if weight is None else None,
            value,
            condition.filter,
            condition.parameters,
        )
        shape = tuple(len(axis.original) for axis in every)
        survey = cls(design, every, found, np.ones((1,) * len(every)), None)
        size = survey.size if weight is None else survey.along(weight[0], weight[1])
        known = [
            (survey.along(columns.axes[name], [label == v for label in columns.axes[name].labels_of(name)]), n)
            for name, totals in design.totals.items()
            for v, n in totals.items()
        ]
        x = [np.broadcast_to(indicator, shape) for indicator, _ in known]
        variables = (np.stack(x), np.array([n for _, n in known])) if known else None
        return cls(design, every, found, size, variables)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (V...) original cells of each axis."""
        return tuple(len(axis.original) for axis in self.axes)

    def along(self, axis: AxisWeights, values: Sequence[float] | Array | Mask) -> Array:
        """Return values of one axis' original cells, to be broadcast over the others."""
        place = next(i for i, own in enumerate(self.axes) if own is axis)
        return np.asarray(values, dtype=np.float64).reshape([-1 if i == place else 1 for i in range(len(self.axes))])

    def indicators(self, grouped: Sequence[tuple[AxisWeights, Mask | None]], condition: Condition) -> Array:
        """Return (groups, *V) whether an original cell lies in each group and satisfies a condition.

        `grouped`: axes with the categories in each group; the last one fastest.

        Raises:
            PolicyError: RR268 if that is too large.
        """
        groups = [len(axis.original) if mask is None else mask.shape[1] for axis, mask in grouped]
        if math.prod(groups) * math.prod(self.shape) > MOST:
            message = f"{math.prod(groups):,} groups of {math.prod(self.shape):,} cells are too many with a design"
            raise PolicyError(Problem("RR268", message, hint="group by fewer columns"))
        found = np.ones((1, *(1 for _ in self.axes)))
        for axis, mask in grouped:
            own = np.eye(len(axis.original)) if mask is None else mask.astype(float)
            each = np.stack([self.along(axis, column) for column in own.T])
            found = (found[:, None] * each[None]).reshape(-1, *np.broadcast_shapes(found.shape[1:], each.shape[1:]))
        for axis, mask in ungrouped_condition_axes([axis for axis, _ in grouped], condition):
            found = found * self.along(axis, mask)
        return np.broadcast_to(found, (found.shape[0], *self.shape))

    def functions(self, of: Mapping[int, Array]) -> Functions:
        """Return functions from their parts: `ALL`, `INSIDE` or `VALUE` -> (functions, *V)."""
        count = len(next(iter(of.values())))
        found = np.zeros((count, 3, *self.shape))
        for part, values in of.items():
            found[:, part] = values
        return found

    @cached_property
    def corrected(self) -> Array:
        """Return (3, *V) the sums of weights by original cell; unbiased."""
        return self._original(self.weighted.first) * self.size

    def totals(self, functions: Functions) -> Array:
        """Return (functions,) their totals, calibrated where totals are known."""
        plain = np.tensordot(functions, self.corrected, axes=functions.ndim - 1)
        if self.known is None:
            return np.asarray(plain)
        x, X = self.known
        short = X - np.tensordot(x, self.corrected[ALL], axes=x.ndim - 1)
        return np.asarray(plain + short @ self._coefficients(functions))

    def covariance(self, functions: Functions, target: Target) -> Array:
        """Return (functions, functions) the covariance of the totals of functions.

        Raises:
            PolicyError: RR546 for a stratum with one cluster.
        """
        errors = self._residuals(functions)
        found = self._joined(errors, errors, target, np.matmul)
        return found - self._expected(errors, errors, np.matmul) if target == "table" else found

    def covariance_of_ratios(self, parts: Functions, wholes: Functions) -> Callable[[Target], Array]:
        """Return a function of the target: (functions, functions) covariances of ratios of totals (delta method)."""

        def covariance(target: Target) -> Array:
            n, d = (self.totals(f).reshape(-1, *(1,) * (parts.ndim - 1)) for f in (parts, wholes))
            return self.covariance((parts - n / d * wholes) / d, target)

        return covariance

    def paired(self, functions: Functions, others: Functions, target: Target) -> Array:
        """Return (functions,) the covariance of the total of each function with that of another one.

        Raises:
            PolicyError: RR546 for a stratum with one cluster.
        """
        first = self._residuals(functions)
        second = first if others is functions else self._residuals(others)
        found = self._joined(first, second, target, _row_by_row)
        return found - self._expected(first, second, _row_by_row) if target == "table" else found

    def variance(self, functions: Functions, target: Target) -> Array:
        """Return (functions,) the variances of the totals of functions; raises as `paired`."""
        return self.paired(functions, functions, target)

    def variances(self, functions: Functions, size: Array | float = 0.0) -> tuple[tuple[Array, Mask], Array]:
        """Return the variances of totals for this table, as of `table_variance`, and for the population.

        `size`: (functions,) added to the population's variance, as the scale on which this table's variance counts as
        0.
        """
        population = np.maximum(self.variance(functions, "population"), 0.0)
        table = self.variance(functions, "table")
        return table_variance(table, np.zeros_like(table), population, at=(table, population + size)), population

    def replicates(self, functions: Functions) -> tuple[Array, float]:
        """Return (functions, clusters) replicates of totals, each as without one cluster, and their scale.

        The jackknife of clusters in strata, stretched so that all replicates have one scale: of totals, `scale` times
        the sum of squared differences is the variance exactly (Wolter 2007, section 4.5).

        Raises:
            PolicyError: RR546 for a stratum with one cluster.
        """
        values = self._released(self._residuals(functions) * self.size).reshape(len(functions), -1)
        apart, stratum = self._apart(values)
        scale = (apart.shape[1] - 1) / apart.shape[1]
        stretched = np.sqrt(self._inflated[stratum] / scale) * apart
        return self.totals(functions)[:, None] - stretched, scale

    def ratio(self, parts: Functions, wholes: Functions, within: tuple[float, float]) -> FiellerRatios:
        """Return the ratios of totals of functions.

        Raises:
            PolicyError: RR546 for a stratum with one cluster.
        """
        n, d = self.totals(parts), self.totals(wholes)
        pairs = ((parts, parts), (parts, wholes), (wholes, wholes))
        table, sampled = ([self.paired(f, g, target) for f, g in pairs] for target in TARGETS)
        zero = np.zeros(len(n))
        found = FiellerRatios.of(
            n,
            d,
            square=(table[0], table[1], table[2]),
            own=(zero, zero, zero),
            sampled=(sampled[0], sampled[1], sampled[2]),
            within=within,
        )
        return replace(found, sample=self.sample)

    def speaking(self, grouped: Sequence[tuple[AxisWeights, Mask | None]], condition: Condition) -> Array:
        """Return (groups...) released records that support each group; arguments as for `indicators`."""
        counted = tuple(axis.counted for axis in self.axes)
        each = np.bincount(self._cell, weights=self.weighted.n, minlength=math.prod(counted))
        found: Array = each.astype(np.float64).reshape(counted)
        masks = {id(axis): mask for axis, mask in grouped}
        others = {id(axis): mask for axis, mask in ungrouped_condition_axes([axis for axis, _ in grouped], condition)}
        for place, axis in enumerate(self.axes):
            if id(axis) in masks:
                found = axis.support(found, place, masks[id(axis)])
            elif id(axis) in others:
                found = axis.support(found, place, others[id(axis)][:, None])
            else:
                found = found.sum(axis=place, keepdims=True)
        order = [next(i for i, own in enumerate(self.axes) if own is axis) for axis, _ in grouped]
        rest = [i for i in range(len(self.axes)) if i not in order]
        return found.transpose([*order, *rest]).reshape([found.shape[i] for i in order])

    @cached_property
    def sample(self) -> Sample:
        """Return the description of the sample for results."""
        first = np.zeros((1, 3, *self.shape))
        first[0, ALL] = 1.0
        units = self._units
        return Sample(
            degrees=int(units.sum()) - len(units),
            population_size=float(self.totals(first)[0]),
            description=self.design.description,
            notes=self.design.notes,
        )

    @cached_property
    def _units(self) -> Ints:
        """Return (strata,) how many clusters, or records, each has."""
        strata, clusters = self.weighted.keys
        if not self.design.clusters:
            return np.asarray(np.bincount(strata, weights=self.weighted.records), dtype=np.int64)
        return np.bincount(strata[np.unique(clusters, return_index=True)[1]])

    @cached_property
    def _inflated(self) -> Array:
        """Return (strata,) n / (n - 1); 1 of a stratum with one cluster, where that is allowed."""
        n = self._units
        alone = int((n == 1).sum())
        if alone and self.design.alone == "refused":
            of = "cluster" if self.design.clusters else "record"
            message = (
                f"{'a stratum has' if alone == 1 else f'{alone} strata have'} one {of} alone, which reveals nothing "
                "of how its clusters vary"
            )
            hint = 'put strata together, or take such a one\'s deviation from the mean of all: alone="centred"'
            raise PolicyError(Problem("RR546", message, hint=hint))
        return np.where(n > 1, n / np.maximum(n - 1, 1), 1.0)

    def _original(self, released: Array) -> Array:
        """Return sums over rows (rows, ...) by original cell, (..., *V)."""
        shape = tuple(axis.counted for axis in self.axes)
        flat = self._cell
        wide = released.reshape(len(released), -1)
        sums = np.stack([np.bincount(flat, weights=column, minlength=math.prod(shape)) for column in wide.T])
        found: Array = sums.astype(np.float64).reshape(*released.shape[1:], *shape)
        first = released.ndim - 1
        for place, axis in enumerate(self.axes):
            found = axis.contract(found, first + place, None, 1)
        return found

    @cached_property
    def _cell(self) -> Ints:
        flat = np.zeros(len(self.weighted.n), dtype=np.int64)
        for axis, code in zip(self.axes, self.weighted.codes, strict=True):
            flat = flat * axis.counted + code
        return flat

    def _released(self, functions: Functions) -> Array:
        """Return (functions, 3, *U) the contribution of a released record, unbiased for that of its original."""
        found = functions
        for place, axis in enumerate(self.axes, start=2):
            if not isinstance(axis, IdentityWeights):
                found = np.moveaxis(np.tensordot(found, axis.table, axes=(place, 1)), -1, place)
        return found

    @cached_property
    def _calibrating(self) -> tuple[Array, Array]:
        """Return M^-1 and (*V) g."""
        assert self.known is not None
        x, X = self.known
        flat, d = x.reshape(len(x), -1), self.corrected[ALL].reshape(-1)
        M = (flat * d) @ flat.T
        values, vectors = np.linalg.eigh(M)
        if values[0] < -_NEGATIVE * values[-1]:
            message = "corrected counts of the columns with known totals are negative: nothing is calibrated to them"
            raise PolicyError(Problem("RR547", message, hint="calibrate to fewer columns, or to coarser ones"))
        kept = values > _SINGULAR * values[-1]
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        short = X - flat @ d
        if np.abs(M @ (inverse @ short) - short).max() > _NEGATIVE * np.abs(X).max():
            message = "a category has a known total and nobody in the sample"
            raise PolicyError(Problem("RR547", message, hint="put categories together"))
        return inverse, 1 + np.tensordot(inverse @ short, x, axes=1)

    def _coefficients(self, functions: Functions) -> Array:
        """Return (variables, functions) B."""
        assert self.known is not None
        x = self.known[0].reshape(len(self.known[0]), -1)
        weighed = (functions * self.corrected).sum(axis=1).reshape(len(functions), -1)
        return np.asarray(self._calibrating[0] @ (x @ weighed.T))

    def _residuals(self, functions: Functions) -> Functions:
        """Return g (f - x' B) of functions; the functions themselves where no totals are known."""
        if self.known is None:
            return functions
        found = functions.copy()
        found[:, ALL] -= np.tensordot(self._coefficients(functions).T, self.known[0], axes=1)
        return found * self._calibrating[1]

    def _summed(self, of: Ints, rows: int, values: Array) -> Array:
        """Return (rows, functions) the sums of functions over released records by a number of them."""
        from scipy.sparse import csr_array

        columns = (np.arange(3)[None, :] * (values.shape[1] // 3) + self._cell[:, None]).reshape(-1)
        entries = (self.weighted.first.reshape(-1), (np.repeat(of, 3), columns))
        return np.asarray(csr_array(entries, shape=(rows, values.shape[1])) @ values.T)

    def _joined(self, errors: Functions, others: Functions, target: Target, join: FactorJoin) -> Array:
        """Return the covariance of totals; for this table, less the expected squares without randomisation."""
        first = self._released(errors * self.size).reshape(len(errors), -1)
        second = first if others is errors else self._released(others * self.size).reshape(len(others), -1)
        if target == "table":
            return self._squares(first, second, self.weighted.second, join)
        return (self._clustered if self.design.clusters else self._unclustered)(first, second, join)

    def _clustered(self, first: Array, second: Array, join: FactorJoin) -> Array:
        (apart, stratum), (other, _) = self._apart(first), self._apart(second)
        return join(apart * self._inflated[stratum], _second_factor(other, join))

    def _apart(self, values: Array) -> tuple[Array, Ints]:
        """Return (functions, clusters) how far the sum over each cluster is from its stratum's mean; its stratum."""
        strata, clusters = self.weighted.keys
        found, places = np.unique(clusters, return_index=True)
        stratum, n = strata[places], self._units
        z = self._summed(clusters, len(found), values)
        sums = np.stack([np.bincount(stratum, weights=column, minlength=len(n)) for column in z.T], axis=1)
        means = sums / n[:, None]
        means[n == 1] = z.mean(axis=0)
        return np.asarray((z - means[stratum]).T), stratum

    def _unclustered(self, first: Array, second: Array, join: FactorJoin) -> Array:
        strata, n, inflated = self.weighted.keys[0], self._units, self._inflated

        def sums(values: Array) -> tuple[Array, Array]:
            found = self._summed(strata, len(n), values).T
            return found, np.where(n == 1, found.sum(axis=1, keepdims=True) / n.sum(), found / n)

        (s, centre), (t, other) = sums(first), sums(second)
        square = self._squares(first, second, self.weighted.second * inflated[strata][:, None, None], join)
        crossed = join(inflated * s, _second_factor(other, join)) + join(inflated * centre, _second_factor(t, join))
        return square - crossed + join(inflated * n * centre, _second_factor(other, join))

    def _squares(self, first: Array, second: Array, sums: Array, join: FactorJoin) -> Array:
        """Return sums over records of products of their contributions."""
        cells = first.shape[1] // 3
        by_cell = np.stack([np.bincount(self._cell, weights=s, minlength=cells) for s in sums.reshape(-1, 9).T])
        by_cell = by_cell.reshape(3, 3, cells)
        parts, others = (values.reshape(len(values), 3, cells) for values in (first, second))
        used = [(a, b) for a in range(3) for b in range(3) if parts[:, a].any() and others[:, b].any()]
        found = [join(parts[:, a] * by_cell[a, b], _second_factor(others[:, b], join)) for a, b in used]
        return np.asarray(sum(found)) if found else join(first * 0, _second_factor(second, join))

    def _expected(self, errors: Functions, others: Functions, join: FactorJoin) -> Array:
        """Return the sums of products expected without randomisation, which are not an error of this table."""
        first, second = ((f * self.size).reshape(len(f), 3, -1) for f in (errors, others))
        sums = self._original(self.weighted.second).reshape(3, 3, -1)
        weighed = np.einsum("kav,abv->kbv", first, sums).reshape(len(first), -1)
        return join(weighed, _second_factor(second.reshape(len(second), -1), join))


def _row_by_row(first: Array, second: Array) -> Array:
    return np.asarray((first * second).sum(axis=1))


def _second_factor(values: Array, join: FactorJoin) -> Array:
    """Return the second factor as a way of joining takes it."""
    return values if join is _row_by_row else values.T
