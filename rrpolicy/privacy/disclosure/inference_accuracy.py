"""The attacker's success at reading a value, beyond the risk of Guo, Ying and Wu: measures related to it.

None of them bounds another. The risk is the chance of one event (the attacker reconstructs both the person's own
combination and the true value); these measure how good a guess of the value is.

Where released values cannot be listed, they are bounds, equal where exact: expectations over the released values of a
record, which the axis determines or bounds. R_S(u | alpha) is the expected posterior of the own value. Of attributes
that are released together, one is read out of all: values of the others are summed over.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Posterior, Readable, Transition
from rrpolicy.finding import Basis, Companion, Measure, Risk
from rrpolicy.privacy.disclosure.reconstruction import axis_width, dense_matrix, released_slabs

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.evidence import Evidence

MOST_CELLS = 2**27
"""Released cells beyond which the worst posterior, a maximum over all of them, is left out."""
POSTERIOR = (
    "highest probability of a record's own value, given its set, for an attacker who knows the frequency of each "
    "value with these quasi-identifiers: c_u / (c_u + the l-1 smallest other c). An attacker who compares "
    "the sets of a whole group with its exact counts can be surer, and certain if no more sets "
    "contain a value than people have it"
)
CERTAIN = (
    "people whose value may be certain for an attacker who knows which record is theirs and how many people of their "
    "group have each value in the original table: l-1 values occur nowhere in the group, and the set may contain these"
)


class GroupHomogeneity(Struct, frozen=True):
    """The disclosure by the joint table itself, however it is randomised.

    `group_inference`: the largest share of one value in a group, which an attacker who knows the joint table guesses.
    `excluded`: number of (group, value) pairs that do not occur. `groups` and `people`: numbers of groups with a
    single value, and of people in them.
    """

    group_inference: float
    excluded: int
    groups: int
    people: int


def group_homogeneity(evidence: Evidence) -> GroupHomogeneity:
    """Return the disclosure by the groups' histograms."""
    single = (evidence.histograms > 0).sum(axis=1) == 1
    return GroupHomogeneity(
        float((evidence.histograms.max(axis=1) / evidence.n).max(initial=0.0)),
        int((evidence.histograms == 0).sum()),
        int(single.sum()),
        int(evidence.n[single].sum()),
    )


def inference_accuracy(evidence: Evidence, most: int | None = None) -> Array:
    """Return (groups, values) the chance that the attacker reads a person's true value u, where c_u > 0.

    He draws a released record by its posterior weight for the group alpha and reads its sensitive value back:
    c_u sum_v P_S[v, u] m_alpha[v] / (P_S c)_v with m_alpha = P_S sum_gamma pi[gamma, .] M[gamma, alpha] and
    M[gamma, alpha] = sum_beta P_QI[beta, gamma] P_QI[beta, alpha] / lambda[beta]. O(m D |S|).
    `most`: cells of the largest array.
    """
    return inference_accuracy_bounds(evidence, most)[1]


def inference_accuracy_bounds(evidence: Evidence, most: int | None = None) -> tuple[Array, Array]:
    """Return (groups, values) lower and upper bounds of `value read correctly`, the same where it is exact."""
    joint = evidence.joint / evidence.records
    c = evidence.joint / evidence.n[:, None]
    drawn = np.zeros_like(joint)
    drawn[evidence.mixed :] = c[evidence.mixed :]
    for slab in released_slabs(evidence, joint.shape[1], most):
        released = slab.forward(slab.scatter(joint))
        mass = released.sum(axis=-1, keepdims=True)
        np.divide(released, mass, out=released, where=mass > 0)
        drawn[slab.groups] += slab.at_groups(slab.back(released))
    axis = evidence.sensitive
    if not isinstance(axis, Transition):
        return read_value_bounds(evidence, drawn)
    expected = axis.forward(c, 1)
    ratio = np.divide(axis.forward(drawn, 1), expected, out=np.zeros_like(expected), where=expected > 0)
    read = np.minimum(evidence.by_value(c * axis.back(ratio, 1)), 1.0)
    return read, read


def worst_posterior(evidence: Evidence, most: int | None = None) -> float | None:
    """Return max Pr(own cell | released cell) over all cells that occur; None if the released domain is too large.

    None also for a sensitive attribute whose released values cannot be listed, unless its groups never mix, and for one
    that is released together with others. `most`: cells of the largest array.
    """
    axis = evidence.sensitive
    if not isinstance(axis, Transition):
        return worst_cell_posterior(evidence)
    if evidence.part is not None:
        return None
    width = max(axis_width(axis), evidence.histograms.shape[1])
    if math.prod(axis_width(a) for a in evidence.axes) * width * evidence.contexts > MOST_CELLS:
        return None
    joint = evidence.histograms / evidence.records
    last = dense_matrix(axis)
    worst = _largest_cell_share(
        max_product(axis, evidence.shares[evidence.mixed :], 1), evidence.shares[evidence.mixed :] @ last.T
    )
    for slab in released_slabs(evidence, width, most):
        mass = slab.forward(slab.scatter(joint)) @ last.T
        peak = np.zeros((math.prod(slab.shape), joint.shape[1]))
        own = joint[slab.groups] if slab.reach is None else joint[slab.groups] * slab.reach[:, None]
        np.maximum.at(peak, slab.position, own)
        peak = peak.reshape(*slab.shape, joint.shape[1])
        for number, inner in enumerate(slab.inside):
            peak = max_product(cast("Axis", inner), peak, number + 1)
        worst = max(worst, _largest_cell_share(max_product(axis, peak, peak.ndim - 1), mass))
    return min(worst, 1.0)


