"""Frequent itemsets with corrected supports, one size after the other, and the rules that they make.

What a record weighs in the count of an itemset is the product of its weights in its items. Each of these is constant on
the rows of bits of its item and beside them, so that every sum of such products, of their squares, and of products in
which one item is squared and another is not, follows from how many records are in each combination of rows.

That an itemset is frequent implies that all its parts are (Agrawal, Srikant 1994): true supports never grow with the
itemset. Corrected supports can, as each has an error of its own. So an itemset is ruled out where the interval of its
support, or that of one of its parts, ends below the least support; of others, every one is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product
from typing import Literal, TypeAlias

import numpy as np

from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.intervals import FiellerRatios
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.rules.items import Items, Name
from rrpolicy.estimate.rules.transactions import Transactions
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.frozen_dataclass import frozen

By: TypeAlias = Literal["lower", "point", "upper"]

MOST_COMBINATIONS = 200_000_000
"""The most combinations of rows that are counted for itemsets of one size."""
MOST_ITEMSETS = 2_000_000
"""The most itemsets of one size that are kept to make larger ones of."""
MOST_RULES = 1_000_000
"""The most rules that are held."""
_CELLS = 1 << 20
"""Numbers of the tables that are held at a time."""
_ROUNDING = 1e-9


@frozen
class RuleSearch:
    """What is asked for.

    Attributes:
        min_support: least support.
        min_confidence: least confidence.
        longest: most items in a rule.
        target: of the intervals.
        level: of the intervals.
    """

    min_support: float
    min_confidence: float
    longest: int
    target: Target
    level: float

    def reached(self, ratios: FiellerRatios, least: float) -> Mask:
        """Return which intervals end no lower than a threshold."""
        return reaches_threshold(ratios.ends(self.level, self.target)[:, 1], least)


@frozen(slots=False)
class FoundRules:
    """Rules whose intervals of support and confidence both reach up to the thresholds.

    Attributes:
        names: column and category of each item.
        members: (rules, longest) items of each, in order; -1 where there are fewer.
        then: (rules,) the item that follows.
        supports: shares of the records that satisfy the condition.
        confidences: shares of those with what is given.
        candidates: how many rules were looked at.
    """

    names: tuple[Name, ...] = field(repr=False)
    members: Ints = field(repr=False)
    then: Ints = field(repr=False)
    supports: FiellerRatios = field(repr=False)
    confidences: FiellerRatios = field(repr=False)
    candidates: int

    def chosen(self, asked: RuleSearch, by: By = "point") -> Mask:
        """Return which rules reach the thresholds with the lower ends of the intervals, the estimates, the upper ends.

        One without a confidence does not.
        """
        values = [self.supports.estimate, self.confidences.estimate]
        possible = np.isfinite(values[1])
        if by != "point":
            end = 0 if by == "lower" else 1
            values = [ratio.ends(asked.level, asked.target)[:, end] for ratio in (self.supports, self.confidences)]
        return (
            possible
            & reaches_threshold(values[0], asked.min_support)
            & reaches_threshold(values[1], asked.min_confidence)
        )

    def parts(self, rule: int) -> tuple[tuple[Name, ...], Name]:
        """Return what is given and what follows."""
        members, then = self.members[rule], self.then[rule]
        return tuple(self.names[i] for i in members if i not in {-1, then}), self.names[then]

    @property
    def keys(self) -> list[tuple[int, ...]]:
        """Return of each rule its items, and the one that follows."""
        return [tuple(key) for key in np.column_stack([self.members, self.then]).tolist()]


@frozen(slots=False)
class _Level:
    """Itemsets of one size that are not ruled out, in lexicographic order.

    Attributes:
        members: (n, size) items, in order.
        parents: (n, size) the place of the itemset without its first, its second, ... item among those one smaller.
        first: (n,) sums of weights.
        second: (n,) sums of their squares.
    """

    members: Ints
    parents: Ints
    first: Array
    second: Array

    @classmethod
    def joined(cls, parts: Sequence[_Level]) -> _Level:
        """Return itemsets of one size below each other."""
        return cls(
            np.concatenate([part.members for part in parts]),
            np.concatenate([part.parents for part in parts]),
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.second for part in parts]),
        )

    def keys(self, items: int) -> Ints:
        """Return (n,) numbers in order that tell the itemsets apart."""
        return np.asarray(self.parents[:, -1] * items + self.members[:, -1])


@frozen
class _Frequent:
    """Itemsets of one size, their supports, and how many records are in each combination of their rows."""

    itemsets: _Level
    supports: FiellerRatios
    tables: Array


@frozen
class _Rules:
    """Rules of itemsets of one size."""

    members: Ints
    then: Ints
    supports: FiellerRatios
    confidences: FiellerRatios


@frozen(slots=False)
class Weighing:
    """Sums of what records weigh in itemsets.

    Attributes:
        items: of the itemsets.
        of: the records.
        everybody: N.
    """

    items: Items
    of: Transactions
    everybody: int

    @cached_property
    def total(self) -> tuple[float, float]:
        """Return the sum of what records weigh in the condition, and of its squares."""
        first, second = (float(self.of.records @ (self.of.asked**p).prod(axis=0)) for p in (1, 2))
        return first, second

    def tables(self, members: Ints) -> Array:
        """Return (n, combinations, parts) the records in each combination of rows of the items of an itemset.

        Args:
            members: (n, size), in lexicographic order.
        """
        rows = self.items.rows
        choices = list(product(range(rows.shape[1] + 1), repeat=members.shape[1]))
        found = np.empty((len(members), len(choices), len(self.of.records)))
        for place, choice in enumerate(choices):
            found[:, place] = self.of.counts([rows[members[:, j], row - 1] for j, row in enumerate(choice) if row])
        return found

    def sums(self, members: Ints, tables: Array, powers: Sequence[int], asked: Sequence[int]) -> Array:
        """Return (n,) sums over records of a product of weights.

        Args:
            members: (n, size).
            tables: as `tables` returns them.
            powers: of the weights in each item.
            asked: of what a record weighs in an axis of the condition: its power where no item is of that axis, and
                where the item in each place is.
        """
        weights = self.items.weights
        product = np.ones((len(members), 1))
        for j, power in enumerate(powers):
            own = weights[power - 1][members[:, j]]
            size = product.shape[1] * own.shape[1]
            product = (product[:, :, None] * own[:, None, :]).reshape(len(members), size)
        summed = np.einsum("nt,ntp->np", product, tables)
        return np.asarray((summed * self._beside(members, asked)).sum(axis=1))

    def supports(self, members: Ints, tables: Array, first: Array, second: Array) -> FiellerRatios:
        """Return the supports of itemsets, whose sums of weights and of their squares are known."""
        total, own = self.total
        size = members.shape[1]
        cross = self.sums(members, tables, [1] * size, [2] + [1] * size) if len(self.of.asked) else first
        square = (second, cross, np.full(first.shape, own))
        return FiellerRatios.shares(first, np.full(first.shape, total), square, self.everybody)

    def _beside(self, members: Ints, asked: Sequence[int]) -> Array:
        """Return (n or 1, parts) what a record of each part counts besides its weights in the items."""
        found = np.ones((1, len(self.of.records)))
        for axis, weight in enumerate(self.of.asked):
            power = np.full(len(members), asked[0])
            for j, own in enumerate(asked[1:]):
                power = np.where(self.items.asked[members[:, j]] == axis, own, power)
            found = found * weight[None] ** power[:, None]
        return found


def reaches_threshold(values: Array, least: float) -> Mask:
    """Return which values reach a threshold, but for rounding."""
    return np.asarray(values >= least * (1 - _ROUNDING))


def search_rules(weighing: Weighing, asked: RuleSearch) -> FoundRules:
    """Return the rules whose intervals reach up to the thresholds, and none of whose parts is ruled out.

    Raises:
        PolicyError: RR277 if there are too many to count or to hold.
    """
    items = weighing.items
    found: list[_Rules] = []
    level, candidates = _singles(weighing, asked), 0
    for size in range(2, asked.longest + 1):
        cells = (1 + items.rows.shape[1]) ** size * len(weighing.of.records)
        kept: list[_Level] = []
        for members, parents in _join_itemsets(level, items, cells):
            candidates += size * len(members)
            frequent = _find_frequent(weighing, asked, members, parents)
            found += _rules(weighing, asked, level, frequent)
            if sum(len(rules.then) for rules in found) > MOST_RULES:
                raise _size_limit_error(f"more than {MOST_RULES:,} rules reach up to the thresholds")
            kept += [frequent.itemsets] if size < asked.longest else []
            if sum(len(part.first) for part in kept) > MOST_ITEMSETS:
                raise _size_limit_error(
                    f"more than {MOST_ITEMSETS:,} sets of {size} items reach up to the least support"
                )
        if not kept:
            break
        level = _Level.joined(kept)
    return _concatenate_rules(items.names, asked.longest, found, candidates)


def _singles(weighing: Weighing, asked: RuleSearch) -> _Level:
    """Return the items that are not ruled out."""
    members = np.arange(len(weighing.items.names))[:, None]
    return _find_frequent(weighing, asked, members, np.zeros_like(members)).itemsets


def _find_frequent(weighing: Weighing, asked: RuleSearch, members: Ints, parents: Ints) -> _Frequent:
    """Return the itemsets that are not ruled out."""
    size = members.shape[1]
    tables = weighing.tables(members)
    first, second = (weighing.sums(members, tables, [p] * size, [p] + [0] * size) for p in (1, 2))
    supports = weighing.supports(members, tables, first, second)
    chosen = np.flatnonzero(asked.reached(supports, asked.min_support))
    itemsets = _Level(members[chosen], parents[chosen], first[chosen], second[chosen])
    return _Frequent(itemsets, supports.select(chosen), tables[chosen])


def _join_itemsets(level: _Level, items: Items, cells: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield itemsets that are one larger, and none of whose parts is ruled out, each with the places of its parts.

    Two itemsets that differ in their last items alone make one (Agrawal, Srikant 1994, section 2.1.1); what else is
    a part of it has to be looked up.

    Args:
        level: itemsets of one size.
        items: that they are of.
        cells: numbers that are held for each itemset.

    Raises:
        PolicyError: RR277 if there are too many.
    """
    size, count = level.members.shape[1] + 1, len(level.first)
    before, last, keys = level.parents[:, -1], level.members[:, -1], level.keys(len(items.names))
    more = np.searchsorted(before, before, side="right") - np.arange(count) - 1
    ends = np.cumsum(more)
    if count and ends[-1] * max(items.rows.shape[1], 1) ** size > MOST_COMBINATIONS:
        raise _size_limit_error(f"{ends[-1]:,} sets of {size} items would be looked at")
    start = 0
    while start < count:
        held = ends[start] - more[start]
        stop = max(start + 1, int(np.searchsorted(ends, held + _CELLS // cells, side="right")))
        sizes = more[start:stop]
        left = np.repeat(np.arange(start, stop), sizes)
        right = left + 1 + np.arange(len(left)) - np.repeat(ends[start:stop] - sizes - held, sizes)
        start = stop
        if size == 2:  # noqa: PLR2004 - two items of one axis are in no record together
            apart = items.axes[last[left]] != items.axes[last[right]]
            left, right = left[apart], right[apart]
        parents = np.column_stack([*(left for _ in range(size - 2)), right, left])
        known = np.ones(len(left), dtype=bool)
        for place in range(size - 2):
            wanted = level.parents[left, place] * len(items.names) + last[right]
            parents[:, place] = np.minimum(np.searchsorted(keys, wanted), count - 1)
            known &= keys[parents[:, place]] == wanted
        if known.any():
            members = np.column_stack([level.members[left], last[right]])
            yield members[known], parents[known]


def _rules(weighing: Weighing, asked: RuleSearch, smaller: _Level, frequent: _Frequent) -> list[_Rules]:
    """Return the rules of some itemsets, by the place of the item that follows."""
    part = frequent.itemsets
    size = part.members.shape[1]
    found = []
    for place in range(size):
        alone = [1 if j == place else 2 for j in range(size)]
        beside = [2, *(1 if j == place else 0 for j in range(size))]
        cross = weighing.sums(part.members, frequent.tables, alone, beside)
        given = part.parents[:, place]
        square = (part.second, cross, smaller.second[given])
        whole = smaller.first[given]
        whole = np.where(np.abs(whole) > _ROUNDING * weighing.everybody, whole, 0.0)
        confidences = FiellerRatios.shares(part.first, whole, square, weighing.everybody)
        chosen = np.flatnonzero(asked.reached(confidences, asked.min_confidence))
        members, supports = part.members[chosen], frequent.supports.select(chosen)
        found.append(_Rules(members, members[:, place], supports, confidences.select(chosen)))
    return found


def _concatenate_rules(names: tuple[Name, ...], longest: int, parts: Sequence[_Rules], candidates: int) -> FoundRules:
    nothing = FiellerRatios.shares(np.zeros(0), np.zeros(0), (np.zeros(0), np.zeros(0), np.zeros(0)), 1)
    padded = [np.pad(p.members, ((0, 0), (0, longest - p.members.shape[1])), constant_values=-1) for p in parts]
    return FoundRules(
        names,
        np.concatenate([np.zeros((0, longest), np.int64), *padded]),
        np.concatenate([np.zeros(0, np.int64), *(p.then for p in parts)]),
        FiellerRatios.joined([nothing, *(p.supports for p in parts)]),
        FiellerRatios.joined([nothing, *(p.confidences for p in parts)]),
        candidates,
    )


def _size_limit_error(message: str) -> PolicyError:
    hint = "raise the least support, ask for shorter rules, name fewer columns, or the categories that are present"
    return PolicyError(Problem("RR277", message, hint=hint))
