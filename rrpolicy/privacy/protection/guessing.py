"""The value that an attacker reads of a released record, with the statistics of the other people in the table.

Of the people who agree with a person in the quasi-identifiers, he knows how many have each value, the person left out,
and the shares in the whole table, which count as one person more. Of n_w people with the value w, shares s_w and a
person of the value u his weights are

    pi_w = n_w - [w = u] + s_w,

so that a person who is alone is guessed by the shares of the whole table: information that only the person's own
record has is not a statistic. Reading v from the record he gives the true value the probability pi_u P[v, u] / sum_w
pi_w P[v, w], and names the value with the largest one; among equally likely values he draws.

References:
    Giomi, Boenisch, Wehmeyer, Tasnadi 2023, "A unified framework for quantifying privacy risk in synthetic data",
    section 5, for success on people who are not in the data as the baseline; Smith 2009, definition 2, for the guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.anatomy.assignment_replicas import simulate_assignments
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.set_posterior import expected_posterior
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Transition
from rrpolicy.finding import Standing
from rrpolicy.privacy.anatomy.posterior_simulation import estimation_stream, group_mates, replicas_for
from rrpolicy.privacy.cells import distinct_row_index
from rrpolicy.privacy.disclosure.reconstruction import dense_matrix

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.assignment_replicas import Mask
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array, Ints

MOST_WORK = 1 << 31
"""Products of groups, released and original values beyond which a reading is bounded by 1."""
_CHUNK = 1 << 22
MOST_REPLICAS = 1 << 11
"""Replicas of a deal: standard errors are at most 0.011."""
TIE_TOLERANCE = 1e-12
"""Relative difference of two weights up to which they are taken for equal."""


class GuessOutcome(Struct, frozen=True):
    """(groups, cells) the chance that the best guess is right, and the expected probability given to the true value.

    `error` are standard errors of estimates, the larger of both; None where nothing is estimated.
    """

    right: Array
    probability: Array
    standing: Standing = Standing.EXACT
    error: Array | None = None

    def of_groups(self, which: Ints) -> GuessOutcome:
        """Return the reading of groups that are given by their places."""
        error = None if self.error is None else self.error[which]
        return GuessOutcome(self.right[which], self.probability[which], self.standing, error)


def guess_without_record(counts: Ints, shares: Array, part: Ints) -> GuessOutcome:
    """Return the guess without a record, from (groups, cells) people; `part` is the value of each cell."""
    return _for_distinct_counts(
        counts, lambda rows: _guess_by_matrix(np.ones((1, counts.shape[1])), rows, shares, part)
    )


def guess_from_record(axis: Axis, counts: Ints, shares: Array, part: Ints) -> GuessOutcome:
    """Return the guess from a record that is known to be the person's; arguments as for `guess_without_record`."""
    if isinstance(axis, Identity):
        return certain_guess(counts)
    if isinstance(axis, Sets) and len(axis.attributes) == 1:
        return _for_distinct_counts(counts, lambda rows: _guess_from_sets(axis, rows, shares))
    if not isinstance(axis, Transition):
        return certain_guess(counts, Standing.UPPER_BOUND)
    probabilities = dense_matrix(axis)
    groups = len(distinct_row_index(counts)[0])
    if groups * probabilities.size > MOST_WORK:
        return certain_guess(counts, Standing.UPPER_BOUND)
    return _for_distinct_counts(counts, lambda rows: _guess_by_matrix(probabilities, rows, shares, part))


def certain_guess(counts: Ints, standing: Standing = Standing.EXACT) -> GuessOutcome:
    """Return that every value is read."""
    return GuessOutcome(np.ones(counts.shape), np.ones(counts.shape), standing)


def guess_from_group(channel: AnatomyChannel, counts: Ints, shares: Array) -> GuessOutcome:
    """Return the guess from a group of several different values, one of which is the person's.

    The values of a group are estimated from replicas of the deal, whose law does not depend on the people.
    """
    of_values = counts.sum(axis=0)
    number = replicas_for(of_values.tolist(), channel.size, int((counts > 0).sum()))
    if number is None or len(channel.sensitive) > 1:
        return certain_guess(counts, Standing.UPPER_BOUND)
    stream = estimation_stream(channel, int(of_values.sum()))
    dealt = simulate_assignments(of_values.tolist(), channel.size, min(number, MOST_REPLICAS), stream)
    occurs = np.flatnonzero(of_values).tolist()
    mates = {own: group_mates(dealt, of_values, channel.size, own, stream) for own in occurs}
    return _for_distinct_counts(counts, lambda rows: _replica_guesses(mates, rows, shares))