def _largest_cell_share(peak: Array, mass: Array) -> float:
    """Return the largest share that one cell has of a released cell's mass."""
    return float(np.divide(peak, mass, out=np.zeros_like(peak), where=mass > 0).max(initial=0.0))


def max_product(axis: Axis, x: Array, along: int) -> Array:
    """Return max_v P[u, v] x[v] along an axis of an array, u taking v's place."""
    moved = np.moveaxis(x, along, 0)
    if isinstance(axis, Retention) and all(b.keep >= b.move for b in axis.blocks):
        released = np.empty_like(moved)
        for block in axis.blocks:
            members = list(block.members)
            part = moved[members]
            released[members] = np.maximum(float(block.keep) * part, float(block.move) * part.max(axis=0))
        return np.moveaxis(released, 0, along)
    probabilities = dense_matrix(axis)
    released = np.zeros((len(probabilities), *moved.shape[1:]))
    for u, v in zip(*np.nonzero(probabilities), strict=True):
        released[u] = np.maximum(released[u], probabilities[u, v] * moved[v])
    return np.moveaxis(released, 0, along)


def own_value_reconstruction(evidence: Evidence) -> tuple[Array, Array]:
    """Return (groups, values) R_S(u | alpha): 0 where a value is absent."""
    axis = cast("Posterior", evidence.sensitive)
    c = evidence.joint / evidence.n[:, None]
    if evidence.part is None:
        return axis.expected_posterior(c)
    whole = cast("Readable", axis)
    low, high = np.zeros(evidence.histograms.shape), np.zeros(evidence.histograms.shape)
    for value in range(evidence.histograms.shape[1]):
        here = np.flatnonzero(evidence.histograms[:, value])
        mine = np.where(evidence.part == value, c[here], 0.0)
        for out, ratio in zip((low, high), whole.expected_ratio(mine, c[here]), strict=True):
            read = mine * np.where(mine > 0, ratio, 0.0)
            out[here, value] = read.sum(axis=1) / mine.sum(axis=1)
    return low, np.minimum(high, 1.0)


def read_value_bounds(evidence: Evidence, drawn: Array) -> tuple[Array, Array]:
    """Return (groups, values) bounds of the chance that the true value is read, see `inference_accuracy`.

    `drawn`: (groups, original size) shares of the originals of the records that the attacker on each group draws.
    """
    axis, mixed = cast("Posterior", evidence.sensitive), evidence.mixed
    c = evidence.joint / evidence.n[:, None]
    low, high = c.copy(), c.copy()  # of a group that never mixes only its own records are drawn
    if mixed:
        own, from_anywhere = c[:mixed], drawn[:mixed]
        low[:mixed], high[:mixed] = _bounds_from_posterior(axis, from_anywhere, own)
        if isinstance(axis, Readable):
            lower, upper = axis.expected_ratio(from_anywhere, own)
            occurs = own > 0
            low[:mixed] = np.maximum(low[:mixed], own * lower)
            high[:mixed] = np.minimum(high[:mixed], np.where(occurs, own, 0.0) * np.where(occurs, upper, 0.0))
    return np.minimum(evidence.by_value(low), 1.0), np.minimum(evidence.by_value(high), 1.0)


def _bounds_from_posterior(axis: Posterior, drawn: Array, c: Array) -> tuple[Array, Array]:
    """Bound the chance of a true reading by the expected posteriors alone.

    With T[u, w] the chance to read u from a record with w, T[u, w] c_w = T[w, u] c_u: all w other than u have c_u (1
    - T[u, u]) of it between them, and a record drawn with share x_w has at most max x_w/c_w of this. A value that
    does not occur in the group may always be read as u.
    """
    lower, upper = axis.expected_posterior(c)
    rate = np.divide(drawn, c, out=np.zeros_like(c), where=c > 0)
    ordered = np.sort(rate, axis=1)
    most = np.where(rate == ordered[:, -1:], ordered[:, -2:-1] if rate.shape[1] > 1 else 0.0, ordered[:, -1:])
    stray = np.where(c > 0, 0.0, drawn).sum(axis=1, keepdims=True)
    from_own = drawn - most * c
    high = from_own * np.where(from_own > 0, upper, lower) + most * c + stray
    return drawn * lower, np.where(c > 0, high, 0.0)


def worst_cell_posterior(evidence: Evidence) -> float | None:
    """Return max Pr(own cell | released cell); None if other groups could have released it, or the axis has none."""
    axis = evidence.sensitive
    if evidence.mixed or evidence.part is not None or not isinstance(axis, Readable):
        return None
    return float(axis.worst_posterior(evidence.shares).max(initial=0.0))


def largest_posteriors(evidence: Evidence, group: Ints, cell: Ints, of: str) -> tuple[Array, tuple[Companion, ...]]:
    """Return (k,) the largest posterior that a set can give to people's own values, and the measures of it.

    People are in (k,) groups and original cells of the sensitive axis, each of which occurs in its group.
    """
    axis = cast("Readable", evidence.sensitive)
    worst = axis.worst_posterior(evidence.joint)[group, cell]
    most = Measure(float(worst.max(initial=0.0)))
    certain = Measure(float(evidence.joint[group, cell][worst >= 1].sum()))
    return worst, (
        Companion("largest posterior", most, Basis.ORIGINAL, POSTERIOR, of, chance_of=Risk.READING),
        Companion("people with a posterior of 1", certain, Basis.ORIGINAL, CERTAIN, of, certain_of=Risk.READING),
    )
