"""Frequent itemsets with corrected supports, one size after the other, and the rules that they make.

A record's weight in the count of an itemset is the product of its weights in its items. Each of these is constant on
the rows of bits of its item and outside them. So every sum of such products, of their squares, and of products in which
one item is squared and another is not, follows from how many records are in each combination of rows.

That an itemset is frequent implies that all its parts are (Agrawal, Srikant 1994): true supports never grow with the
itemset. Corrected supports can, as each has a separate error. So an itemset is ruled out where the interval of its
support, or that of one of its parts, ends below the least support; all others are examined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.intervals import FiellerRatios
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.rules.transactions import Items, Name, Transactions
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.frozen import replace

By: TypeAlias = Literal["lower", "point", "upper"]

MOST_COMBINATIONS = 200_000_000
"""The most combinations of rows that are counted for itemsets of one size."""
MOST_ITEMSETS = 2_000_000
"""The most itemsets of one size that are kept to make larger ones of."""
MOST_RULES = 1_000_000
"""The most rules in memory."""
_CELLS = 1 << 20
"""The most numbers of tables in memory at a time."""
_ROUNDING = 1e-9


class RuleSearch(Struct, frozen=True):
    """The thresholds of a search, the most items in a rule, and target and level of the intervals."""

    min_support: float
    min_confidence: float
    longest: int
    target: Target
    level: float

    def reached(self, ratios: FiellerRatios, least: float) -> Mask:
        """Return which intervals end no lower than a threshold."""
        return reaches_threshold(ratios.ends(self.level, self.target)[:, 1], least)


@dataclass(frozen=True)
class FoundRules:
    """Rules whose intervals of support and confidence both reach up to the thresholds."""

    names: tuple[Name, ...] = field(repr=False)
    members: Ints = field(repr=False)  # shape (rules, longest): items in order; -1 where there are fewer
    then: Ints = field(repr=False)  # shape (rules,): the item that follows
    supports: FiellerRatios = field(repr=False)  # shares of the records that satisfy the condition
    confidences: FiellerRatios = field(repr=False)  # shares of those with what is given
    candidates: int  # number of examined rules

    def chosen(self, asked: RuleSearch, by: By = "point") -> Mask:
        """Return which rules with a confidence reach the thresholds, with the lower or upper ends or the estimates."""
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

    def select(self, rows: Ints) -> FoundRules:
        """Return some of the rules, in the order of their places."""
        return replace(
            self,
            members=self.members[rows],
            then=self.then[rows],
            supports=self.supports.select(rows),
            confidences=self.confidences.select(rows),
        )

    def parts(self, rule: int) -> tuple[tuple[Name, ...], Name]:
        """Return the given items, and the one that follows."""
        members, then = self.members[rule], self.then[rule]
        return tuple(self.names[i] for i in members if i not in {-1, then}), self.names[then]

    @property
    def keys(self) -> list[tuple[int, ...]]:
        """Return the items of each rule, and the one that follows."""
        return [tuple(key) for key in np.column_stack([self.members, self.then]).tolist()]


class _Level(NamedTuple):
    """Itemsets of one size that are not ruled out, in lexicographic order."""

    members: Ints  # shape (n, size): items, in order
    parents: Ints  # shape (n, size): places of the itemset without its first, its second, ... item in the level below
    first: Array  # shape (n,): sums of weights
    second: Array  # shape (n,): sums of their squares


class _Frequent(NamedTuple):
    """Itemsets of one size, their supports, and how many records are in each combination of their rows."""

    itemsets: _Level
    supports: FiellerRatios
    tables: Array


class _Rules(NamedTuple):
    members: Ints
    then: Ints
    supports: FiellerRatios
    confidences: FiellerRatios


class Weighing(Struct, frozen=True, dict=True):
    """Sums of the weights of N (`everybody`) records in itemsets."""

    items: Items
    of: Transactions
    everybody: int

    @cached_property
    def total(self) -> tuple[float, float]:
        """Return the sum of the records' weights in the condition, and of their squares."""
        first, second = (float(self.of.records @ (self.of.asked**p).prod(axis=0)) for p in (1, 2))
        return first, second

    def tables(self, members: Ints) -> Array:
        """Return (n, combinations, parts) the records in each combination of rows of (n, size) ordered itemsets."""
        rows = self.items.rows
        choices = list(product(range(rows.shape[1] + 1), repeat=members.shape[1]))
        found = np.empty((len(members), len(choices), len(self.of.records)))
        for place, choice in enumerate(choices):
            found[:, place] = self.of.counts([rows[members[:, j], row - 1] for j, row in enumerate(choice) if row])
        return found

    def sums(self, members: Ints, tables: Array, powers: Sequence[int], asked: Sequence[int]) -> Array:
        """Return (n,) sums over records of a product of powers of weights in (n, size) items, with their `tables`.

        The powers in an axis of the condition are `asked`: first where no item has that axis, then where the item in
        each position has it.
        """
        weights = self.items.weights
        product = np.ones((len(members), 1))
        for j, power in enumerate(powers):
            own = weights[power - 1][members[:, j]]
            size = product.shape[1] * own.shape[1]
            product = (product[:, :, None] * own[:, None, :]).reshape(len(members), size)
        others = np.ones((1, len(self.of.records)))  # the weights besides those in the items
        for axis, weight in enumerate(self.of.asked):
            exponent = np.full(len(members), asked[0])
            for j, inside in enumerate(asked[1:]):
                exponent = np.where(self.items.asked[members[:, j]] == axis, inside, exponent)
            others = others * weight[None] ** exponent[:, None]
        return np.asarray((np.einsum("nt,ntp->np", product, tables) * others).sum(axis=1))

    def supports(self, members: Ints, tables: Array, first: Array, second: Array) -> FiellerRatios:
        """Return the supports of itemsets with known sums of weights and of their squares."""
        total, own = self.total
        size = members.shape[1]
        cross = self.sums(members, tables, [1] * size, [2] + [1] * size) if len(self.of.asked) else first
        square = (second, cross, np.full(first.shape, own))
        return FiellerRatios.shares(first, np.full(first.shape, total), square, self.everybody)


