"""Assessing attribute disclosure on a table: all groups at once, then the verdict, in fractions where it is close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.finding import VALUE, Basis, Companion, Finding, Measure, Standing
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy import model
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.privacy.disclosure.exact_risks import (
    NEAR_LIMIT,
    ExactReconstruction,
    ExactSensitive,
    exact_inference_accuracy,
    snap_to_limit,
)
from rrpolicy.privacy.disclosure.inference_accuracy import inference_accuracy_bounds, worst_posterior
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction, sensitive_reconstruction
from rrpolicy.privacy.disclosure.related_measures import OTHERS_KNOWN, attribute_measures
from rrpolicy.privacy.disclosure.risk_profile import highest_risk_groups, risk_histograms
from rrpolicy.privacy.disclosure.unlisted_values import own_value_reconstruction
from rrpolicy.privacy.epsilon.general_bounds import general_bound_measures
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.evidence import Evidence, gather_evidence, split_axes

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.counts import Array, Ints
    from rrpolicy.source.protocol import Original

Mask: TypeAlias = "npt.NDArray[np.bool_]"
OTHER_VALUES = "the others"
CHUNK = 2**22
"""Entries of (group, value) arrays that are computed at a time."""


@frozen(slots=False)
class LimitedNumbers(ABC):
    """What is held against the limits of an entry: a number of every (group, value) that it speaks of.

    Attributes:
        of: the sensitive attribute, in words: whether the others are known.
        evidence: the groups.
        labels: categories of the sensitive attribute.
        group: (k,) group of each.
        value: (k,) which limit each has: its sensitive value's code, where that is told apart.
        people: (k,) people.
        share: (k,) the same of who knows the table alone: c_u.
        limits: (values,) exact limits.
    """

    of: str
    evidence: Evidence
    labels: tuple[object, ...]
    group: Ints
    value: Ints
    people: Ints
    share: Array
    limits: tuple[Fraction, ...]

    @property
    @abstractmethod
    def number(self) -> Array:
        """Return (k,) what is limited, or upper bounds of it."""

    @property
    @abstractmethod
    def quantity(self) -> str:
        """Return what the numbers are, in words."""

    @abstractmethod
    def measured(self, at: int) -> Measure:
        """Return one number with its standing; at its limit exactly, if it is."""

    @abstractmethod
    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a number, or what it is at most, exactly; None where that takes too much."""

    @abstractmethod
    def beside(self) -> tuple[Companion, ...]:
        """Return what the numbers do not say."""

    @property
    def ratio(self) -> Array:
        """Return number / limit."""
        limits: Array = np.array([float(t) for t in self.limits])
        return self.number / limits[self.value]

    def over(self) -> Mask:
        """Return (k,) the mask of what exceeds its limit; what is too near to tell is decided in fractions.

        What fractions cannot decide counts as over.
        """
        ratio = self.ratio
        bounded = np.array([t < 1 for t in self.limits])[self.value]
        over: Mask = bounded & (ratio > 1 - NEAR_LIMIT)
        exactly = self.exactly()
        for i in np.flatnonzero(over & (ratio < 1 + NEAR_LIMIT)):
            number = exactly(int(i))
            if number is not None:
                over[i] = number > self.limits[int(self.value[i])]
        return over

    def decisive(self, over: Mask) -> int:
        """Return which number the finding shows: the one farthest over its limit, or else nearest to it."""
        return int(np.argmax(np.where(over, self.ratio, 0) if over.any() else self.ratio))


