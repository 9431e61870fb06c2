"""What an attacker attains beyond the risk of Guo, Ying and Wu: the numbers that must stand beside it.

None of them bounds another. The risk is the chance of one event (the attacker reconstructs both the person's own
combination and the true value); these say how good his guess of the value is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channel.base import Transition
from rrpolicy.privacy.reconstruction import SLAB, matrix, slabs

if TYPE_CHECKING:
    from rrpolicy.channel.base import Axis
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.counts import Array

MOST_CELLS = 2**27
"""Released cells beyond which the worst posterior, a maximum over all of them, is left out."""


@dataclass(frozen=True, slots=True)
class Homogeneity:
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


def homogeneity(evidence: Evidence) -> Homogeneity:
    """Return what the groups' histograms give away."""
    single = (evidence.histograms > 0).sum(axis=1) == 1
    return Homogeneity(
        float((evidence.histograms.max(axis=1) / evidence.n).max()),
        int((evidence.histograms == 0).sum()),
        int(single.sum()),
        int(evidence.n[single].sum()),
    )


def success(evidence: Evidence, most: int = SLAB) -> Array:
    """Return (groups, values) the chance that the attacker reads a person's true value u, where c_u > 0.

    He draws a released record by its posterior weight for the group alpha and reads its sensitive value back:
    c_u sum_v P_S[v, u] m_alpha[v] / (P_S c)_v with m_alpha = P_S sum_gamma pi[gamma, .] M[gamma, alpha] and
    M[gamma, alpha] = sum_beta P_QI[beta, gamma] P_QI[beta, alpha] / lambda[beta]. O(m D |S|).

    Args:
        evidence: the groups, with a sensitive axis.
        most: cells of the largest array.
    """
    axis = cast("Transition", evidence.sensitive)
    joint = evidence.histograms / evidence.records
    drawn = np.zeros_like(joint)
    for slab in slabs(evidence, joint.shape[1], most):
        released = slab.forward(slab.scatter(joint[slab.groups] * slab.reach[:, None]))
        mass = released.sum(axis=-1, keepdims=True)
        np.divide(released, mass, out=released, where=mass > 0)
        drawn[slab.groups] += slab.reach[:, None] * slab.at_groups(slab.back(released))
    c = evidence.histograms / evidence.n[:, None]
    expected = axis.forward(c, 1)
    ratio = np.divide(axis.forward(drawn, 1), expected, out=np.zeros_like(expected), where=expected > 0)
    return c * axis.back(ratio, 1)


def worst_posterior(evidence: Evidence, most: int = SLAB) -> float | None:
    """Return max Pr(own cell | released cell) over all cells that occur; None if the released domain is too large.

    Args:
        evidence: the groups, with a sensitive axis.
        most: cells of the largest array.
    """
    axis = cast("Axis", evidence.sensitive)
    sizes = [cast("Transition", a).released_size for a in (*evidence.axes, axis)]
    if int(np.prod(sizes, dtype=object)) * (int(evidence.context[-1]) + 1) > MOST_CELLS:
        return None
    joint = evidence.histograms / evidence.records
    last = matrix(axis)
    worst = 0.0
    for slab in slabs(evidence, joint.shape[1], most):
        weights = joint[slab.groups] * slab.reach[:, None]
        mass = slab.forward(slab.scatter(weights)) @ last.T
        peak = np.zeros((int(np.prod(slab.shape)), joint.shape[1]))
        np.maximum.at(peak, slab.position, weights)
        peak = peak.reshape(*slab.shape, joint.shape[1])
        for number, inner in enumerate(slab.inside):
            peak = _max_product(matrix(cast("Axis", inner)), peak, number + 1)
        peak = _max_product(last, peak, peak.ndim - 1)
        np.divide(peak, mass, out=peak, where=mass > 0)
        worst = max(worst, float(peak.max()))
    return min(worst, 1.0)


def _max_product(probabilities: Array, x: Array, axis: int) -> Array:
    """Return max_v P[u, v] x[v] along an axis, u taking v's place."""
    moved = np.moveaxis(x, axis, 0)
    released = np.zeros((len(probabilities), *moved.shape[1:]))
    for u, v in itertools.product(range(len(probabilities)), range(probabilities.shape[1])):
        if probabilities[u, v] > 0:
            np.maximum(released[u], probabilities[u, v] * moved[v], out=released[u])
    return np.moveaxis(released, 0, axis)
