"""The expected posterior given anatomy's groups, estimated by simulating the random assignment.

The risk of a person with value u is c_u times the expected posterior of u given the person's group. The group's values
come from the distribution of the assignment (`rrpolicy.channels.anatomy.assignment_replicas`), and for each of the
others one of the people with that value, equally likely and independent. That is the assignment's own distribution.
Given the group, the posterior is exact (`rrpolicy.privacy.anatomy.permanents`). One simulated group of u serves for
everybody with u, because the weights of the other members do not depend on the person.

Every replica gives one group, so that the averaged numbers are independent, in [0, 1] (times a factor near 1 if long
phases were shortened), and their mean is unbiased. With variance V of n of them, the expectation is with a probability
of 1 - delta at most

    mean + (2 V L/n)^(1/2) + 7 L/(3 (n - 1)),    L = log(2/delta)

whatever their distribution (Maurer, Pontil 2009, theorem 4). If the largest of k such numbers is compared with a limit,
delta is divided by k, so that the confidence is that of all of them together.

The random bits depend only on published facts: attributes, categories, l, and the number of records. The plan and the
table reproduce them.

References:
    Maurer, Pontil 2009, "Empirical Bernstein Bounds and Sample Variance Penalization".
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical
from rrpolicy.channels.anatomy.assignment_replicas import (
    AssignmentReplicas,
    replica_group_count,
    residue_join_probability,
    simulate_assignments,
)
from rrpolicy.channels.anatomy.partition_plan import largest_eligible
from rrpolicy.channels.sampling.prng import Stream
from rrpolicy.privacy.anatomy.permanents import MOST_MEMBERS, permanent_weights
from rrpolicy.privacy.disclosure.attribute_options import CONFIDENCE

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.assignment_replicas import Mask
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints

MOST_REPLICAS = 1 << 13
FEWEST_REPLICAS = 1 << 8
"""The least number of replicas of an estimate."""
_SLOTS = 1 << 20
"""Groups of all replicas together."""
_SUMS = 1 << 29
"""Sums over sets of values, for all values together."""
_POSTERIORS = 1 << 27
"""Posteriors of all people and replicas together."""
_CHUNK = 1 << 20


class SimulatedPosteriors(Struct, frozen=True):
    """Expected posteriors of the own value, of each requested (combination, value).

    Attributes:
        replicas: the number of simulated assignments.
        first: (k,) means over the first half, from which the largest is selected.
        mean: (k,) means over the second half, which this selection does not bias.
        error: (k,) their standard errors.
        upper: (k,) upper ends at `CONFIDENCE` for all k together, from all replicas.
    """

    replicas: int
    first: Array
    mean: Array
    error: Array
    upper: Array

    def among(self, every: Mask, place: Ints) -> SimulatedPosteriors:
        """Return (all,) estimates, with NaN means and infinite ends outside the mask `every`.

        `place` has the index of the estimate for each entry of the mask.
        """
        numbers = (self.first, self.mean, self.error, self.upper)
        whole = [np.full(len(every), missing) for missing in (-np.inf, np.nan, np.nan, np.inf)]
        for here, known in zip(whole, numbers, strict=True):
            here[every] = known[place]
        return SimulatedPosteriors(self.replicas, *whole)


def simulate_posteriors(channel: AnatomyChannel, people: Ints, group: Ints, value: Ints) -> SimulatedPosteriors | None:
    """Estimate expected posteriors.

    None if the table is not eligible, or groups are too large or differ in two attributes.

    Args:
        channel: the groups; its description and the number of records determine the random bits.
        people: (groups, values) people with equal quasi-identifiers by sensitive value.
        group: (k,) the requested combinations.
        value: (k,) their values.
    """
    if len(channel.sensitive) > 1:
        return None
    counts = people.sum(axis=0)
    number = replicas_for(counts.tolist(), channel.size, len(group))
    if number is None or not len(group):
        return None
    stream = estimation_stream(channel, int(counts.sum()))
    dealt = simulate_assignments(counts.tolist(), channel.size, number, stream)
    out = SimulatedPosteriors(number, *(np.empty(len(group)) for _ in range(4)))
    shares: Array = people / people.sum(axis=1, keepdims=True)
    for own in np.unique(value).tolist():
        weights = _mate_weights(dealt, people, channel.size, own, stream)
        mine = np.flatnonzero(value == own)
        c = shares[group[mine]]
        _average_posteriors(out, c / c[:, [own]], mine, *weights)
    return out


def replicas_for(counts: list[int], size: int, asked: int) -> int | None:
    """Return the number of replicas; None if it would be too small."""
    if not 1 <= size <= min(largest_eligible(counts), MOST_MEMBERS):
        return None
    sums = size * sum(n > 0 for n in counts) << size
    most = min(MOST_REPLICAS, _SLOTS // replica_group_count(counts, size), _SUMS // sums, _POSTERIORS // max(asked, 1))
    return most if most >= FEWEST_REPLICAS else None


def estimation_stream(channel: AnatomyChannel, records: int) -> Stream:
    """Return the random bits of the estimate: a function of the published description and N."""
    columns: list[Json] = [[c.attribute, list(c.labels)] for c in (*channel.known, *channel.sensitive)]
    seed = canonical({"purpose": "rrpolicy.estimate/1", "columns": columns, "l": channel.size, "records": records})
    return Stream(hashlib.sha256(seed).digest())


def _mate_weights(dealt: AssignmentReplicas, people: Ints, size: int, own: int, stream: Stream) -> tuple[Array, Array]:
    """Return the weight of each other value of a person's group in each replica, and the factor of each replica.

    The person has the value `own`. Weights (replicas, values) are perm(M without the person and v)/perm(M without the
    person and u), 0 for a value that the group lacks. Factors (replicas,) are 1 if no phase was shortened.
    """
    held, factor = group_mates(dealt, people.sum(axis=0), size, own, stream)
    shares = people / people.sum(axis=1, keepdims=True)
    by_value = np.cumsum(people, axis=0)
    out = np.zeros(held.shape)
    many = held.sum(axis=1)
    for members in np.unique(many).tolist():
        rows = np.flatnonzero(many == members)
        others = np.nonzero(held[rows])[1].reshape(len(rows), members)
        draws = stream.below(by_value[-1][others].reshape(-1)).reshape(others.shape)
        who = np.empty_like(others)
        for other in np.unique(others):
            here = others == other
            who[here] = np.searchsorted(by_value[:, other], draws[here], side="right")
        columns = np.concatenate((np.full((len(rows), 1), own), others), axis=1)
        perm = permanent_weights(shares[who[:, :, None], columns[:, None, :]])
        out[rows[:, None], others] = perm[:, 1:] / perm[:, :1]
    return out, factor


def group_mates(dealt: AssignmentReplicas, counts: Ints, size: int, own: int, stream: Stream) -> tuple[Mask, Array]:
    """Return (replicas, values) the other values of a random group with a value, and (replicas,) its factor."""
    places: Array = np.concatenate((dealt.groups(own), dealt.residues[None, :, own]))
    total = places.sum(axis=0)
    step = _sample_steps(places, stream)
    late = step == len(dealt.values)  # the last record of a value joins any group that lacks it
    if late.any():
        step[late] = _sample_steps(dealt.groups(own, lacking=True)[:, late], stream)
    rows = np.arange(len(total))
    held = np.zeros((len(total), len(counts)), dtype=bool)
    np.put_along_axis(held, dealt.values[step, rows], values=True, axis=1)
    held[:, own] = False
    if dealt.residues.any():
        joins = ~held & (
            _uniform_numbers(stream, held.size).reshape(held.shape)
            < residue_join_probability(dealt, counts.tolist(), size, own)
        )
        joins[held.sum(axis=1) + joins.sum(axis=1) >= MOST_MEMBERS] = False  # as if revealed, which raises it a little
        held |= joins
    return held, total / int(counts[own])


def _sample_steps(weight: Array, stream: Stream) -> Ints:
    """Return (replicas,) a step of each replica, in proportion to (steps, replicas) weights."""
    sums = np.cumsum(weight, axis=0)
    step: Ints = (sums <= _uniform_numbers(stream, weight.shape[1]) * sums[-1]).sum(axis=0)
    return np.minimum(step, len(weight) - 1)


def _uniform_numbers(stream: Stream, number: int) -> Array:
    """Return numbers in [0, 1) of 53 bits."""
    return (stream.words(number) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _average_posteriors(out: SimulatedPosteriors, odds: Array, mine: Ints, weights: Array, factor: Array) -> None:
    """Fill in the estimates of one value.

    Args:
        out: the result to fill in.
        odds: (rows, values) c over the c of the value, of the requested people.
        mine: (rows,) their positions in `out`.
        weights: (replicas, values) of `_mate_weights`.
        factor: (replicas,) likewise.
    """
    half, n = out.replicas // 2, out.replicas
    log = math.log(2 * len(out.first) / (1 - CONFIDENCE))
    most = float(factor.max())
    step = max(1, _CHUNK // n)
    for start in range(0, len(mine), step):
        here = mine[start : start + step]
        posterior = factor / (1 + odds[start : start + step] @ weights.T)
        origin = posterior[:, :1].copy()
        posterior -= origin  # so that equal numbers have no variance
        first, second = posterior[:, :half].sum(axis=1), posterior[:, half:].sum(axis=1)
        mean = (first + second) / n
        variance = np.maximum(np.einsum("ij,ij->i", posterior, posterior) - n * mean**2, 0) / (n - 1)
        out.first[here] = origin[:, 0] + first / half
        out.mean[here] = origin[:, 0] + second / (n - half)
        out.error[here] = np.sqrt(variance / (n - half))
        margin = np.sqrt(2 * variance * log / n) + 7 * most * log / (3 * (n - 1))
        out.upper[here] = np.minimum(origin[:, 0] + mean + margin, 1.0)