@frozen(slots=False)
class AttributeRisks(LimitedNumbers):
    """The risk of every (group, value) that occurs and that an entry speaks of."""

    @cached_property
    def own(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of R_S, the same where it is exact."""
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
        """Return (k,) c_u R_QI R_S, or an upper bound; computed when first asked for."""
        risk: Array = np.minimum(
            self.share * self.own[1] * quasi_identifier_reconstruction(self.evidence)[self.group], 1.0
        )
        return risk

    @property
    def number(self) -> Array:
        """Return (k,) the risks."""
        return self.risk

    @property
    def quantity(self) -> str:
        """Return what the numbers are, in words."""
        return f"risk of attribute disclosure of {self.of}"

    @cached_property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of the chance that the true value is read."""
        low, high = inference_accuracy_bounds(self.evidence)
        return low[self.group, self.value], high[self.group, self.value]

    @property
    def worst(self) -> float | None:
        """Return max Pr(own cell | released cell); None if it is left out."""
        return worst_posterior(self.evidence)

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a risk, or what it is at most, exactly; None where that takes too much."""
        known, own = ExactReconstruction(self.evidence), ExactSensitive(self.evidence)

        def risk(i: int) -> Fraction | None:
            group, value = int(self.group[i]), int(self.value[i])
            linked, read = known.of(group), own.of(group, value)
            return None if linked is None or read is None else linked.high * read

        return risk

    def reads_exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells the chance to read a true value exactly; None where that takes too much."""
        known = ExactReconstruction(self.evidence)
        return lambda i: exact_inference_accuracy(known, int(self.group[i]), int(self.value[i]))

    def measure(self, bounds: tuple[Array, Array], at: int) -> Measure:
        """Return one of some numbers with its standing.

        Args:
            bounds: (k,) lower and upper ones.
            at: which.
        """
        low, high = (float(x[at]) for x in bounds)
        exact = high <= low * (1 + NEAR_LIMIT) and not self.evidence.revealed
        return Measure(high, Standing.EXACT if exact else Standing.UPPER_BOUND)

    def risk_measure(self, at: int) -> Measure:
        """Return one risk with its standing; at its limit exactly, if it is."""
        limit, value = self.limits[int(self.value[at])], float(self.risk[at])
        return replace(self.measure(self.own, at), value=snap_to_limit(value, limit, lambda: self.exactly()(at)))

    def measured(self, at: int) -> Measure:
        """Return one risk with its standing."""
        return self.risk_measure(at)

    def beside(self) -> tuple[Companion, ...]:
        """Return what the risks do not say."""
        return attribute_measures(self)


def subgroup_mask(
    evidence: Evidence, requirement: Requirement, sensitive: str | None, labels: tuple[object, ...]
) -> Mask:
    """Return (groups, values) the mask of what occurs and lies in the entry's subgroup."""
    mask = evidence.histograms > 0
    for name, category in requirement.where.items():
        if name == sensitive:
            mask = mask & np.array([label == category for label in labels])
        else:
            position = evidence.names.index(name)
            mask = mask & (evidence.values[:, position] == list(evidence.labels[position]).index(category))[:, None]
    return mask


def attribute_risks(
    requirement: Requirement, channel: Product, original: Original, sensitive: str, *, others_known: bool = False
) -> AttributeRisks:
    """Return every risk that an entry of `attribute-disclosure` speaks of, of one sensitive attribute.

    Args:
        requirement: the entry.
        channel: what is released.
        original: the table.
        sensitive: the attribute.
        others_known: whether the attacker knows the other sensitive attributes.
    """
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
    return AttributeRisks(of, evidence, labels, group, value, people, share, limits)


def protected_attribute_risks(
    requirement: Requirement, channel: Product, original: Original
) -> Iterator[AttributeRisks]:
    """Yield the risks of each protected attribute: with the quasi-identifiers known, then with all others, if asked."""
    others = len(original.policy.with_role(Role.SENSITIVE)) > 1
    for name in requirement.protects(original.policy):
        for others_known in (False, True) if requirement.options.known_sensitive and others else (False,):
            yield attribute_risks(requirement, channel, original, name, others_known=others_known)


def attribute_verdict(requirement: Requirement, channel: Product, original: Original) -> bool:
    """Return the verdict alone."""
    return not any(found.over().any() for found in protected_attribute_risks(requirement, channel, original))


def assess_attribute(requirement: Requirement, channel: Product, original: Original) -> Finding:
    """Assess every protected attribute."""
    found = tuple(protected_attribute_risks(requirement, channel, original))
    revealed = dict.fromkeys(name for f in found for name in f.evidence.revealed)
    return attribute_finding(
        requirement,
        found,
        (*scope_loss(channel).assumptions, *unhidden_assumption(revealed)),
        general_bound_measures(channel, original.records),
    )


def attribute_finding(
    requirement: Requirement, cases: Sequence[LimitedNumbers], rests_on: tuple[str, ...], further: Sequence[Companion]
) -> Finding:
    """Return the finding: its numbers are those of the attribute nearest to its limit, or over it.

    Args:
        requirement: the entry.
        cases: the numbers of each protected attribute.
        rests_on: assumptions.
        further: what stands beside it after what is told of each attribute.
    """
    options = requirement.options
    found, rests_on = [f for f in cases if len(f.group)], (*options.assumptions, *rests_on)
    named, who = requirement.called, options.adversary
    if not found:
        alone, nothing = (*subgroup_size(requirement, 0), *further), Measure(0.0)
        return model.conclude(
            requirement, nothing, not found, Basis.ORIGINAL, who, rests_on, alone, limit=None, model=named
        )
    overs = [f.over() for f in found]
    ratios = [float(f.ratio.max()) for f in found]
    worst = max(range(len(found)), key=lambda i: (bool(overs[i].any()), ratios[i]))
    top, over = found[worst], overs[worst]
    at = top.decisive(over)
    several = [(f, o) for f, o in zip(found, overs, strict=True) if len(found) > 1]
    return model.conclude(
        requirement,
        top.measured(at),
        not any(o.any() for o in overs),
        Basis.ORIGINAL,
        who,
        rests_on,
        (
            *subgroup_size(requirement, int(top.people.sum())),
            *(_with_own_limit(companion, options) for companion in dict.fromkeys(c for f in found for c in f.beside())),
            *(
                Companion("people over the limit", Measure(float(f.people[o].sum())), Basis.ORIGINAL, PEOPLE_OVER, f.of)
                for f, o in several
            ),
            *further,
        ),
        limit=top.limits[int(top.value[at])],
        model=named,
        profile=replace(
            risk_histograms(
                top.quantity,
                top.number,
                top.share,
                top.people,
                highest_risk_groups(top.evidence, top.number, top.people, top.group),
            ),
            limits=_limits_by_value(top),
        ),
        groups_over=len(np.unique(top.group[over])),
        people_over=int(top.people[over].sum()),
    )


def _with_own_limit(companion: Companion, options: AttributeDisclosureOptions) -> Companion:
    """Return a companion with its own limit, if it is the number limited of one value."""
    _, by_value, value = companion.of.partition(VALUE)
    if not (options.thresholds and by_value and companion.name == options.quantity):
        return companion
    return replace(companion, limit=options.limit_of(value))


def _limits_by_value(found: LimitedNumbers) -> tuple[tuple[str, float], ...]:
    """Return each limit with the values that it is of: "" where there is one, `others` where most have it."""
    of: dict[Fraction, list[int]] = {}
    for value in np.unique(found.value).tolist():
        of.setdefault(found.limits[value], []).append(value)
    if len(of) == 1:
        return (("", float(next(iter(of)))),)
    usual = max(of, key=lambda limit: len(of[limit]))
    names = {limit: ", ".join(str(found.labels[v]) for v in values) for limit, values in of.items()}
    return tuple((OTHER_VALUES if limit == usual else names[limit], float(limit)) for limit in of)


def unhidden_assumption(revealed: Iterable[str]) -> tuple[str, ...]:
    """Return that some attributes are known and counted as if nothing hid them, which gives upper bounds."""
    names = ", ".join(f"'{name}'" for name in revealed)
    return (f"Taken to be released as they are, which can only raise what is achieved: {names}.",) if names else ()


def subgroup_size(requirement: Requirement, people: int) -> tuple[Companion, ...]:
    """Return how many people a subgroup has: a statistic of the table, which no text that is published may tell."""
    if not requirement.where:
        return ()
    return (Companion("people in the subgroup", Measure(float(people)), Basis.ORIGINAL, SUBGROUP),)


SUBGROUP = "people whom the entry speaks of; it holds of an empty subgroup"
PEOPLE_OVER = "people whose risk exceeds the limit of their value of this attribute"
