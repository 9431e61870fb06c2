"""Two-way tables of a draw, deflated, and the measures of association that are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.estimate.association.deflation import deflate_coupled_table, deflate_table
from rrpolicy.estimate.association.measures import cramers_v as v_of
from rrpolicy.estimate.association.measures import drop_empty_categories, entropy
from rrpolicy.estimate.association.measures import mutual_information as information
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, MatrixWeights, RetentionWeights
from rrpolicy.finding import Measure
from rrpolicy.utility.distances import clip_shares
from rrpolicy.utility.release_estimates import estimate_shares
from rrpolicy.utility.simulation import (
    DrawSettings,
    EstimatedMarginal,
    cached_result,
    mean_over_draws,
    simulate_releases,
    target_cells,
)

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.draw_counts import CountedRowSink
    from rrpolicy.utility.simulation import Range


def simulated_pairs(  # noqa: PLR0917 what a simulation is
    channel: Channel,
    original: Original,
    attributes: Sequence[str],
    figure: Callable[[list[Array]], float],
    draws: DrawSettings,
    within: Range | None = None,
) -> Measure:
    """Return the mean over draws of a number of the tables of all pairs, in order; exact for deterministic channels.

    Raises as `simulated_means`.
    """
    pairs = [EstimatedMarginal.of(channel, original, pair, attributes) for pair in combinations(attributes, 2)]
    drawn = (
        [_draw_table(pair, rows, original.records) for pair in pairs]
        for rows in simulate_releases(pairs, original, draws)
    )
    cells = sum(math.prod(pair.shape) for pair in pairs)
    found = [figure(tables) for tables in cached_result("pairs", channel, original, attributes, draws, drawn, cells)]
    return mean_over_draws(found, within) if any(pair.drawn for pair in pairs) else Measure(found[0])


def _draw_table(pair: EstimatedMarginal, drawn: CountedRowSink, records: int) -> Array:
    """Return the shares of a pair in one draw: deflated if values were randomised, except for one set of both."""
    if pair.dealt is not None or not pair.drawn:
        return pair.estimate(drawn, records).shares
    if len(pair.axes) == 1:
        ((axis, wanted),), (inner,) = pair.axes, pair.inner
        if not _is_matrix_axis(axis):
            return pair.estimate(drawn, records).shares
        shape = dict(zip(pair.attributes, pair.shape, strict=True))
        table = deflate_coupled_table(pair.counted(drawn), (axis, wanted), (shape[inner[0]], shape[inner[1]]))
        return table if inner == pair.attributes else table.T
    table = deflate_table(pair.counted(drawn), *pair.axes)
    return table if pair.inner[0] == pair.attributes[:1] else table.T


def written_pair(release: Release, original: Original, pair: tuple[str, str]) -> Array:
    """Return the same for a written release."""
    columns = [original.policy.attributes[name].release_as or name for name in pair]
    inside = release.disaggregate()
    row, column = (inside.columns.axis(name) for name in columns)
    if row is column and row.randomised and _is_matrix_axis(row):
        counted, _, _ = inside.weight_sums([row], split(None, inside.columns))
        return _written_joint_pair(row, counted, original, pair)
    spread = row is column or isinstance(row, AnatomyWeights) or isinstance(column, AnatomyWeights)
    if spread or not (row.randomised or column.randomised):
        found = estimate_shares(release, original, pair)
        assert found is not None
        return found.shares
    counted, _, _ = inside.weight_sums([row, column], split(None, inside.columns))
    return deflate_table(counted, (row, None), (column, None))


def _is_matrix_axis(axis: AxisWeights) -> bool:
    """Return whether an axis has a matrix form, so that a record's weight for each combination is known."""
    return isinstance(axis, (RetentionWeights, MatrixWeights))


def _written_joint_pair(axis: AxisWeights, counted: Array, original: Original, pair: tuple[str, str]) -> Array:
    """Return the deflated table of a pair that one matrix randomised."""
    names = {a.release_as or a.name: a.name for a in original.policy.released}
    own = [names[column] for column in axis.columns]
    first, second = sorted(pair, key=own.index)
    domains = {name: original.policy.attributes[name].domain or () for name in (first, second)}
    shape = len(domains[first]), len(domains[second])
    table = deflate_coupled_table(counted, (axis, target_cells(axis, own, domains)), shape)
    return table if first == pair[0] else table.T


def mutual_information(shares: Array) -> float:
    """Return I of a table, in nats; cells below 0 count as 0."""
    return float(information(_without_empty_categories(shares))[0])


def uncertainty_coefficients(shares: Array) -> tuple[float, float]:
    """Return I/H(column) and I/H(row); 0 if there is no uncertainty."""
    table = _without_empty_categories(shares)
    known = float(information(table)[0])
    by_column, by_row = (float(entropy(table, axis)[0]) for axis in (1, 0))
    return tuple(known / h if h > 0 else 0.0 for h in (by_column, by_row))  # type: ignore[return-value]


def cramers_v(shares: Array) -> float:
    """Return V of a table, at most 1; 0 if one of the attributes has a single value. Cells are not clipped."""
    table = drop_empty_categories(shares)
    return min(float(v_of(table)[0]), 1.0) if min(table.shape) > 1 else 0.0


def _without_empty_categories(shares: Array) -> Array:
    """Return a table without negative cells and empty categories; of one category each if no cell is positive."""
    if not (shares > 0).any():
        return np.ones((1, 1))
    proper = clip_shares(shares, 0.0)
    return np.asarray(proper[proper.sum(axis=1) > 0][:, proper.sum(axis=0) > 0])
