"""A limit of the best guess as an optimiser sees it: the largest retention probability of the guessed attribute.

With one retention probability rho in all blocks B of d_B values,

    V(rho) = sum over v of max(rho c_v + (1 - rho) c_v/d_B, (1 - rho)/d_B max over B of c),

a maximum of linear functions: convex, piecewise linear and, by data processing, never falling. No other retention
probability matters. So a limit is a cap on rho, and Newton's method from rho = 1 comes down to it in as many steps as
there are pieces at most. The cap is linear in rho; the kinks of V are no concern of the search.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.disclosure.constraint import RetentionVariables
from rrpolicy.privacy.disclosure.minimum_risk import attainable_limit, fully_randomised, with_common_retention
from rrpolicy.privacy.limits.best_guess import BestGuesses, KnowledgeGroups, protected_attribute_guesses
from rrpolicy.privacy.model import MinimumRisk, Smooth

if TYPE_CHECKING:
    from collections.abc import Collection

    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Array
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.source.protocol import Original

STEPS = 1000
"""Far more than any V has pieces between two of its roots."""
WITHIN = 1e-13


@frozen
class RetentionCap:
    """What a limit allows the retention probability of one attribute.

    Attributes:
        axis: of the attribute; None if its probability is none to look for.
        largest: the cap; None if the limit is kept however much is retained; 0 if it is not however little.
        least: number/limit - 1 where nothing is retained.
        own: the same of the axis as it is.
    """

    axis: Retention | None
    largest: float | None
    least: float
    own: float

    def value(self, keep: Array, variables: RetentionVariables) -> float:
        """Return rho/cap - 1; of an axis without one retention probability, the number over its limit, less 1."""
        if self.axis is None or self._stays(keep, variables):
            return self.own
        if not self.largest:
            return -1.0 if self.largest is None else max(self.least, WITHIN)
        return variables.retention(keep, self.axis) / self.largest - 1

    def slope(self, keep: Array, variables: RetentionVariables) -> Array:
        """Return (variables,) derivatives by the keep probabilities."""
        if self.axis is None or not self.largest or self._stays(keep, variables):
            return np.zeros(len(variables.axes))
        row: Array = variables.place([self.axis], [np.full(1, 1 / self.largest)], 1)[0]
        return row

    def _stays(self, keep: Array, variables: RetentionVariables) -> bool:
        """Whether the axis is given, with blocks of several retention probabilities."""
        assert self.axis is not None
        several = len({block.retention for block in self.axis.blocks if block.size > 1}) > 1
        return several and variables.stays(keep, self.axis)


def guess_constraint(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Smooth:
    """Return the constraints of an entry, one an attribute.

    Args:
        requirement: the entry.
        channel: tells which axes are variable; their own probabilities do not matter.
        original: the table.
    """
    variables = RetentionVariables(channel)
    found = [
        (told, held)
        for told, _, held in protected_attribute_guesses(requirement, channel, original)
        if len(held.people)
    ]
    caps = [_retention_cap(told, held) for told, held in found]
    none = np.zeros((0, len(variables.axes)))
    return Smooth(
        lambda keep: np.array([cap.value(keep, variables) for cap in caps]),
        lambda keep: np.array([cap.slope(keep, variables) for cap in caps]) if caps else none,
        requirement.model,
        any(told.seen for told, _ in found),
    )


def guess_minimum(
    requirement: Requirement[AttributeDisclosureOptions],
    channel: Product,
    original: Original,
    free: Collection[str] | None = None,
) -> tuple[MinimumRisk, ...]:
    """Return the floor of an entry, one for each sensitive attribute; see `minimum_risk.attribute_minimum`.

    It is attained: guessing unseen is right as often as the largest share, and so is a guess from what says nothing.
    """
    low = with_common_retention(channel, Fraction(0), free)
    every = fully_randomised(channel, original)
    pairs = zip(
        protected_attribute_guesses(requirement, low, original),
        protected_attribute_guesses(requirement, every, original),
        strict=True,
    )
    return tuple(_guess_floor(told, held, whole) for (told, _, held), (_, _, whole) in pairs if len(held.group))


def _guess_floor(told: KnowledgeGroups, held: BestGuesses, whole: BestGuesses) -> MinimumRisk:
    over = held.over()
    at = held.decisive(over)
    achieved = float(held.number[at])
    alike = over & (held.most == held.people)
    hints = ["coarsen a domain: fewer categories or wider bins make larger groups, and more even ones"]
    if told.beside:
        names = ", ".join(f"'{name}'" for name in told.beside)
        hints.insert(0, f"leave out of the release what stands in the same record and counts as read: {names}")
    if achieved < 1:
        hints.append(f"raise the threshold to {achieved:.6g}: `threshold = {attainable_limit(achieved)}`")
    if not held.gain:
        hints.append('limit what the release adds to the largest share in a group: `measure = "gain"`')
    return MinimumRisk(
        of=held.quantity,
        achieved=achieved,
        limit=held.limits[0],
        groups=len(held.group),
        groups_over=int(over.sum()),
        people_over=int(held.people[over].sum()),
        groups_alike=int(alike.sum()),
        people_alike=int(held.people[alike].sum()),
        everything=float(whole.number.max()),
        hints=tuple(hints),
    )


def _retention_cap(told: KnowledgeGroups, held: BestGuesses) -> RetentionCap:
    axis = told.evidence.sensitive
    own = float(held.ratio.max()) - 1
    if not isinstance(axis, Retention):
        return RetentionCap(None, None, own, own)
    guessed = _GuessExcess(told, held, axis)
    limit = float(held.limits[0])
    least = guessed.at(0.0)[0] / limit
    rho = 1.0
    for _ in range(STEPS):
        over, slope = guessed.at(rho)
        if over <= WITHIN:
            break
        if over >= slope * rho:
            return RetentionCap(axis, 0.0, least, own)
        rho -= over / slope
    return RetentionCap(axis, None if rho == 1 else rho, least, own)


class _GuessExcess:
    """How far the largest best guess is over its limit, as a function of the retention probability."""

    def __init__(self, told: KnowledgeGroups, held: BestGuesses, axis: Retention) -> None:
        evidence = told.evidence
        asked = np.isin(told.group, told.group[held.group])
        _, self.group = np.unique(told.group[asked], return_inverse=True)
        people = told.people.sum(axis=1)[told.group[asked]]
        self.c = evidence.histograms[asked] / people[:, None]  # parts weigh by their people
        self.even, self.most = np.empty_like(self.c), np.empty_like(self.c)
        for block in axis.blocks:
            members = list(block.members)
            self.even[:, members] = self.c[:, members] / block.size
            self.most[:, members] = self.c[:, members].max(axis=1, keepdims=True) / block.size
        order = np.argsort(told.group[held.group])
        self.limit = (held.share * held.gain + float(held.limits[0]))[order]

    def at(self, rho: float) -> tuple[float, float]:
        """Return V less its limit where that is largest, and the slope of a piece of V there."""
        kept, unseen = rho * self.c + (1 - rho) * self.even, (1 - rho) * self.most
        right = np.maximum(kept, unseen)
        over = np.bincount(self.group, weights=right.sum(axis=1)) - self.limit
        at = int(np.argmax(over))
        rows = self.group == at
        slope = np.where(kept[rows] >= unseen[rows], self.c[rows] - self.even[rows], -self.most[rows])
        return float(over[at]), float(slope.sum())
