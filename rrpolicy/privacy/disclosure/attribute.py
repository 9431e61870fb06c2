"""Attribute disclosure on a product channel: all groups at once, with the measures that a risk leaves out.

    success(alpha, u) = c_u sum over v of P_S[v, u] m(v)/(P_S c)(v)

as in `rrpolicy.privacy.disclosure.inference_accuracy`, is the chance that the value read off the record drawn is the
true one. For unmodified quasi-identifiers it is c_u, however the sensitive attribute is randomised. It is not
monotone in the retention: randomising quasi-identifiers moves it from c_u towards the share of u among all records
that may be drawn, randomising the sensitive attribute back to c_u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.base import Readable, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.finding import (
    MAXIMUM_POSTERIOR,
    READ_CORRECTLY,
    VALUE,
    Basis,
    Companion,
    Measure,
    Risk,
    Standing,
)
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.exact_risks import (
    NEAR_LIMIT,
    ExactReconstruction,
    ExactSensitive,
    exact_inference_accuracy,
    snap_to_limit,
)
from rrpolicy.privacy.disclosure.inference_accuracy import (
    group_homogeneity,
    inference_accuracy_bounds,
    largest_posteriors,
    own_value_reconstruction,
    worst_posterior,
)
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction, sensitive_reconstruction
from rrpolicy.privacy.disclosure.risk import DisclosureRisk, subgroup_mask
from rrpolicy.privacy.evidence import gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import Original

CHUNK = 2**22
"""Entries of (group, value) arrays that are computed at a time."""
MOST_VALUES = 60
"""Sensitive values beyond which no rows by value are shown."""
OTHERS_KNOWN = " (the other sensitive values known)"
RISK = "largest probability that the attacker draws a record with the person's own combination and reads its true value"
SUCCESS = (
    "largest probability that the value read is the true one, from any drawn record; it includes the risk, and a "
    "stricter limit of the risk may raise it"
    ""
)
GROUP_INFERENCE = (
    "the largest share of a value in a group, which is the success rate of guessing from the table; analysts want "
    "to learn it, and no useful release lowers it"
)
POSTERIOR = "the largest chance that the record behind a released one is the one that it points to most"
EXCLUDED = "group-value combinations with zero count: an attacker who knows the table excludes them with certainty"
HOMOGENEOUS = "groups in which everybody has the same value: randomising that value alone does not protect them"
HOMOGENEOUS_PEOPLE = "people whose value follows from their group"
CHANCES = frozenset({SUCCESS, GROUP_INFERENCE, POSTERIOR})
"""Those that are a chance that an attacker reads a person's value."""


