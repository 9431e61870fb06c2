"""Risk, linking, success and the worst posterior against their definitions over full domains, in fractions."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.finding import Basis, Verdict
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute import attribute_risks
from rrpolicy.privacy.disclosure.exact_risks import ExactReconstruction, exact_sensitive
from rrpolicy.privacy.disclosure.identity import linkage_chances
from rrpolicy.privacy.disclosure.inference_accuracy import group_homogeneity, inference_accuracy, worst_posterior
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction
from rrpolicy.privacy.evidence import Evidence, gather_evidence, split_axes
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from tests.models import assessors_of

SEEDS = st.integers(0, 2**32)
TINY = 1e-12


def asked(**options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(**({"threshold": "1/2"} | options)), where)


def linked(**options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(identity.NAME, identity.IdentityDisclosureOptions(**({"threshold": "1/2"} | options)), where)


def known_laws(world: Any, *names: str) -> list[Any]:
    return [(attributes, law) for attributes, law in world.laws if set(attributes) & set(names)]


def seen_by_attacker(world: Any, brute: Any, sensitive: str, *, others: bool = False) -> Any:
    """Return the table as an attacker sees it: quasi-identifiers, what is unchanged, the other sensitive one if known."""
    other = {"s": "t", "t": "s"}[sensitive]
    laws = known_laws(world, "a", "b", "x", *([other] if others else []))
    return brute.Table(world.rows, laws, world.carried, sensitive, world.law(sensitive))


def alpha_of(evidence: Evidence, world: Any, laws: list[Any], group: int) -> Any:
    """Return a group as the enumeration names it."""
    values = dict(zip(evidence.names, evidence.values[group].tolist(), strict=True))
    carried = [evidence.labels[evidence.names.index(c)][values[c]] for c in world.carried]
    return (*(tuple(values[a] for a in attributes) for attributes, _ in laws), *carried)


@settings(deadline=None, max_examples=120, derandomize=True)
@given(seed=SEEDS, sensitive=st.sampled_from("st"), others=st.booleans(), most=st.sampled_from([None, 1, 3]))
def test_risk_success_and_posterior_are_their_definitions(  # noqa: PLR0917
    worlds: Any, brute: Any, seed: int, sensitive: str, others: bool, most: int | None
) -> None:
    world = worlds.world(Random(seed))
    table = seen_by_attacker(world, brute, sensitive, others=others)
    found = attribute_risks(asked(), world.channel, world.original, sensitive, others_known=others)
    evidence = found.evidence
    expected, hits, trip = table.risks(), table.success(), table.round_trip()
    hit, r_qi, exactly = (
        inference_accuracy(evidence, most),
        quasi_identifier_reconstruction(evidence, most),
        ExactReconstruction(evidence),
    )
    assert len(found.risk) == len(expected)
    for i, (group, value) in enumerate(zip(found.group.tolist(), found.value.tolist(), strict=True)):
        alpha = alpha_of(evidence, world, table.known, group)
        assert found.people[i] == table.people[alpha, value]
        assert found.risk[i] == pytest.approx(float(expected[alpha, value]), abs=TINY)
        assert r_qi[group] == pytest.approx(float(trip[alpha, alpha]), abs=TINY)
        assert hit[group, value] == pytest.approx(float(hits[alpha, value]), abs=TINY)
        known = exactly.of(group)
        assert known is not None
        assert known.low == known.high
        assert known.high * exact_sensitive(evidence, group, value) == expected[alpha, value]
    assert worst_posterior(evidence, most) == pytest.approx(float(table.worst_posterior()), abs=TINY)


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS, most=st.sampled_from([None, 1, 2]))
def test_linking_is_its_definition(worlds: Any, brute: Any, seed: int, most: int | None) -> None:
    world = worlds.world(Random(seed))
    laws = known_laws(world, "a", "b", "x")
    table = brute.Table(world.rows, laws, world.carried)
    found = linkage_chances(linked(), world.channel, world.original)
    expected = table.links()
    assert len(found.link) == len(expected)
    again = quasi_identifier_reconstruction(found.evidence, most) / found.evidence.n
    for i, group in enumerate(found.group.tolist()):
        alpha = alpha_of(found.evidence, world, laws, group)
        assert found.link[i] == pytest.approx(float(expected[alpha]), abs=TINY)
        assert again[group] == pytest.approx(float(expected[alpha]), abs=TINY)


@pytest.mark.slow
@settings(deadline=None, max_examples=100, derandomize=True)
@given(seed=SEEDS, tau=st.fractions(Fraction(1, 20), 1, max_denominator=20), tie=st.booleans())
def test_the_verdict_is_exact_for_every_entry(worlds: Any, brute: Any, seed: int, tau: Fraction, tie: bool) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    targets = rng.choice([("s",), ("t",), ("s", "t"), ()])
    both = rng.random() < 0.5
    tables = [
        (name, seen_by_attacker(world, brute, name, others=others))
        for name in targets or ("s", "t")
        for others in ((False, True) if both else (False,))
    ]
    everything = [(name, key, r) for name, t in tables for key, r in t.risks().items()]
    if tie and everything:
        tau = rng.choice(everything)[2]
    special = rng.choice([{}, {"s0": Fraction(1, 3)}, {"s0": Fraction(1), "t1": Fraction(1, 4)}])
    limits = {(n, u): special.get(f"{n}{u}", tau) for n in "st" for u in range(3)}
    entry = asked(threshold=tau, thresholds=special, sensitive=targets, known_sensitive=both)
    finding = attribute.AttributeDisclosure().assessors()[0].finding(entry, world.channel, world.original)
    over = {(n, key) for n, key, r in everything if r > limits[n, key[1]]}
    assert finding.verdict is (Verdict.FAILED if over else Verdict.SATISFIED)
    assert attribute.AttributeDisclosure().assessors()[0].accepts(entry, world.channel, world.original) is not bool(
        over
    )
    ratio = max(r / limits[n, key[1]] for n, key, r in everything)
    assert finding.achieved is not None
    assert finding.limit is not None
    assert finding.achieved.value == pytest.approx(float(ratio * finding.limit), abs=TINY)
    if ratio == 1:
        assert finding.achieved.value == float(finding.limit)  # no margin is left by rounding
    if len(tables) == 1:
        table = tables[0][1]
        assert finding.people_over == sum(table.people[key] for _, key in over)
        assert finding.groups_over == len({key[0] for _, key in over})


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, by_value=st.booleans())
def test_a_subgroup_counts_its_own_people_only(worlds: Any, brute: Any, seed: int, by_value: bool) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    where = {"a": rng.choice(world.policy.attributes["a"].domain)}
    if by_value:
        where["s"] = rng.choice(world.policy.attributes["s"].domain)
    table = seen_by_attacker(world, brute, "s")
    place = next(i for i, (attributes, _) in enumerate(table.known) if "a" in attributes)
    inside = {
        (alpha, u): r
        for (alpha, u), r in table.risks().items()
        if f"a{alpha[place][0]}" == where["a"] and where.get("s", f"s{u}") == f"s{u}"
    }
    entry = asked(threshold="1/3", sensitive=("s",), where=where)
    finding = attribute.AttributeDisclosure().assessors()[0].finding(entry, world.channel, world.original)
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(max(inside.values(), default=Fraction(0))), abs=TINY)
    assert finding.people_over == sum(table.people[key] for key, r in inside.items() if r > Fraction(1, 3))
    assert (finding.verdict is Verdict.SATISFIED) == all(r <= Fraction(1, 3) for r in inside.values())


@settings(deadline=None, max_examples=100, derandomize=True)
@given(seed=SEEDS, percentile=st.sampled_from([None, "1", "20", "50", "100/3", "100"]), tie=st.booleans())
def test_linking_verdicts_are_exact(worlds: Any, brute: Any, seed: int, percentile: str | None, tie: bool) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    table = brute.Table(world.rows, known_laws(world, "a", "b", "x"), world.carried)
    each = sorted((r for alpha, r in table.links().items() for _ in range(table.groups[alpha])), reverse=True)
    wanted = 1 if percentile is None else max(1, int(len(each) * Fraction(percentile) / 100))
    mean = sum(each[:wanted], Fraction(0)) / wanted
    tau = mean if tie else Fraction(rng.randint(1, 20), 20)
    finding = (
        identity.IdentityDisclosure()
        .assessors()[0]
        .finding(linked(threshold=tau, percentile=percentile), world.channel, world.original)
    )
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(mean), abs=TINY)
    assert (finding.verdict is Verdict.SATISFIED) == (mean <= tau)
    assert identity.IdentityDisclosure().assessors()[0].accepts(
        linked(threshold=tau, percentile=percentile), world.channel, world.original
    ) == (mean <= tau)
    if percentile is None:
        assert mean != tau or finding.achieved.value == float(tau)
        assert finding.people_over == sum(r > tau for r in each)


def test_a_hair_decides(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0, 1, 1, 1, 1], "s": [0, 1, 0, 1, 0, 1]})
    a, _ = worlds.one(Random(0), "a", ("a0", "a1"), ["identity"])
    s, _ = worlds.one(Random(0), "s", ("s0", "s1"), ["identity"])
    untouched = worlds.Product((a, s), (), ("a", "s"))
    hair = Fraction(1, 10**30)
    for threshold, verdict in ((Fraction(1, 2), Verdict.SATISFIED), (Fraction(1, 2) - hair, Verdict.FAILED)):
        assert (
            attribute.AttributeDisclosure()
            .assessors()[0]
            .finding(asked(threshold=threshold), untouched, original)
            .verdict
            is verdict
        )
        for percentile in (None, "10", "100/3"):
            linking = linked(threshold=threshold, percentile=percentile)
            assert identity.IdentityDisclosure().assessors()[0].finding(linking, untouched, original).verdict is verdict
    keep = Fraction(2, 3)
    axis, law = worlds.retention("a", ("a0", "a1"), [(0, 1)], [keep])
    channel = worlds.Product((axis, s), (), ("a", "s"))
    exactly = Fraction(2, 6) * sum(
        law[0,][b] ** 2 / (Fraction(2, 6) * law[0,][b] + Fraction(4, 6) * law[1,][b]) for b in (0, 1)
    )
    other = Fraction(4, 6) * sum(
        law[1,][b] ** 2 / (Fraction(2, 6) * law[0,][b] + Fraction(4, 6) * law[1,][b]) for b in (0, 1)
    )
    top = max(exactly, other) / 2
    assert (
        attribute.AttributeDisclosure().assessors()[0].finding(asked(threshold=top), channel, original).verdict
        is Verdict.SATISFIED
    )
    assert (
        attribute.AttributeDisclosure().assessors()[0].finding(asked(threshold=top - hair), channel, original).verdict
        is Verdict.FAILED
    )


def test_enclosures_decide_where_sums_are_long(worlds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rrpolicy.privacy.disclosure.exact_risks.FEW_TERMS", 0)
    world = worlds.world(Random(5), ("retention",))
    evidence = gather_evidence(world.original, split_axes(world.channel, world.policy, "s"))
    short, r = ExactReconstruction(evidence), quasi_identifier_reconstruction(evidence)
    for group in range(len(evidence.n)):
        known = short.of(group)
        assert known is not None
        assert known.low <= known.high
        assert known.high - known.low <= Fraction(1, 2**200)
        assert float(known.high) == pytest.approx(r[group], rel=1e-13)
    assert ExactReconstruction(evidence, most=0).of(0) is None or evidence.mixed == 0


def test_what_cannot_be_decided_does_not_pass(worlds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0, 1, 1], "s": [0, 1, 0, 1]})
    axis, _ = worlds.retention("a", ("a0", "a1"), [(0, 1)], [Fraction(1)])
    s, _ = worlds.one(Random(0), "s", ("s0", "s1"), ["identity"])
    channel = worlds.Product((axis, s), (), ("a", "s"))
    assert attribute.AttributeDisclosure().assessors()[0].accepts(asked(), channel, original)
    monkeypatch.setattr(ExactReconstruction, "of", lambda self, group: None)
    assert not attribute.AttributeDisclosure().assessors()[0].accepts(asked(), channel, original)
    assert not identity.IdentityDisclosure().assessors()[0].accepts(linked(), channel, original)


def test_homogeneous_groups_and_excluded_pairs(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1", "a2")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0, 0, 1, 1], "s": [0, 0, 1, 1, 1]})
    a, _ = worlds.one(Random(0), "a", ("a0", "a1", "a2"), ["identity"])
    s, _ = worlds.one(Random(0), "s", ("s0", "s1"), ["identity"])
    evidence = gather_evidence(original, split_axes(worlds.Product((a, s), (), ("a", "s")), policy, "s"))
    known = group_homogeneity(evidence)
    assert (known.group_inference, known.excluded, known.groups, known.people) == (1.0, 1, 1, 2)


def test_nobody_in_the_subgroup(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0], "s": [0, 1]})
    a, _ = worlds.one(Random(0), "a", ("a0", "a1"), ["identity"])
    s, _ = worlds.one(Random(0), "s", ("s0", "s1"), ["identity"])
    channel = worlds.Product((a, s), (), ("a", "s"))
    for finding in (
        attribute.AttributeDisclosure().assessors()[0].finding(asked(where={"a": "a1"}), channel, original),
        identity.IdentityDisclosure()
        .assessors()[0]
        .finding(linked(where={"a": "a1"}, percentile="10"), channel, original),
    ):
        assert finding.verdict is Verdict.SATISFIED
        assert finding.achieved is not None
        assert finding.achieved.value == 0
        (people,) = [c for c in finding.companions if c.name == "people in the subgroup"]
        assert (people.measure.value, people.basis) == (0, Basis.ORIGINAL)


def test_what_is_published_does_not_tell_whether_a_subgroup_is_empty(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0], "s": [0, 1]})
    a, _ = worlds.one(Random(0), "a", ("a0", "a1"), ["identity"])
    s, _ = worlds.one(Random(0), "s", ("s0", "s1"), ["identity"])
    channel = worlds.Product((a, s), (), ("a", "s"))
    for model, entry in ((attribute, asked), (identity, linked)):
        public = [
            assessors_of(model.NAME)[0]
            .finding(entry(threshold=1, where={"a": category}), channel, original)
            .up_to(Basis.RELEASE)
            .to_json()
            for category in ("a0", "a1")
        ]
        assert public[0] == public[1]


def test_the_profile_counts_people_in_half_open_bins(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0] * 4 + [1] * 6, "s": [0, 1, 1, 1, *([0] * 3), *([1] * 3)]})
    a, _ = worlds.one(Random(0), "a", ("a0", "a1"), ["identity"])
    s, _ = worlds.one(Random(0), "s", ("s0", "s1"), ["identity"])
    finding = (
        attribute.AttributeDisclosure()
        .assessors()[0]
        .finding(asked(), worlds.Product((a, s), (), ("a", "s")), original)
    )
    profile = finding.profile
    assert profile is not None
    assert profile.before == profile.people
    counted = [0] * (len(profile.edges) - 1)
    for risk, people in ((0.25, 1), (0.75, 3), (0.5, 6)):
        inside = [i for i in range(len(counted)) if profile.edges[i] < risk <= profile.edges[i + 1]]
        counted[inside[0]] += people
    assert list(profile.people) == counted
    assert profile.top[0] == ("a = a0", 0.75, 3)


def test_several_values_stand_beside_each_other(worlds: Any) -> None:
    world = worlds.world(Random(11))
    finding = (
        attribute.AttributeDisclosure()
        .assessors()[0]
        .finding(asked(threshold=1, known_sensitive=True), world.channel, world.original)
    )
    by = {(c.of, c.name): c.measure.value for c in finding.companions}
    for of in ("s", "s (the other sensitive values known)", "t", "t (the other sensitive values known)"):
        values = [key[0] for key in by if key[0].startswith(f"{of} = ") and key[1] == "risk"]
        assert values
        for name in ("risk", "value read correctly", "largest within-group share"):
            assert by[of, name] == pytest.approx(max(by[v, name] for v in values))
        assert (of, "people over the limit") in by
    assert sum(c.name == "1/k" for c in finding.companions) == 1
    assert np.isclose(
        max(by[of, "risk"] for of in ("s", "t")), max(v for (of, n), v in by.items() if n == "risk" and " (" not in of)
    )
