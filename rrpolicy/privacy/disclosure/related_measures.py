"""The numbers that must stand beside a risk of attribute disclosure, in plain words, for each attribute and value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.base import Readable, Transition
from rrpolicy.finding import MAXIMUM_POSTERIOR, READ_CORRECTLY, VALUE, Basis, Companion, Measure, Risk, Standing
from rrpolicy.privacy.disclosure.inference_accuracy import group_homogeneity
from rrpolicy.privacy.disclosure.unlisted_values import largest_posteriors

if TYPE_CHECKING:
    from rrpolicy.privacy.disclosure.attribute import AttributeRisks

MOST_VALUES = 60
"""Sensitive values beyond which no rows by value are shown."""
OTHERS_KNOWN = " (the other sensitive values known)"
RISK = "the largest chance that the record he draws has the person's own combination and that he reads its true value"
SUCCESS = (
    "the largest chance that the value he reads is the true one, whichever record he drew: the risk is a part of it, "
    "and a stricter limit of the risk may raise it"
)
GROUP_INFERENCE = (
    "the largest share of a value in a group, which guessing by the table attains; it is what analysts want to learn, "
    "and no release lowers it that tells them"
)
POSTERIOR = "the largest chance that the record behind a released one is the one that it points to most"
EXCLUDED = "pairs of group and value that do not occur: who knows the table excludes them with certainty"
HOMOGENEOUS = "groups in which everybody has the same value: what is done to that value alone does not help them"
HOMOGENEOUS_PEOPLE = "people whose value follows from their group"
CHANCES = frozenset({SUCCESS, GROUP_INFERENCE, POSTERIOR})
"""What of these is a chance that somebody reads a person's value."""


def attribute_measures(found: AttributeRisks) -> tuple[Companion, ...]:
    """Return what the risk of one sensitive attribute does not say: of the attribute, then of each value."""
    known, worst = group_homogeneity(found.evidence), found.worst
    hit = found.success
    bound = Standing.UPPER_BOUND if found.evidence.revealed else Standing.EXACT
    whole: list[tuple[str, Measure | None, str]] = [
        ("risk", found.risk_measure(int(np.argmax(found.risk))), RISK),
        (READ_CORRECTLY, found.measure(hit, int(np.argmax(hit[1]))), SUCCESS),
        ("largest within-group share", Measure(known.group_inference), GROUP_INFERENCE),
        (MAXIMUM_POSTERIOR, None if worst is None else Measure(worst, bound), POSTERIOR),
        ("combinations with zero count", Measure(known.excluded), EXCLUDED),
        ("homogeneous groups", Measure(known.groups), HOMOGENEOUS),
        ("people in homogeneous groups", Measure(known.people), HOMOGENEOUS_PEOPLE),
    ]
    companions = [
        Companion(
            *(name, m, Basis.ORIGINAL, text, found.of),
            chance_of=Risk.READING if text in CHANCES else None,
            certain_of=Risk.READING if text is HOMOGENEOUS_PEOPLE else None,
        )
        for name, m, text in whole
        if m is not None
    ]
    companions += _set_measures(found)
    if len(found.labels) > MOST_VALUES:
        return tuple(companions)
    for code in np.unique(found.value):
        here = np.flatnonzero(found.value == code)
        of = f"{found.of}{VALUE}{found.labels[code]}"
        numbers = (
            ("risk", found.risk_measure(int(here[np.argmax(found.risk[here])])), RISK),
            (READ_CORRECTLY, found.measure(hit, int(here[np.argmax(hit[1][here])])), SUCCESS),
            ("largest within-group share", Measure(float(found.share[here].max())), GROUP_INFERENCE),
        )
        companions += [Companion(name, m, Basis.ORIGINAL, text, of) for name, m, text in numbers]
    return tuple(companions)


def _set_measures(found: AttributeRisks) -> tuple[Companion, ...]:
    """Return what a released set may tell of its record's own value; nothing of other axes."""
    evidence, axis = found.evidence, found.evidence.sensitive
    if isinstance(axis, Transition) or not isinstance(axis, Readable):
        return ()
    if evidence.part is None:
        return largest_posteriors(evidence, found.group, found.value, found.of)[1]
    of = " x ".join(axis.attributes) + (OTHERS_KNOWN if found.of.endswith(OTHERS_KNOWN) else "")
    mine = np.zeros(evidence.histograms.shape, dtype=bool)
    mine[found.group, found.value] = True
    group, cell = np.nonzero((evidence.joint > 0) & mine[:, evidence.part])
    return largest_posteriors(evidence, group, cell, of)[1]
