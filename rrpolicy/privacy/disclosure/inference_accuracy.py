"""What an attacker attains beyond the risk of Guo, Ying and Wu: the numbers that must stand beside it.

None of them bounds another. The risk is the chance of one event (the attacker reconstructs both the person's own
combination and the true value); these say how good his guess of the value is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Transition
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.disclosure.reconstruction import axis_width, dense_matrix, released_slabs
from rrpolicy.privacy.disclosure.unlisted_values import read_value_bounds, worst_cell_posterior

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array
    from rrpolicy.privacy.evidence import Evidence

MOST_CELLS = 2**27
"""Released cells beyond which the worst posterior, a maximum over all of them, is left out."""


@frozen
class GroupHomogeneity:
    """What the joint table itself gives away, whatever is randomised.

    Attributes:
        group_inference: the largest share of one value in a group: who knows the joint table guesses the mode.
        excluded: (group, value) pairs that do not occur.
        groups: groups with a single value.
        people: people in them.
    """

    group_inference: float
    excluded: int
    groups: int
    people: int


def group_homogeneity(evidence: Evidence) -> GroupHomogeneity:
    """Return what the groups' histograms give away."""
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

    Args:
        evidence: the groups, with a sensitive axis.
        most: cells of the largest array.
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

    Of a sensitive attribute whose released values cannot be listed: None unless its groups are told apart; of one that
    is released together with others: None.

    Args:
        evidence: the groups, with a sensitive axis.
        most: cells of the largest array.
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
