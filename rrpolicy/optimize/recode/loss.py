"""Losses of generalisation: four losses of a node, and a bound of each that needs no classes, or fewer.

With classes E of n records, group g of attribute a containing |g| of its |D_a| categories, N records in all, and
suppressed records released as `*` in every column, which contains the whole domain:

    ncp                  mean over records and attributes (weighted) of |g|/|D_a|, 0 for a category by itself;
                         a suppressed cell counts 1
    discernibility       sum over classes of n^2; a suppressed record counts N
    average-class-size   N / number of classes, the suppressed records being one
    kl                   KL(original || released, spread uniformly inside groups) over the attributes, in nats

Suppressing never lowers any of them, nor does generalising further without suppression: a node's loss without
suppression is a lower bound for it and every coarser one with suppression. (For kl: among all distributions that are
uniform inside the node's classes the released one is the nearest to the original.)

References:
    Xu et al. 2006, "Utility-Based Anonymization Using Local Recoding" (NCP); Bayardo, Agrawal 2005 (discernibility);
    LeFevre, DeWitt, Ramakrishnan 2006 (average class size); Kifer, Gehrke 2006 (KL).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.categories import certainty_penalty
from rrpolicy.utility.class_losses import discernibility

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.optimize.recode.levels import LossName
    from rrpolicy.optimize.recode.rollup import LatticeTables, Node, Table
    from rrpolicy.privacy.classes.histograms import Mask


DIGITS = 12
"""Losses that agree in so many significant digits are equal: the rest is rounding."""


class GeneralisationLoss(Struct, frozen=True, dict=True):
    """A loss on the nodes of a lattice; the (attributes,) weights of `ncp` sum to 1."""

    name: LossName
    tables: LatticeTables
    weights: Array

    def of(self, table: Table, kept: Mask) -> float:
        """Return the loss of a node, of whose classes those in the mask are not suppressed."""
        return round_loss(_LOSSES[self.name](self, table, kept))

    def bounds(self) -> Array:
        """Return an array over the lattice: a lower bound of every node's loss, computed without its classes."""
        shape = self.tables.shape
        bound = np.zeros(shape)
        if self.name != "ncp":
            return bound
        for axis, column in enumerate(self._means):
            bound = bound + np.array(column).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return np.array([round_loss(x) for x in bound.ravel()]).reshape(shape)

    def hints(self) -> Array:
        """Return an array over the lattice that orders the search, the least first: NCP without suppression."""
        return self.bounds() if self.name == "ncp" else GeneralisationLoss("ncp", self.tables, self.weights).bounds()

    @cached_property
    def _means(self) -> tuple[tuple[float, ...], ...]:
        """Return, by attribute and level, its weighted mean over records without suppression."""
        n, finest = self.tables.finest.n, self.tables.finest.codes
        return tuple(
            tuple(
                float(n @ shares[ladder.between(0, level)[finest[:, a]]]) / self.tables.records
                for level, shares in enumerate(own)
            )
            for a, (ladder, own) in enumerate(zip(self.tables.ladders, self._shares, strict=True))
        )

    @cached_property
    def _shares(self) -> tuple[tuple[Array, ...], ...]:
        """Return, by attribute and level, (groups,) the weighted NCP of a cell in each group."""
        found = []
        for ladder, weight in zip(self.tables.ladders, self.weights, strict=True):
            widths = [ladder.widths(level).tolist() for level in range(len(ladder.becomes))]
            found.append(tuple(weight * np.array([certainty_penalty(n, sum(w)) for n in w]) for w in widths))
        return tuple(found)

    @cached_property
    def _log_widths(self) -> tuple[tuple[Array, ...], ...]:
        return tuple(
            tuple(np.log(ladder.widths(level)) for level in range(len(ladder.becomes)))
            for ladder in self.tables.ladders
        )

    @cached_property
    def _entropy(self) -> float:
        p = self.tables.finest.n / self.tables.records
        return float((p * np.log(p)).sum() - (p * self.log_volume(self.tables.finest)).sum())

    def ncp(self, table: Table, kept: Mask) -> float:
        """Return the mean over records of the weighted NCP of their cells."""
        own = np.zeros(len(table.n))
        for a, level in enumerate(table.node):
            own += self._shares[a][level][table.codes[:, a]]
        return float(table.n @ np.where(kept, own, self.weights.sum())) / self.tables.records

    def log_volume(self, table: Table) -> Array:
        """Return (classes,) the logarithm of the number of original combinations in each class."""
        volume = np.zeros(len(table.n))
        for a, level in enumerate(table.node):
            volume += self._log_widths[a][level][table.codes[:, a]]
        return volume

    def kl(self, table: Table, kept: Mask) -> float:
        """Return KL(original || released and spread); suppressed records are spread over the whole domain."""
        records = self.tables.records
        whole = sum(float(np.log(ladder.becomes[0].size)) for ladder in self.tables.ladders)
        anywhere = float(table.n[~kept].sum()) / records * np.exp(-whole)
        q = np.where(kept, table.n / records * np.exp(-self.log_volume(table)), 0.0) + anywhere
        return max(self._entropy - float(table.n / records @ np.log(q)), 0.0)


def _discernibility(loss: GeneralisationLoss, table: Table, kept: Mask) -> float:
    return discernibility(table.n[kept], float(table.n[~kept].sum()), loss.tables.records)


def _average_class_size(loss: GeneralisationLoss, table: Table, kept: Mask) -> float:
    del table
    return loss.tables.records / float(np.count_nonzero(kept) + (not kept.all()))


_LOSSES: Mapping[str, Callable[[GeneralisationLoss, Table, Mask], float]] = {
    "ncp": GeneralisationLoss.ncp,
    "discernibility": _discernibility,
    "average-class-size": _average_class_size,
    "kl": GeneralisationLoss.kl,
}


def round_loss(x: float) -> float:
    """Return a loss rounded to `DIGITS` significant digits, so that rounding errors decide nothing."""
    return float(f"{x:.{DIGITS}g}")


def coarser_nodes(node: Node) -> tuple[slice, ...]:
    """Return the index of a node and every coarser one in an array over the lattice."""
    return tuple(slice(place, None) for place in node)
