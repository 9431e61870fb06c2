"""What a question counts, recorded, and released counts drawn again in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rrpolicy.estimate.counts.scan import DataFile, count
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array, Ints


@dataclass
class CountRecorder:
    """Counts as the file does, and keeps what was counted by.

    Attributes:
        axes: by their columns.
        filters: SQL with its parameters.
    """

    axes: dict[tuple[str, ...], AxisWeights] = field(default_factory=dict)
    filters: set[tuple[str, tuple[Any, ...]]] = field(default_factory=set)

    def count(
        self, data: DataFile, axes: Sequence[AxisWeights], condition: str, parameters: Sequence[Any]
    ) -> tuple[list[Ints], Ints]:
        """Count the released records of the file."""
        self.axes |= {axis.columns: axis for axis in axes}
        self.filters.add((condition, tuple(parameters)))
        return count(replace(data, counted_by=None), axes, condition, parameters)


@frozen(slots=False)
class ResampledCounts:
    """Released counts that were drawn again.

    Attributes:
        columns: of each axis.
        counts: one dimension an axis.
    """

    columns: tuple[tuple[str, ...], ...]
    counts: Ints = field(repr=False)

    def count(
        self, data: DataFile, axes: Sequence[AxisWeights], condition: str, parameters: Sequence[Any]
    ) -> tuple[list[Ints], Ints]:
        """Count by some of the axes; the condition is that under which all counts were drawn."""
        del data, condition, parameters
        places = [self.columns.index(axis.columns) for axis in axes]
        summed = self.counts.sum(axis=tuple(i for i in range(self.counts.ndim) if i not in places))
        kept = sorted(places)
        summed = summed.transpose([kept.index(place) for place in places])
        cells = np.nonzero(summed)
        return [np.asarray(codes, np.int64) for codes in cells], np.asarray(summed[cells]).reshape(-1)


def round_to_total(counts: Array, total: int) -> Ints:
    """Return counts as whole numbers with a total: those with the largest remainders are rounded up."""
    flat = counts.reshape(-1)
    found = np.floor(flat).astype(np.int64)
    found[np.argsort(found - flat, kind="stable")[: total - int(found.sum())]] += 1
    return found.reshape(counts.shape)


def draw_released(original: Ints, matrices: Sequence[Array], rng: np.random.Generator) -> Ints:
    """Draw released counts of original ones: every record through the matrix of each axis.

    Args:
        original: one dimension an axis.
        matrices: (U, V) of each, column-stochastic.
        rng: of the draws.
    """
    x = original
    for place, P in enumerate(matrices):
        if P.shape[0] == P.shape[1] and np.array_equal(P, np.eye(len(P))):
            continue
        moved = np.moveaxis(x, place, -1)
        drawn = sum(rng.multinomial(moved[..., v], P[:, v] / P[:, v].sum()) for v in range(P.shape[1]))
        x = np.moveaxis(np.asarray(drawn, np.int64), -1, place)
    return x