def reaches_threshold(values: Array, least: float) -> Mask:
    """Return which values reach a threshold, but for rounding."""
    return np.asarray(values >= least * (1 - _ROUNDING))


def search_rules(weighing: Weighing, asked: RuleSearch) -> FoundRules:
    """Return the rules whose intervals reach the thresholds, and no part of which is ruled out (RR277)."""
    items = weighing.items
    found: list[_Rules] = []
    members = np.arange(len(items.names))[:, None]
    level, candidates = _find_frequent(weighing, asked, members, np.zeros_like(members)).itemsets, 0
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
        level = _Level(*(np.concatenate(part) for part in zip(*kept, strict=True)))
    nothing = FiellerRatios.shares(np.zeros(0), np.zeros(0), (np.zeros(0), np.zeros(0), np.zeros(0)), 1)
    padded = [np.pad(p.members, ((0, 0), (0, asked.longest - p.members.shape[1])), constant_values=-1) for p in found]
    return FoundRules(
        items.names,
        np.concatenate([np.zeros((0, asked.longest), np.int64), *padded]),
        np.concatenate([np.zeros(0, np.int64), *(p.then for p in found)]),
        FiellerRatios.joined([nothing, *(p.supports for p in found)]),
        FiellerRatios.joined([nothing, *(p.confidences for p in found)]),
        candidates,
    )


def _find_frequent(weighing: Weighing, asked: RuleSearch, members: Ints, parents: Ints) -> _Frequent:
    size = members.shape[1]
    tables = weighing.tables(members)
    first, second = (weighing.sums(members, tables, [p] * size, [p] + [0] * size) for p in (1, 2))
    supports = weighing.supports(members, tables, first, second)
    chosen = np.flatnonzero(asked.reached(supports, asked.min_support))
    itemsets = _Level(members[chosen], parents[chosen], first[chosen], second[chosen])
    return _Frequent(itemsets, supports.select(chosen), tables[chosen])


def _join_itemsets(level: _Level, items: Items, cells: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield itemsets that are one item larger, none of whose parts is ruled out, with their parts' positions.

    Two itemsets that differ only in their last items make one (Agrawal, Srikant 1994, section 2.1.1); its other parts
    have to be looked up. Each itemset needs memory for `cells` numbers. RR277 if there are too many.
    """
    size, count = level.members.shape[1] + 1, len(level.first)
    before, last = level.parents[:, -1], level.members[:, -1]
    keys = before * len(items.names) + last  # in order, one for each itemset
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


def _size_limit_error(message: str) -> PolicyError:
    hint = "raise the least support, request shorter rules, name fewer columns, or the categories that are present"
    return PolicyError(Problem("RR277", message, hint=hint))