@dataclass(frozen=True)
class AttributeRisks(DisclosureRisk):
    """The risk, or the chance of a correct reading, as `kind` limits it, of every covered (group, value)."""

    kind: LimitKind

    @cached_property
    def own(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of R_S, equal if it is exact."""
        evidence = self.evidence
        if not isinstance(evidence.sensitive, Transition):
            low, high = own_value_reconstruction(evidence)
            return low[self.group, self.value], high[self.group, self.value]
        own = np.empty(len(self.group))
        rows = max(1, CHUNK // evidence.joint.shape[1])
        for start in range(0, len(evidence.n), rows):
            first, last = np.searchsorted(self.group, [start, start + rows])
            c = evidence.joint[start : start + rows] / evidence.n[start : start + rows, None]
            read = sensitive_reconstruction(c, evidence.sensitive, evidence.part)
            own[first:last] = read[self.group[first:last] - start, self.value[first:last]]
        return own, own

    @cached_property
    def risk(self) -> Array:
        """Return (k,) c_u R_QI R_S, or an upper bound."""
        risk: Array = np.minimum(
            self.share * self.own[1] * quasi_identifier_reconstruction(self.evidence)[self.group], 1.0
        )
        return risk

    @cached_property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of the chance that the true value is read."""
        low, high = inference_accuracy_bounds(self.evidence)
        return low[self.group, self.value], high[self.group, self.value]

    @property
    def worst(self) -> float | None:
        """Return max Pr(own cell | released cell) over cells that occur; None if not computed."""
        return worst_posterior(self.evidence)

    @property
    def reading(self) -> bool:
        """Return whether the chance of a correct reading is limited."""
        return self.kind is LimitKind.CORRECT_READING

    @property
    def number(self) -> Array:
        """Return (k,) the risks, or the chances of a correct reading."""
        return self.success[1] if self.reading else self.risk

    @property
    def quantity(self) -> str:
        """Return the name of the numbers."""
        return f"value of {self.of} read correctly" if self.reading else f"risk of attribute disclosure of {self.of}"

    def standing(self, at: int) -> Standing:
        """Return whether one number is exact."""
        return self.measure(self.success if self.reading else self.own, at).standing

    def measured(self, at: int) -> Measure:
        """Return one number with its standing."""
        return super().measured(at) if self.reading else self.risk_measure(at)

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function for the limited number."""
        return self.reads_exactly() if self.reading else self.risk_exactly()

    def risk_exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function as of `exactly`, for the risk."""
        known, own = ExactReconstruction(self.evidence), ExactSensitive(self.evidence)

        def risk(i: int) -> Fraction | None:
            group, value = int(self.group[i]), int(self.value[i])
            linked, read = known.of(group), own.of(group, value)
            return None if linked is None or read is None else linked.high * read

        return risk

    def reads_exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function like `exactly`, for the chance of a correct reading."""
        known = ExactReconstruction(self.evidence)
        return lambda i: exact_inference_accuracy(known, int(self.group[i]), int(self.value[i]))

    def measure(self, bounds: tuple[Array, Array], at: int) -> Measure:
        """Return one of the upper (k,) bounds with its standing."""
        low, high = (float(x[at]) for x in bounds)
        exact = high <= low * (1 + NEAR_LIMIT) and not self.evidence.revealed
        return Measure(high, Standing.EXACT if exact else Standing.UPPER_BOUND)

    def risk_measure(self, at: int) -> Measure:
        """Return one risk with its standing; the limit itself if the risk equals it."""
        limit, value = self.limits[int(self.value[at])], float(self.risk[at])
        risk = snap_to_limit(value, limit, lambda: self.risk_exactly()(at))
        return Measure(risk, self.measure(self.own, at).standing)

    def beside(self) -> tuple[Companion, ...]:
        """Return the measures of the attribute, then of each value."""
        known, worst, hit = group_homogeneity(self.evidence), self.worst, self.success
        bound = Standing.UPPER_BOUND if self.evidence.revealed else Standing.EXACT
        whole: list[tuple[str, Measure | None, str]] = [
            ("risk", self.risk_measure(int(np.argmax(self.risk))), RISK),
            (READ_CORRECTLY, self.measure(hit, int(np.argmax(hit[1]))), SUCCESS),
            ("largest within-group share", Measure(known.group_inference), GROUP_INFERENCE),
            (MAXIMUM_POSTERIOR, None if worst is None else Measure(worst, bound), POSTERIOR),
            ("combinations with zero count", Measure(known.excluded), EXCLUDED),
            ("homogeneous groups", Measure(known.groups), HOMOGENEOUS),
            ("people in homogeneous groups", Measure(known.people), HOMOGENEOUS_PEOPLE),
        ]
        companions = [
            Companion(
                *(name, m, Basis.ORIGINAL, text, self.of),
                chance_of=Risk.READING if text in CHANCES else None,
                certain_of=Risk.READING if text is HOMOGENEOUS_PEOPLE else None,
            )
            for name, m, text in whole
            if m is not None
        ]
        companions += self._set_measures()
        for code in np.unique(self.value) if len(self.labels) <= MOST_VALUES else ():
            here = np.flatnonzero(self.value == code)
            of = f"{self.of}{VALUE}{self.labels[code]}"
            numbers = (
                ("risk", self.risk_measure(int(here[np.argmax(self.risk[here])])), RISK),
                (READ_CORRECTLY, self.measure(hit, int(here[np.argmax(hit[1][here])])), SUCCESS),
                ("largest within-group share", Measure(float(self.share[here].max())), GROUP_INFERENCE),
            )
            companions += [Companion(name, m, Basis.ORIGINAL, text, of) for name, m, text in numbers]
        return tuple(companions)

    def _set_measures(self) -> tuple[Companion, ...]:
        """Return how much a released set can reveal of its record's value; nothing for other axes."""
        evidence, axis = self.evidence, self.evidence.sensitive
        if isinstance(axis, Transition) or not isinstance(axis, Readable):
            return ()
        if evidence.part is None:
            return largest_posteriors(evidence, self.group, self.value, self.of)[1]
        of = " x ".join(axis.attributes) + (OTHERS_KNOWN if self.of.endswith(OTHERS_KNOWN) else "")
        mine = np.zeros(evidence.histograms.shape, dtype=bool)
        mine[self.group, self.value] = True
        group, cell = np.nonzero((evidence.joint > 0) & mine[:, evidence.part])
        return largest_posteriors(evidence, group, cell, of)[1]


def attribute_risks(
    requirement: Requirement, channel: Product, original: Original, sensitive: str, *, others_known: bool = False
) -> AttributeRisks:
    """Return every number of one sensitive attribute; `others_known`: the attacker knows the other sensitive ones."""
    known = split_axes(channel, original.policy, sensitive, known_sensitive=others_known)
    own = known.sensitive.attributes if known.sensitive is not None else ()
    sizes = [len(original.policy.attributes[name].domain or ()) for name in own]
    evidence = gather_evidence(original, known).of(sensitive, sizes)
    labels = original.policy.attributes[sensitive].domain or ()
    group, value = np.nonzero(subgroup_mask(evidence, requirement, sensitive, labels))
    people = evidence.histograms[group, value]
    share = people / evidence.n[group]
    of = sensitive + (OTHERS_KNOWN if others_known else "")
    limits = tuple(requirement.options.limit_of(label) for label in labels)
    return AttributeRisks(of, evidence, labels, group, value, people, share, limits, requirement.options.measure)


def attackers(requirement: Requirement, original: Original) -> Iterator[tuple[str, bool]]:
    """Yield each protected attribute, and whether the attacker knows the other sensitive ones."""
    others = len(original.policy.with_role(Role.SENSITIVE)) > 1
    for name in requirement.protects(original.policy):
        yield name, False
        if requirement.options.known_sensitive and others:
            yield name, True


def protected_attribute_risks(
    requirement: Requirement, channel: Product, original: Original
) -> Iterator[AttributeRisks]:
    """Yield the numbers of each protected attribute and attacker."""
    for name, others_known in attackers(requirement, original):
        yield attribute_risks(requirement, channel, original, name, others_known=others_known)
