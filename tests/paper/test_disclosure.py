"""The worked example of Guo, Ying and Wu and their Adult parameters: risk, linking and floors by an independent count."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.counts import Counts, tabulate
from rrpolicy.declarations import Role
from rrpolicy.finding import Verdict
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.disclosure.attribute import attribute_risks
from rrpolicy.privacy.disclosure.identity import linkage_chances
from rrpolicy.privacy.disclosure.minimum_risk import attribute_minimum
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from rrpolicy.testing import policy_of

TRAINING = 30162
"""Records of Adult's training file without missing values, on which the published parameters were computed."""


@dataclass
class Original:
    """A contingency table read as an original."""

    policy: Policy
    table: Counts

    @property
    def records(self) -> int:
        return self.table.records

    def counts(self, *attributes: str) -> Counts:
        return self.table.marginal(*attributes)


def original(domains: dict[str, Sequence[str]], sensitive: str, codes: Any, n: Any) -> Any:
    role = {name: Role.SENSITIVE if name == sensitive else Role.QUASI_IDENTIFIER for name in domains}
    policy = policy_of([Attribute(name, role[name], tuple(d)) for name, d in domains.items()])
    shape = tuple(len(d) for d in domains.values())
    return Original(policy, tabulate(tuple(domains), shape, np.asarray(codes, np.int32), np.asarray(n, np.int64)))


def channel(table: Any, keep: Sequence[float]) -> Product:
    """Return retention with these keep probabilities, read as the decimals that they are."""
    axes = tuple(
        Retention.uniform(a.name, a.domain, Fraction(str(p))) if p < 1 else Identity.of(a.name, a.domain)
        for a, p in zip(table.policy.attributes.values(), keep, strict=True)
    )
    return Product(axes, (), tuple(table.policy.attributes))


def asked(threshold: Fraction) -> Requirement:
    return Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold=threshold))


@pytest.fixture(scope="module")
def toy(vectors: dict[str, Any]) -> tuple[Any, list[Any]]:
    table = vectors["toy_table"]
    codes = [(g, d) for g in range(len(table["rows"])) for d in range(len(table["columns"]))]
    domains = {"gender": table["rows"], "disease": table["columns"]}
    return original(domains, "disease", codes, np.ravel(table["counts"])), table["cases"]


def test_the_worked_example(toy: tuple[Any, list[Any]]) -> None:
    table, cases = toy
    for case in cases:
        released = channel(table, (case["p_gender"], case["p_disease"]))
        found = attribute_risks(asked(Fraction(1, 2)), released, table, "disease")
        assert np.abs(found.risk.reshape(2, 3) - np.array(case["risk"])).max() < 1e-9
        assert (
            np.abs(quasi_identifier_reconstruction(found.evidence) - np.array(case["qi_reconstruction"])).max() < 1e-9
        )
        finding = attribute.AttributeDisclosure().assessors()[0].finding(asked(Fraction(1, 2)), released, table)
        assert finding.achieved is not None
        assert finding.achieved.value == pytest.approx(case["max"], abs=1e-9)
        assert finding.verdict is (Verdict.SATISFIED if case["max"] <= 0.5 else Verdict.FAILED)
        entry = Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold=Fraction(1, 50)))
        assert np.abs(linkage_chances(entry, released, table).link - np.array(case["linking"])).max() < 1e-9


@pytest.fixture(scope="module")
def emgrw(adult_csv: Path, vectors: dict[str, Any]) -> Any:
    names = vectors["adult_emgrw"]["attributes"]
    with gzip.open(adult_csv, "rt", newline="") as file:
        rows = [[row[name] for name in names] for row, _ in zip(csv.DictReader(file), range(TRAINING), strict=False)]
    domains = {name: sorted({row[i] for row in rows}) for i, name in enumerate(names)}
    index = [{v: k for k, v in enumerate(d)} for d in domains.values()]
    codes = [[at[v] for at, v in zip(index, row, strict=True)] for row in rows]
    return original(domains, vectors["adult_emgrw"]["sensitive"], codes, np.ones(len(rows)))


@pytest.mark.adult
def test_published_and_best_known_parameters_have_their_risks(emgrw: Any, vectors: dict[str, Any]) -> None:
    cases = vectors["adult_emgrw"]["published"] + vectors["adult_emgrw"]["best_known"]
    assert len(cases) == 16
    for case in cases:
        tau = Fraction(1, case["l"])
        released = channel(emgrw, case["p"])
        finding = attribute.AttributeDisclosure().assessors()[0].finding(asked(tau), released, emgrw)
        assert finding.achieved is not None
        assert finding.achieved.value == pytest.approx(case["max_risk"], abs=1e-9)
        assert (finding.verdict is Verdict.SATISFIED) == (case["max_risk"] <= float(tau))
        assert attribute.AttributeDisclosure().assessors()[0].accepts(asked(tau), released, emgrw) == (
            finding.verdict is Verdict.SATISFIED
        )
        assert (finding.people_over == 0) == (finding.verdict is Verdict.SATISFIED)


@pytest.mark.adult
@pytest.mark.parametrize("diversity", [2, 3, 4, 5])
def test_randomising_work_alone_cannot_do(emgrw: Any, diversity: int) -> None:
    """283 of 603 groups, 689 people, have one sensitive value: it follows from the group whatever is done to it."""
    table, keep = emgrw, (1, 1, 1, 1, 0.5)
    (floor,) = attribute_minimum(asked(Fraction(1, diversity)), channel(table, keep), table, ("workclass",))
    assert (floor.groups, floor.groups_alike, floor.people_alike) == (603, 283, 689)
    assert floor.achieved == pytest.approx(1, abs=1e-12)
    assert not floor.feasible
    assert floor.groups_over >= 283
    assert "283 of 603 groups, 689 people" in floor.text
    assert floor.hints[0].startswith("randomise education, marital_status, sex, race too")
    (both,) = attribute_minimum(asked(Fraction(1, diversity)), channel(table, (0.5,) * 5), table)
    assert both.feasible
    assert both.achieved == pytest.approx(floor.everything, rel=1e-12)


@pytest.mark.adult
def test_what_stands_beside_the_risk_at_five(emgrw: Any, vectors: dict[str, Any]) -> None:
    """76 % of people have c_u over 1/5: the risk is not the chance that a guess is right."""
    case = next(c for c in vectors["adult_emgrw"]["published"] if (c["mechanism"], c["l"]) == ("rr-both", 5))
    finding = (
        attribute.AttributeDisclosure().assessors()[0].finding(asked(Fraction(1, 5)), channel(emgrw, case["p"]), emgrw)
    )
    by = {c.name: c.measure.value for c in finding.companions if c.of == "workclass"}
    assert by["largest within-group share"] == 1
    assert by["people in homogeneous groups"] == 689
    assert by["risk"] < 0.2 < by["value read correctly"] <= 1
    assert finding.profile is not None
    assert finding.profile.before is not None
    assert sum(finding.profile.people) == sum(finding.profile.before) == TRAINING
    found = attribute_risks(asked(Fraction(1, 5)), channel(emgrw, case["p"]), emgrw, "workclass")
    assert found.people[found.share > 0.2].sum() / TRAINING == pytest.approx(0.765, abs=0.0005)
