"""What is read back of a sensitive attribute whose released values cannot be listed: bounds, the same where exact.

The formulas are those of `rrpolicy.privacy.disclosure.reconstruction` and
`rrpolicy.privacy.disclosure.inference_accuracy`, written as expectations over what a record releases, which the axis
tells or bounds. R_S(u | alpha) is the expected posterior of the own value. Of attributes that are released together,
one is read out of what is read of all: values of the others are summed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channels.base import Posterior, Readable
from rrpolicy.finding import Basis, Companion, Measure, Risk

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.evidence import Evidence

POSTERIOR = (
    "how sure of a record's own value its set can make somebody who knows how often each value goes with these "
    "quasi-identifiers: c_u / (c_u + the l-1 smallest other c); who compares the sets of a whole group with its exact "
    "counts can be surer, and certain where no more sets hold a value than people have it"
)
CERTAIN = (
    "people whose value may be certain for an attacker who knows which record is theirs and how many people of their "
    "group have each value in the original table: l-1 values occur nowhere in the group, and the set may hold these"
)


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
    """Return (groups, values) the chance that the true value is read.

    See `rrpolicy.privacy.disclosure.inference_accuracy.inference_accuracy`.

    Args:
        evidence: the groups.
        drawn: (groups, original size) shares of the originals of the records that the attacker on each group draws.
    """
    axis, mixed = cast("Posterior", evidence.sensitive), evidence.mixed
    c = evidence.joint / evidence.n[:, None]
    low, high = c.copy(), c.copy()  # of a group that is told apart only its own records are drawn
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
    """Bound what is read by the expected posteriors alone.

    With T[u, w] the chance to read u from a record with w, T[u, w] c_w = T[w, u] c_u: all w other than u have c_u (1 -
    T[u, u]) of it between them, of which a record drawn with share x_w has at most max x_w/c_w; what does not occur in
    the group may always be read as u.
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
    """Return max Pr(own cell | released cell); None if other groups could have released it, or the axis does not tell.

    Args:
        evidence: the groups.
    """
    axis = evidence.sensitive
    if evidence.mixed or evidence.part is not None or not isinstance(axis, Readable):
        return None
    return float(axis.worst_posterior(evidence.shares).max(initial=0.0))


def largest_posteriors(evidence: Evidence, group: Ints, cell: Ints, of: str) -> tuple[Array, tuple[Companion, ...]]:
    """Return (k,) the largest posterior that a set can leave of some people's own values, and what is said of it.

    Args:
        evidence: the groups, with a sensitive axis of sets.
        group: (k,) their groups.
        cell: (k,) what the sensitive axis tells apart; it occurs in the group.
        of: the attributes.
    """
    axis = cast("Readable", evidence.sensitive)
    worst = axis.worst_posterior(evidence.joint)[group, cell]
    most = Measure(float(worst.max(initial=0.0)))
    certain = Measure(float(evidence.joint[group, cell][worst >= 1].sum()))
    return worst, (
        Companion("largest posterior", most, Basis.ORIGINAL, POSTERIOR, of, chance_of=Risk.READING),
        Companion("people with a posterior of 1", certain, Basis.ORIGINAL, CERTAIN, of, certain_of=Risk.READING),
    )
