"""The numbers that must stand beside a risk of attribute disclosure, in plain words, for each attribute and value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import VALUE, Basis, Companion, Measure
from rrpolicy.privacy.inference import homogeneity, success, worst_posterior

if TYPE_CHECKING:
    from rrpolicy.privacy.disclosure import Risks

MOST_VALUES = 60
"""Sensitive values beyond which no rows by value are shown."""
RISK = "the largest chance that the record he draws has the person's own combination and that he reads its true value"
SUCCESS = "the largest chance that the value he reads is the true one, whichever record he drew"
GROUP_INFERENCE = (
    "the largest share of a value in a group, which guessing by the table attains; no randomisation lowers it, and it "
    "is what analysts want to learn"
)
POSTERIOR = "the largest chance that the record behind a released one is the one that it points to most"
EXCLUDED = "pairs of group and value that do not occur: who knows the table excludes them with certainty"
HOMOGENEOUS = "groups in which everybody has the same value: randomising that value alone does not help them"
HOMOGENEOUS_PEOPLE = "people whose value follows from their group"


def beside(found: Risks) -> tuple[Companion, ...]:
    """Return what the risk of one sensitive attribute does not say: of the attribute, then of each value."""
    evidence = found.evidence
    hit = success(evidence)[found.group, found.value]
    known = homogeneity(evidence)
    worst = worst_posterior(evidence)
    whole: list[tuple[str, float | None, str]] = [
        ("risk", float(found.risk.max()), RISK),
        ("success", float(hit.max()), SUCCESS),
        ("group inference", known.group_inference, GROUP_INFERENCE),
        ("worst released-cell posterior", worst, POSTERIOR),
        ("excluded pairs", known.excluded, EXCLUDED),
        ("homogeneous groups", known.groups, HOMOGENEOUS),
        ("people in homogeneous groups", known.people, HOMOGENEOUS_PEOPLE),
    ]
    companions = [Companion(n, Measure(v), Basis.ORIGINAL, text, found.of) for n, v, text in whole if v is not None]
    if len(found.labels) > MOST_VALUES:
        return tuple(companions)
    for code in np.unique(found.value):
        here = found.value == code
        of = f"{found.of}{VALUE}{found.labels[code]}"
        companions += [
            Companion(name, Measure(float(numbers[here].max())), Basis.ORIGINAL, text, of)
            for name, numbers, text in (
                ("risk", found.risk, RISK),
                ("success", hit, SUCCESS),
                ("group inference", found.share, GROUP_INFERENCE),
            )
        ]
    return tuple(companions)
