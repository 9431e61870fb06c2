"""The best node of a generalisation lattice: the least loss among those that satisfy every requirement.

A *monotone* requirement that is met at a node is met at every coarser one: without suppression for all, with
suppression only for k-anonymity and distinct l-diversity (Incognito: LeFevre, DeWitt, Ramakrishnan 2005). One test
then decides a whole corner of the lattice, and chains between undecided nodes are bisected. Other requirements are
tested at every node that the monotone ones leave. Nodes are visited in the order of a bound of their loss, so that
the search ends where nothing can be better. Ties go to the node of the least height, then to the first in order.

With suppression, classes that fail are released as `*`; as the rest is then another release, it is tested again until
all are met. A node fails if more records are suppressed than permitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.optimize.recode.loss import coarser_nodes
from rrpolicy.optimize.recode.rollup import LatticeTables, Node, Table

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.counts import Ints
    from rrpolicy.optimize.recode.loss import GeneralisationLoss
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.model import PerClass

_UNKNOWN, _HOLDS, _FAILS = 0, 1, -1
_TIED = 1 + 1e-9
"""Bounds are sums in another order than the losses: a smaller excess may be a tie."""


class ClassTest(Struct, frozen=True):
    """A requirement on classes, whose attributes have places.

    Attributes:
        name: name for messages.
        rule: the requirement; only Mondrian uses its `peaks`. People without records are in no class.
        joint: the place of the sensitive attribute whose histograms it reads; None for the sizes of classes.
        monotone: whether every coarser node meets it as well, failing classes suppressed as far as permitted.
        concerned: (position of an attribute, category): only classes whose group of it contains the category need to
            satisfy it.
    """

    name: str
    rule: PerClass
    joint: int | None
    monotone: bool
    concerned: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Choice:
    """A node and its release.

    Attributes:
        node: for each attribute, the position of its level.
        loss: loss of the node.
        table: its classes.
        kept: (classes,) those that are not suppressed.
    """

    node: Node
    loss: float
    table: Table = field(repr=False)
    kept: Mask = field(repr=False)

    @property
    def suppressed(self) -> int:
        """Return the number of suppressed records."""
        return int(self.table.n[~self.kept].sum())

    @property
    def order(self) -> tuple[float, int, Node]:
        """Return the key that is least for the best choice."""
        return self.loss, sum(self.node), self.node


@dataclass
class LatticeSearch:
    """A search for the best node: of least loss among those that satisfy every test, with `most` records suppressed.

    `accept` is a final check of a node that would be the best so far, which no test of classes can replace;
    `lasting`: acceptance of a node implies that of every coarser one, and nothing is suppressed. `budget` is the
    number of nodes whose classes may be counted, None for no limit; the result is the best of those.
    """

    tables: LatticeTables
    tests: Sequence[ClassTest]
    loss: GeneralisationLoss
    most: int
    accept: Callable[[Choice], bool] = lambda _: True
    lasting: bool = False
    budget: int | None = None
    tested: int = 0

    def best(self) -> Choice | None:
        """Return the best node; None if no node, or none within the budget, satisfies every requirement."""
        shape = self.tables.shape
        bound = self.loss.bounds()
        state = np.full(shape, _UNKNOWN, dtype=np.int8)
        found: Choice | None = None
        for node in self._visits():
            if self.budget is not None and self.tested >= self.budget:
                break
            if state[node] == _FAILS or (found is not None and bound[node] > found.loss * _TIED):
                continue
            if state[node] == _UNKNOWN and not self._decide(node, state):
                continue
            choice = self.choice(node)
            raw = choice.loss if choice.kept.all() else self.loss.of(choice.table, np.ones_like(choice.kept))
            np.maximum(bound[coarser_nodes(node)], raw, out=bound[coarser_nodes(node)])
            better = found is None or choice.order < found.order
            if better and self.satisfies(choice) and (self.lasting or self.accept(choice)):
                found = choice
        return found

    def _visits(self) -> Iterator[Node]:
        """Yield every node, those likely to have the least loss first."""
        hints = self.loss.hints()
        nodes = list(itertools.product(*(range(size) for size in self.tables.shape)))
        heights = np.array([sum(node) for node in nodes], dtype=np.int64)
        for index in np.lexsort((heights, hints.ravel())).tolist():
            yield nodes[index]

    def choice(self, node: Node) -> Choice:
        """Return the release at a node: failing classes suppressed until the rest satisfies every test."""
        table = self.tables.at(node)
        self.tested += 1
        kept = np.ones(len(table.n), dtype=bool)
        while True:
            fails = self._failing(table, kept, self.tests)
            if not fails.any() or not self.most:
                kept &= ~fails
                break
            kept &= ~fails
            if int(table.n[~kept].sum()) > self.most:
                break
        return Choice(node, self.loss.of(table, kept), table, kept)

    def satisfies(self, choice: Choice) -> bool:
        """Return whether not too many, and not all, records are suppressed, and these satisfy their tests."""
        return choice.suppressed <= self.most and bool(choice.kept.any()) and self._hides(choice)

    def _hides(self, choice: Choice) -> bool:
        """Return whether suppressed records satisfy, as one class, the requirements on them."""
        gone = ~choice.kept
        asked = [rule.people for rule in (test.rule for test in self.tests) if rule.hidden and rule.people is not None]
        if not asked or not gone.any():
            return True
        people, _ = self.tables.people(choice.table)
        whole = [np.array([int(n[gone].sum())], dtype=np.int64) for n in (choice.table.n, people)]
        return all(bool(one(*whole).all()) for one in asked)

    def _decide(self, node: Node, state: npt.NDArray[np.int8]) -> bool:
        """Determine whether monotone requirements are met at a node, bisecting a chain of undecided nodes above it."""
        monotone = [test for test in self.tests if test.monotone]
        if not monotone and not self.lasting:
            state[...] = _HOLDS
            return True
        chain = self._chain(node, state)
        low, high = 0, len(chain) - 1
        while state[node] == _UNKNOWN:
            middle = (low + high) // 2
            at = chain[middle]
            table = self.tables.at(at)
            self.tested += 1
            fails = self._failing(table, np.ones(len(table.n), dtype=bool), monotone)
            fine = int(table.n[fails].sum()) <= self.most
            if fine and (not self.lasting or self.accept(Choice(at, 0.0, table, ~fails))):
                state[coarser_nodes(at)] = _HOLDS
                high = max(middle - 1, low)
            else:
                state[tuple(slice(0, place + 1) for place in at)] = _FAILS
        return bool(state[node] == _HOLDS)

    def _chain(self, node: Node, state: npt.NDArray[np.int8]) -> list[Node]:
        """Return undecided nodes from one upwards, each a step above the one before."""
        chain = [node]
        while True:
            here = chain[-1]
            steps = [
                (size - place, -axis)
                for axis, (place, size) in enumerate(zip(here, self.tables.shape, strict=True))
                if place + 1 < size and state[(*here[:axis], place + 1, *here[axis + 1 :])] == _UNKNOWN
            ]
            if not steps:
                return chain
            axis = -max(steps)[1]
            chain.append((*here[:axis], here[axis] + 1, *here[axis + 1 :]))

    def _failing(self, table: Table, kept: Mask, tests: Sequence[ClassTest]) -> Mask:
        """Return (classes,) those among the kept ones that fail a test."""
        fails = np.zeros(len(kept), dtype=bool)
        for test in tests:
            histogram = table.n[:, None] if test.joint is None else table.histogram(test.joint)
            mask = ~test.rule.holds(add_suppressed_class(histogram[kept], histogram[~kept]))[: int(kept.sum())]
            if test.rule.people is not None:
                people, elsewhere = self.tables.people(table)
                told = test.rule.people(np.append(table.n[kept], 0), np.append(people[kept], elsewhere))
                mask |= ~(told[:-1] & told[-1])
            for place, category in test.concerned:
                group = self.tables.ladders[place].becomes[table.node[place]][category]
                mask &= table.codes[kept, place] == group
            fails[kept] |= mask
        return fails


def add_suppressed_class(kept: Ints, gone: Ints) -> Ints:
    """Return (classes, values) counts of a release: of the kept classes, then of the others as one, if any."""
    return np.vstack([kept, gone.sum(axis=0, keepdims=True)]) if len(gone) else kept