def _replica_guesses(mates: Mapping[int, tuple[Mask, Array]], counts: Ints, shares: Array) -> GuessOutcome:
    """Return the guess from the other values in a group, replica by replica, and their factors."""
    right, probability, error = (np.zeros(counts.shape) for _ in range(3))
    for own, (others, factor) in mates.items():
        held = [np.flatnonzero(column) for column in others.T]
        rows = np.flatnonzero(counts[:, own])
        step = max(1, _CHUNK // len(factor))
        for here in (rows[i : i + step] for i in range(0, len(rows), step)):
            weights = counts[here] + shares
            mine = weights[:, [own]] - 1
            most, tied = np.zeros((len(here), len(factor))), np.ones((len(here), len(factor)))
            for value, replicas_of in enumerate(held):
                each = weights[:, [value]]
                most[:, replicas_of] = np.maximum(most[:, replicas_of], each)
                tied[:, replicas_of] += np.abs(each - mine) <= TIE_TOLERANCE * mine
            given = factor * mine / (mine + weights @ others.T)
            named = factor * (most <= mine * (1 + TIE_TOLERANCE)) / tied
            right[here, own], probability[here, own] = named.mean(axis=1), given.mean(axis=1)
            spread = np.maximum(named.std(axis=1), given.std(axis=1))
            error[here, own] = spread / np.sqrt(len(factor) - 1)
    return GuessOutcome(right, probability, Standing.ESTIMATE, error)


def _for_distinct_counts(counts: Ints, of: Callable[[Ints], GuessOutcome]) -> GuessOutcome:
    """Return guesses for groups, computed once for groups with the same counts, some groups at a time."""
    first, place = distinct_row_index(counts)
    return of(counts[first]).of_groups(place)


def _guess_by_matrix(probabilities: Array, counts: Ints, shares: Array, part: Ints) -> GuessOutcome:
    step = max(1, _CHUNK // max(probabilities.shape))
    found = [_guess_chunk(probabilities, counts[i : i + step], shares, part) for i in range(0, len(counts), step)]
    return GuessOutcome(np.concatenate([f.right for f in found]), np.concatenate([f.probability for f in found]))


def _guess_chunk(probabilities: Array, counts: Ints, shares: Array, part: Ints) -> GuessOutcome:
    weights = counts + shares
    values = int(part.max()) + 1
    cells_of = [np.flatnonzero(part == u) for u in range(values)]
    whole = weights @ probabilities.T
    of_value = [weights[:, cells] @ probabilities[:, cells].T for cells in cells_of]
    best, second, named = np.zeros_like(whole), np.zeros_like(whole), np.full(whole.shape, -1)
    for u, weight in enumerate(of_value):
        over = weight > best
        second = np.where(over, best, np.maximum(second, weight))
        best, named = np.where(over, weight, best), np.where(over, u, named)
    right, probability = np.zeros(counts.shape), np.zeros(counts.shape)
    for u, cells in enumerate(cells_of):
        others = np.where(named == u, second, best)
        for cell in cells.tolist():
            rows = np.flatnonzero(counts[:, cell])
            chance = probabilities[:, cell]
            own = of_value[u][rows] - chance
            given = np.divide(own, whole[rows] - chance, out=np.zeros_like(own), where=chance > 0)
            probability[rows, cell] = given @ chance
            other = others[rows]
            sure = (own > other * (1 + TIE_TOLERANCE)).astype(np.float64)
            for row, v in zip(*np.nonzero((np.abs(own - other) <= other * TIE_TOLERANCE) & (chance > 0)), strict=True):
                alike = sum(
                    abs(of_value[w][rows[row], v] - own[row, v]) <= TIE_TOLERANCE * own[row, v]
                    for w in range(values)
                    if w != u
                )
                sure[row, v] = 1 / (1 + alike)
            right[rows, cell] = sure @ chance
    return GuessOutcome(right, probability)


def _guess_from_sets(axis: Sets, counts: Ints, shares: Array) -> GuessOutcome:
    """Return the guess from sets of values: the true one, and others that are drawn with equal chances."""
    size, drawn = counts.shape[1], axis.set_size - 1
    right, probability, exact = np.zeros(counts.shape), np.zeros(counts.shape), True
    for cell in range(size):
        rows = np.flatnonzero(counts[:, cell])
        if not len(rows):
            continue
        weights = counts[rows] + shares
        weights[:, cell] -= 1
        own = weights[:, [cell]]
        tied = np.abs(weights - own) <= TIE_TOLERANCE * own
        below = (weights < own) & ~tied
        right[rows, cell] = [
            _naming_frequency(b, t - 1, size, drawn) for b, t in zip(below.sum(1), tied.sum(1), strict=True)
        ]
        lower, upper = expected_posterior(weights / weights.sum(axis=1, keepdims=True), axis.set_size)
        probability[rows, cell] = upper[:, cell]
        exact = exact and bool(np.array_equal(lower[:, cell], upper[:, cell]))
    return GuessOutcome(right, probability, Standing.EXACT if exact else Standing.UPPER_BOUND)


def _naming_frequency(below: int, tied: int, size: int, drawn: int) -> float:
    """Return the probability that a value is named, with so many less likely and equally likely values."""
    ways = sum(comb(int(below), drawn - j) * comb(int(tied), j) / (j + 1) for j in range(min(int(tied), drawn) + 1))
    return ways / comb(size - 1, drawn)
