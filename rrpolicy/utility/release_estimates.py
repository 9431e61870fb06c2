"""Analysts' estimates from a written release: the shares of one draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.estimate.results.intervals import population_variance
from rrpolicy.utility.metric import MOST_CELLS

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.source.protocol import Original


class ShareTable(Struct, frozen=True):
    """Shares of N records, one dimension an attribute; they sum to 1, and single ones may be negative.

    `squares` returns the mean square of the weights of each cell; None if counts are spread inside groups, which has no
    independent weights.
    """

    shares: Array
    records: int
    squares: Callable[[], Array] | None

    def variance(self) -> Array:
        """Return the variance of each share as an estimate of the population's.

        For shares that are spread inside groups: that of a table with exactly these, as no release states one.
        """
        n = self.records
        squares = self.shares.clip(0, 1) if self.squares is None else self.squares()
        return population_variance(n * squares, n * self.shares, n) / n**2


def estimate_shares(release: Release, original: Original, attributes: Sequence[str]) -> ShareTable | None:
    """Return a release's estimated shares, one dimension an attribute; None for tables of over 10^6 cells.

    Raises `PolicyError` (RR267 and others) if the released values do not determine the table.
    """
    known = [original.policy.attributes[name] for name in attributes]
    if math.prod(len(a.domain or ()) for a in known) > MOST_CELLS:
        return None
    columns = [a.release_as or a.name for a in known]
    table = release.crosstab(columns, spread=True)
    domains = {column: a.domain or () for column, a in zip(columns, known, strict=True)}
    shares = dense_array(table, table.estimate, domains) / release.records
    squares = (
        None if table.lower_bounds is not None else dense_array(table, table.second_moment, domains) / release.records
    )
    return ShareTable(shares, release.records, None if squares is None else lambda: squares)


def dense_array(table: Crosstab, numbers: Array, domains: dict[str, tuple[Value, ...]]) -> Array:
    """Return numbers of a crosstab over whole domains, one dimension a column, in their order; 0 for missing cells."""
    order = [column for group in table.groups for column in group.columns]
    parts = [[domains[column] for column in group.columns] for group in table.groups]
    found = np.zeros([math.prod(map(len, own)) for own in parts])
    cells = [_cell_positions(group.labels, own) for group, own in zip(table.groups, parts, strict=True)]
    found[np.ix_(*cells)] = numbers
    whole = found.reshape([len(domains[column]) for column in order])
    return np.transpose(whole, [order.index(column) for column in domains])


def _cell_positions(labels: Sequence[tuple[Value, ...]], domains: Sequence[Sequence[Value]]) -> list[int]:
    """Return the position of each group in the C-order product of its columns' domains."""
    places = [{label: code for code, label in enumerate(domain)} for domain in domains]
    cells = []
    for group in labels:
        cell = 0
        for label, place in zip(group, places, strict=True):
            cell = cell * len(place) + place[label]
        cells.append(cell)
    return cells
