"""Assessing disclosure on a table: all groups at once, then the verdict, in fractions where doubles cannot tell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channel.product import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy import attribute_disclosure as attribute
from rrpolicy.privacy.evidence import Evidence, gather, sides
from rrpolicy.privacy.exactly import NEAR, ExactReconstruction, exact_sensitive
from rrpolicy.privacy.inference import homogeneity, success, worst_posterior
from rrpolicy.privacy.protection import protection
from rrpolicy.privacy.reconstruction import reconstruction, sensitive_reconstruction
from rrpolicy.privacy.scope import SINGLE_RECORDS, exposure
from rrpolicy.privacy.spread import at_the_top, spread

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.source.counts import Array, Ints
    from rrpolicy.source.protocol import Original

Mask: TypeAlias = "npt.NDArray[np.bool_]"
MOST_VALUES = 60
"""Sensitive values beyond which no table by value is shown."""


@dataclass(frozen=True)
class Risks:
    """The risk of every (group, value) that occurs and that an entry speaks of.

    Attributes:
        evidence: the groups.
        group: (k,) group of each.
        value: (k,) its sensitive value's code.
        people: (k,) people.
        share: (k,) c_u.
        risk: (k,) c_u R_QI R_S.
        limits: (values,) exact limits.
    """

    evidence: Evidence
    group: Ints
    value: Ints
    people: Ints
    share: Array
    risk: Array
    limits: tuple[Fraction, ...]

    @property
    def ratio(self) -> Array:
        """Return risk / limit."""
        limits: Array = np.array([float(t) for t in self.limits])
        return self.risk / limits[self.value]


@dataclass(frozen=True, slots=True)
class Assessed:
    """The finding of one sensitive attribute, and its largest risk over its limit."""

    finding: Finding
    ratio: float


def chosen(evidence: Evidence, requirement: Requirement, sensitive: str | None, labels: tuple[object, ...]) -> Mask:
    """Return (groups, values) the mask of what occurs and lies in the entry's subgroup."""
    mask = evidence.histograms > 0
    for name, category in requirement.where.items():
        if name == sensitive:
            mask = mask & np.array([label == category for label in labels])
        else:
            position = evidence.names.index(name)
            mask = mask & (evidence.values[:, position] == list(evidence.labels[position]).index(category))[:, None]
    return mask


def risks(requirement: Requirement, channel: Product, original: Original, sensitive: str) -> Risks:
    """Return every risk that an entry of `attribute-disclosure` speaks of."""
    options = requirement.options
    assert isinstance(options, attribute.Options)
    evidence = gather(original, sides(channel, original.policy, sensitive, known_sensitive=options.known_sensitive))
    assert evidence.sensitive is not None
    labels = original.policy.attributes[sensitive].domain or ()
    group, value = np.nonzero(chosen(evidence, requirement, sensitive, labels))
    c = evidence.histograms / evidence.n[:, None]
    both = c * sensitive_reconstruction(c, evidence.sensitive)
    risk = both[group, value] * reconstruction(evidence)[group]
    return Risks(
        evidence,
        group,
        value,
        evidence.histograms[group, value],
        c[group, value],
        np.minimum(risk, 1.0),
        tuple(options.limit(label) for label in labels),
    )


def assess_attribute(requirement: Requirement, channel: Product, original: Original, sensitive: str) -> Assessed:
    """Assess one sensitive attribute."""
    found = risks(requirement, channel, original, sensitive)
    evidence, ratio = found.evidence, found.ratio
    if not len(ratio):
        nobody = ("nobody is in the subgroup",)
        finding = Finding(
            attribute.NAME,
            attribute.NAME,
            "",
            None,
            Measure(0.0),
            None,
            Verdict.HOLDS,
            Basis.ORIGINAL,
            attribute.ADVERSARY,
            nobody,
        )
        return Assessed(finding, 0.0)
    over = _over(found, ratio)
    worst = int(np.argmax(ratio))
    stands = np.unique(found.group[over])
    finding = Finding(
        attribute.NAME,
        attribute.NAME,
        "",
        None,
        Measure(float(found.risk[worst]), Standing.EXACT),
        found.limits[int(found.value[worst])],
        Verdict.FAILS if over.any() else Verdict.HOLDS,
        Basis.ORIGINAL,
        attribute.ADVERSARY,
        assumptions(channel),
        (*_beside(found, sensitive, original), *protection(channel, original.records)),
        spread(
            f"risk of attribute disclosure of {sensitive}",
            found.risk,
            found.share,
            found.people,
            at_the_top(evidence, found.risk, found.people, found.group),
        ),
        groups_over=len(stands),
        people_over=int(found.people[over].sum()),
    )
    return Assessed(finding, float(ratio[worst]))


def assumptions(channel: Product) -> tuple[str, ...]:
    """Return what disclosure rests on."""
    return (*exposure(channel).assumptions, SINGLE_RECORDS)


def _over(found: Risks, ratio: Array) -> Mask:
    """Return the mask of what exceeds its limit; what is too near to tell is decided in fractions."""
    over = ratio > 1 - NEAR
    near = np.flatnonzero(over & (ratio < 1 + NEAR))
    exactly = ExactReconstruction(found.evidence)
    for i in near:
        group, value = int(found.group[i]), int(found.value[i])
        known = exactly.of(group)
        if known is not None:
            over[i] = known.high * exact_sensitive(found.evidence, group, value) > found.limits[value]
    return over


def _beside(found: Risks, sensitive: str, original: Original) -> tuple[Companion, ...]:
    """Return what the risk does not say: of the attribute, then of each value."""
    evidence = found.evidence
    hit = success(evidence)
    known = homogeneity(evidence)
    worst = worst_posterior(evidence)
    whole: list[tuple[str, float, str]] = [
        ("success", float(hit[found.group, found.value].max()), SUCCESS),
        ("group inference", known.group_inference, GROUP_INFERENCE),
    ]
    if worst is not None:
        whole.append(("worst released-cell posterior", worst, POSTERIOR))
    whole += [
        (
            "excluded pairs",
            known.excluded,
            "(group, value) pairs that do not occur: who knows the table excludes them with certainty",
        ),
        (
            "homogeneous groups",
            known.groups,
            "groups in which everybody has the same value; no randomisation of that value alone helps them",
        ),
        ("people in homogeneous groups", known.people, "people whose value follows from their group"),
    ]
    companions = [Companion(n, Measure(v), Basis.ORIGINAL, text, sensitive) for n, v, text in whole]
    labels = original.policy.attributes[sensitive].domain or ()
    if len(labels) <= MOST_VALUES:
        for code in np.unique(found.value):
            here = found.value == code
            of = f"{sensitive} = {labels[code]}"
            at = (found.group[here], found.value[here])
            companions += [
                Companion(
                    "risk", Measure(float(found.risk[here].max())), Basis.ORIGINAL, "the largest risk of this value", of
                ),
                Companion("success", Measure(float(hit[at].max())), Basis.ORIGINAL, SUCCESS, of),
                Companion(
                    "group inference", Measure(float(found.share[here].max())), Basis.ORIGINAL, GROUP_INFERENCE, of
                ),
            ]
    return tuple(companions)


SUCCESS = "the largest chance that this attacker's reading of the value is right, whichever record he drew"
GROUP_INFERENCE = (
    "the largest share of a value in a group: what guessing by the joint table attains; no randomisation lowers it"
)
POSTERIOR = (
    "the largest chance, over released records, that the person behind one has the combination that it most points to"
)
