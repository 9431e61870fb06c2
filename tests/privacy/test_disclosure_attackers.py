"""Simulated attackers find what risk, linking and success say, and tell wrong formulas from right ones."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.product.channel import Product
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, attribute_risks
from rrpolicy.privacy.disclosure.inference_accuracy import inference_accuracy
from rrpolicy.privacy.disclosure.reconstruction import (
    dense_matrix,
    quasi_identifier_reconstruction,
    sensitive_reconstruction,
)
from rrpolicy.privacy.models import attribute_disclosure as attribute

RISK = Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold="1/2"))
DRAWN = 400_000
SMALL = 1e-6


class Attack:
    """Records drawn from the table, randomised, and attacked by posterior weight; the arrays are (a, b, s)."""

    def __init__(self, found: AttributeRisks, seed: int) -> None:
        generator = np.random.default_rng(seed)
        evidence = found.evidence
        self.codes = evidence.codes
        self.share = evidence.histograms / evidence.n[:, None]
        self.pi = evidence.n / evidence.records
        self.known = [dense_matrix(axis) for axis in evidence.axes]
        assert evidence.sensitive is not None
        self.sensitive = dense_matrix(evidence.sensitive)
        self.generator = generator
        self.group = generator.choice(len(self.pi), size=DRAWN, p=self.pi)
        self.value = self._draw(self.share.T, self.group)
        released = [self._draw(m, self.codes[self.group, i]) for i, m in enumerate(self.known)]
        self.chance = np.ones((len(self.pi), DRAWN))
        for i, m in enumerate(self.known):
            self.chance *= m[released[i]][:, self.codes[:, i]].T
        self.released_value = self._draw(self.sensitive, self.value)

    def _draw(self, columns: Any, of: Any) -> Any:
        """Return one draw from the column of each."""
        edges = np.cumsum(columns, axis=0)[:, of]
        return (self.generator.random(len(of)) > edges).sum(axis=0).clip(max=len(columns) - 1)

    def on(self, alpha: int) -> tuple[Any, Any, Any]:
        """Return (drawn group, drawn value, value read) of the records that the attacker on a group draws."""
        posterior = self.pi[alpha] * self.chance[alpha] / (self.pi[:, None] * self.chance).sum(axis=0)
        taken = self.generator.random(DRAWN) < posterior
        c = self.share[alpha]
        weight = self.sensitive * c
        weight /= np.where(weight.sum(axis=1, keepdims=True) > 0, weight.sum(axis=1, keepdims=True), 1)
        read = self._draw(weight.T, self.released_value[taken])
        return self.group[taken], self.value[taken], read


def agrees(hits: int, trials: int, chance: float) -> bool:
    return bool(binomtest(hits, trials, min(max(chance, 0.0), 1.0)).pvalue > SMALL)


@pytest.fixture(scope="module")
def attacked(worlds: Any) -> tuple[AttributeRisks, Attack]:
    domains = {"a": ("a0", "a1", "a2"), "b": ("b0", "b1"), "s": ("s0", "s1", "s2")}
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}
    policy = worlds.policy_of({n: (roles[n], d) for n, d in domains.items()})
    rng = Random(3)
    rows = [(rng.choice((0, 0, 1, 2)), rng.choice((0, 1, 1))) for _ in range(60)]
    columns = {"a": [a for a, _ in rows], "b": [b for _, b in rows], "s": [rng.choice((0, a, 2)) for a, _ in rows]}
    original = worlds.TableInMemory.of(policy, columns)
    axes = [
        worlds.retention("a", domains["a"], [(0, 1, 2)], [worlds.Fraction(7, 10)])[0],
        worlds.retention("b", domains["b"], [(0, 1)], [worlds.Fraction(17, 20)])[0],
        worlds.retention("s", domains["s"], [(0, 1, 2)], [worlds.Fraction(4, 5)])[0],
    ]
    found = attribute_risks(RISK, Product(tuple(axes), (), ("a", "b", "s")), original, "s")
    return found, Attack(found, 20)


def test_attackers_hit_as_often_as_risk_and_success_say(attacked: tuple[AttributeRisks, Attack]) -> None:
    found, attack = attacked
    r_qi, hit = quasi_identifier_reconstruction(found.evidence), inference_accuracy(found.evidence)
    for alpha in np.unique(found.group).tolist():
        drawn, value, read = attack.on(alpha)
        assert len(drawn) > 1000
        assert agrees(int((drawn == alpha).sum()), len(drawn), r_qi[alpha])
        for i in np.flatnonzero(found.group == alpha).tolist():
            u = int(found.value[i])
            event = (drawn == alpha) & (value == u) & (read == u)
            assert agrees(int(event.sum()), len(drawn), found.risk[i])
            assert agrees(int((read == u).sum()), len(drawn), hit[alpha, u])


def test_a_wrong_formula_is_found_out(attacked: tuple[AttributeRisks, Attack]) -> None:
    """The chance to keep, not squared; linking without the sensitive value; success in risk's place."""
    found, attack = attacked
    evidence, axis = found.evidence, found.evidence.sensitive
    assert axis is not None
    own = sensitive_reconstruction(evidence.shares, axis)
    kept = 0.7 * 0.85 * 0.8
    i = int(np.argmax(found.people))
    alpha, u = int(found.group[i]), int(found.value[i])
    drawn, value, read = attack.on(alpha)
    hits = int(((drawn == alpha) & (value == u) & (read == u)).sum())
    r_qi, share = quasi_identifier_reconstruction(evidence)[alpha], found.share[i]
    assert agrees(hits, len(drawn), found.risk[i])
    for wrong in (share * r_qi, r_qi * own[alpha, u], share * kept, inference_accuracy(evidence)[alpha, u], share):
        assert not agrees(hits, len(drawn), float(wrong))


def test_unlinkable_columns_are_no_evidence_and_others_are(worlds: Any) -> None:
    policy = worlds.policy_of(
        {"a": ("quasi-identifier", ("a0",)), "x": ("insensitive", ("x0", "x1")), "s": ("sensitive", ("s0", "s1"))}
    )
    original = worlds.TableInMemory.of(policy, {"a": [0] * 4, "x": [0, 0, 1, 1], "s": [0, 0, 1, 1]})
    a, s = Identity.of("a", ("a0",)), Identity.of("s", ("s0", "s1"))
    swap, _ = worlds.retention("x", ("x0", "x1"), [(0, 1)], [worlds.Fraction(0)])
    noisy, _ = worlds.retention("x", ("x0", "x1"), [(0, 1)], [worlds.Fraction(1, 2)])
    cases = {
        Identity.of("x", ("x0", "x1")): 1.0,
        Identity.of("x", ("x0", "x1"), assume_unlinkable="nobody knows it"): 0.5,
        swap: 1.0,
        noisy: 0.5,
    }
    for x, risk in cases.items():
        found = attribute_risks(RISK, Product((a, x, s), (), ("a", "x", "s")), original, "s")
        assert found.risk.max() == risk
