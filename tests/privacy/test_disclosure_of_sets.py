"""Disclosure through sets against their law written out, set by set: risks, success, verdicts, and an attacker."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rrpolicy.channels.axes import set_posterior as posterior
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis, Posterior, Readable, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.errors import PolicyError
from rrpolicy.finding import Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute import attribute_risks
from rrpolicy.privacy.disclosure.minimum_risk import attribute_minimum
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from rrpolicy.testing import check_assessor, open_policy
from tests.models import assessors_of

SEEDS = st.integers(0, 2**32)
TINY = 1e-12
ROLES = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive", "t": "sensitive"}


def asked(**options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(
        attribute.NAME,
        attribute.AttributeDisclosureOptions(**({"threshold": "1/2", "sensitive": ("s",)} | options)),
        where,
    )


def linked(**options: Any) -> Requirement:
    return Requirement(identity.NAME, identity.IdentityDisclosureOptions(**({"threshold": "1/2"} | options)))


def law_of_sets(size: int, set_size: int) -> Any:
    each = Fraction(1, comb(size - 1, set_size - 1))
    return {(v,): {s: each for s in combinations(range(size), set_size) if v in s} for v in range(size)}


@dataclass
class World:
    """A table with a set-valued sensitive attribute, and what an attacker knows with its law."""

    original: Any
    channel: Product
    rows: list[dict[str, int]]
    laws: list[Any]
    law: Any
    other: Any


def world(worlds: Any, rng: Random, *, randomised: bool) -> World:
    """Return at most 14 people; quasi-identifiers as they are, or by any matrix; `t` in sets as well."""
    size, other = rng.randint(3, 5), rng.randint(3, 4)
    domains = {"a": worlds.labels(2, "a"), "b": worlds.labels(2, "b")}
    domains |= {"s": worlds.labels(size, "s"), "t": worlds.labels(other, "t")}
    policy = worlds.policy_of({n: (ROLES[n], d) for n, d in domains.items()})
    kinds = ["retention", "matrix", "recode", "identity"] if randomised else ["identity"]
    axes, laws = [], []
    for name in "ab":
        axis, law = worlds.one(rng, name, domains[name], kinds)
        axes.append(axis)
        laws.append(((name,), law))
    l, m = rng.randint(2, size - 1), rng.randint(2, other - 1)
    axes += [Sets.of("s", domains["s"], l), Sets.of("t", domains["t"], m)]
    rows = [
        {n: min(rng.randrange(len(d)), rng.randrange(len(d))) for n, d in domains.items()}
        for _ in range(rng.randint(1, 14))
    ]
    original = worlds.TableInMemory.of(policy, {n: [r[n] for r in rows] for n in domains})
    channel = Product(tuple(axes), (), tuple(domains))
    return World(original, channel, rows, laws, law_of_sets(size, l), law_of_sets(other, m))


def alpha_of(found: Any, i: int) -> Any:
    values = found.evidence.values[found.group[i]].tolist()
    return tuple((v,) for v in values)


@settings(deadline=None, max_examples=120, derandomize=True)
@given(seed=SEEDS, randomised=st.booleans())
def test_risk_and_success_are_their_definitions(worlds: Any, brute: Any, seed: int, randomised: bool) -> None:
    made = world(worlds, Random(seed), randomised=randomised)
    table = brute.Table(made.rows, made.laws, (), "s", made.law)
    expected, hits = table.risks(), table.success()

    found = attribute_risks(asked(), made.channel, made.original, "s")

    assert len(found.risk) == len(expected)
    exactly = found.exactly()
    for i, value in enumerate(found.value.tolist()):
        key = alpha_of(found, i), value
        assert found.risk[i] == pytest.approx(float(expected[key]), abs=TINY)
        assert found.risk_measure(i).standing is Standing.EXACT
        assert exactly(i) == expected[key]
        for bound in found.success:
            assert bound[i] == pytest.approx(float(hits[key]), abs=TINY)
        if not randomised:
            assert found.success[1][i] == pytest.approx(float(table.share(*key)), abs=TINY)
    if not randomised:
        assert found.worst == pytest.approx(float(table.worst_posterior()), abs=TINY)


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS)
def test_where_sets_are_too_many_upper_bounds_stand(worlds: Any, brute: Any, seed: int) -> None:
    made = world(worlds, Random(seed), randomised=True)
    table = brute.Table(made.rows, made.laws, (), "s", made.law)
    expected, hits = table.risks(), table.success()
    pairs = Random(seed).choice([-1, 2**30])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "MOST_ENTRIES", 0)
        patch.setattr(posterior, "MOST_PAIRS", pairs)
        found = attribute_risks(asked(), made.channel, made.original, "s")
        exactly = found.exactly()
        low, high = found.success
        for i, value in enumerate(found.value.tolist()):
            key = alpha_of(found, i), value
            assert found.risk[i] >= float(expected[key]) - TINY
            assert exactly(i) == expected[key]
            assert low[i] - TINY <= float(hits[key]) <= high[i] + TINY
            assert high[i] <= 1
            measure = found.risk_measure(i)
            assert (measure.standing is Standing.UPPER_BOUND) or measure.value == pytest.approx(float(expected[key]))
        worst = max(expected.values())
        finding = (
            attribute.AttributeDisclosure().assessors()[0].finding(asked(threshold=worst), made.channel, made.original)
        )
        assert (
            attribute.AttributeDisclosure()
            .assessors()[0]
            .finding(asked(threshold=1), made.channel, made.original)
            .verdict
            is Verdict.SATISFIED
        )
    if finding.verdict is Verdict.FAILED:
        assert finding.achieved is not None
        assert finding.achieved.standing is Standing.UPPER_BOUND
        assert finding.achieved.value > float(worst)


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS, randomised=st.booleans())
def test_verdicts_are_exact_at_the_limit(worlds: Any, brute: Any, seed: int, randomised: bool) -> None:
    made = world(worlds, Random(seed), randomised=randomised)
    worst = max(brute.Table(made.rows, made.laws, (), "s", made.law).risks().values())
    hair = Fraction(1, 10**30)

    assert attribute.AttributeDisclosure().assessors()[0].accepts(asked(threshold=worst), made.channel, made.original)
    assert (
        attribute.AttributeDisclosure()
        .assessors()[0]
        .finding(asked(threshold=worst), made.channel, made.original)
        .verdict
        is Verdict.SATISFIED
    )
    if worst > hair:
        below = (
            attribute.AttributeDisclosure()
            .assessors()[0]
            .finding(asked(threshold=worst - hair), made.channel, made.original)
        )
        assert below.verdict is Verdict.FAILED
        assert below.people_over > 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rrpolicy.privacy.disclosure.exact_risks.ExactSensitive._computed", lambda *_: None)
            assert (
                not attribute.AttributeDisclosure()
                .assessors()[0]
                .accepts(asked(threshold=worst), made.channel, made.original)
                or worst == 1
            )


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_a_known_attribute_in_sets_counts_as_if_nothing_hid_it(worlds: Any, brute: Any, seed: int) -> None:
    made = world(worlds, Random(seed), randomised=True)
    plain = {(v,): {v: Fraction(1)} for v in range(4)}
    revealed = brute.Table(made.rows, [*made.laws, (("t",), plain)], (), "s", made.law).risks()
    truth = brute.Table(made.rows, [*made.laws, (("t",), made.other)], (), "s", made.law).risks()

    found = attribute_risks(asked(known_sensitive=True), made.channel, made.original, "s", others_known=True)

    for i, value in enumerate(found.value.tolist()):
        key = alpha_of(found, i), value
        assert found.risk[i] == pytest.approx(float(revealed[key]), abs=TINY)
        assert found.risk[i] >= float(truth[key]) - TINY
        assert found.risk_measure(i).standing is Standing.UPPER_BOUND
    finding = (
        attribute.AttributeDisclosure()
        .assessors()[0]
        .finding(asked(threshold=1, known_sensitive=True), made.channel, made.original)
    )
    assert any("released unchanged" in text and "'t'" in text for text in finding.assumptions)


def test_a_quasi_identifier_in_sets_is_an_upper_bound_too(worlds: Any, brute: Any) -> None:
    policy = worlds.policy_of(
        {"a": ("quasi-identifier", ("a0", "a1", "a2")), "b": ("quasi-identifier", ("b0", "b1")), "s": ("sensitive", ("s0", "s1"))}
    )  # fmt: skip
    rng = Random(7)
    rows = [{"a": rng.randrange(3), "b": rng.randrange(2), "s": rng.randrange(2)} for _ in range(25)]
    original = worlds.TableInMemory.of(policy, {n: [r[n] for r in rows] for n in "abs"})
    b, law_b = worlds.retention("b", ("b0", "b1"), [(0, 1)], [Fraction(3, 4)])
    s, law_s = worlds.retention("s", ("s0", "s1"), [(0, 1)], [Fraction(4, 5)])
    channel = Product((Sets.of("a", ("a0", "a1", "a2"), 2), b, s), (), ("a", "b", "s"))
    laws = [(("a",), law_of_sets(3, 2)), (("b",), law_b)]
    plain = [(("a",), {(v,): {v: Fraction(1)} for v in range(3)}), (("b",), law_b)]

    finding = identity.IdentityDisclosure().assessors()[0].finding(linked(threshold=1), channel, original)
    risk = attribute.AttributeDisclosure().assessors()[0].finding(asked(threshold=1), channel, original)

    truth, bound = (max(brute.Table(rows, known).links().values()) for known in (laws, plain))
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(bound))
    assert bound > truth
    assert finding.achieved.standing is Standing.UPPER_BOUND
    assert any("'a'" in text for text in finding.assumptions)
    assert risk.achieved is not None
    assert risk.achieved.value == pytest.approx(float(max(brute.Table(rows, plain, (), "s", law_s).risks().values())))
    assert risk.achieved.standing is Standing.UPPER_BOUND


def test_an_unimportant_attribute_in_sets_is_no_evidence(worlds: Any) -> None:
    policy = worlds.policy_of(
        {"a": ("quasi-identifier", ("a0",)), "x": ("insensitive", ("x0", "x1", "x2")), "s": ("sensitive", ("s0", "s1"))}
    )
    original = worlds.TableInMemory.of(policy, {"a": [0] * 4, "x": [0, 0, 1, 2], "s": [0, 0, 1, 1]})
    channel = Product(
        (Identity.of("a", ("a0",)), Sets.of("x", ("x0", "x1", "x2"), 2), Identity.of("s", ("s0", "s1"))),
        (), ("a", "x", "s"),
    )  # fmt: skip

    finding = attribute.AttributeDisclosure().assessors()[0].finding(asked(), channel, original)

    assert finding.achieved is not None
    assert (finding.achieved.value, finding.achieved.standing) == (0.5, Standing.EXACT)


def test_linking_with_a_sensitive_attribute_in_sets(worlds: Any, brute: Any) -> None:
    made = world(worlds, Random(3), randomised=True)
    links = brute.Table(made.rows, made.laws).links()

    finding = (
        identity.IdentityDisclosure()
        .assessors()[0]
        .finding(linked(threshold=max(links.values())), made.channel, made.original)
    )

    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(max(links.values())))
    assert finding.achieved.standing is Standing.EXACT


def test_what_a_set_may_give_away_stands_beside(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1", "s2", "s3"))})
    original = worlds.TableInMemory.of(policy, {"a": [0] * 5 + [1] * 4, "s": [0, 0, 0, 0, 1, 0, 1, 2, 3]})
    channel = Product((Identity.of("a", ("a0", "a1")), Sets.of("s", ("s0", "s1", "s2", "s3"), 3)), (), ("a", "s"))

    def told(**where: str) -> dict[str, float]:
        finding = (
            attribute.AttributeDisclosure().assessors()[0].finding(asked(threshold=1, where=where), channel, original)
        )
        return {c.name: c.measure.value for c in finding.companions if c.of == "s"}

    everyone = told()
    assert everyone["people with a posterior of 1"] == 5  # both other entries may be what nobody in a0 has
    assert everyone["largest posterior"] == everyone["maximum posterior"] == 1
    assert told(a="a1")["people with a posterior of 1"] == 0
    assert told(a="a1")["largest posterior"] == pytest.approx(1 / 3)
    assert told(s="s1")["people with a posterior of 1"] == 1


# --- several attributes in one set of combinations


def together(worlds: Any, rng: Random) -> Any:
    """Return (original, channel, rows, sizes, l) with `s` and `t` hidden as one, quasi-identifiers as they are."""
    sizes = (rng.randint(2, 3), rng.randint(2, 3))
    domains = {"a": ("a0", "a1"), "s": worlds.labels(sizes[0], "s"), "t": worlds.labels(sizes[1], "t")}
    policy = worlds.policy_of({n: (ROLES[n], d) for n, d in domains.items()})
    rows = [
        {n: min(rng.randrange(len(d)), rng.randrange(len(d))) for n, d in domains.items()}
        for _ in range(rng.randint(1, 12))
    ]
    original = worlds.TableInMemory.of(policy, {n: [r[n] for r in rows] for n in domains})
    l = rng.randint(2, sizes[0] * sizes[1] - 1)
    columns = tuple(Column(n, "set", domains[n], "", n) for n in "st")
    axis = Sets((Domain("s", domains["s"]), Domain("t", domains["t"])), columns, l)
    return original, Product((Identity.of("a", domains["a"]), axis), (), ("a", "s", "t")), rows, sizes, l


def read_one(rows: Any, sizes: Any, l: int, name: str, *, other_known: bool) -> dict[Any, Fraction]:
    """Return c_u R_S(u | alpha) of one attribute: the mean square of its posterior, over c_u, all sets enumerated."""
    other = "t" if name == "s" else "s"
    groups = defaultdict(list)
    for row in rows:
        groups[(row["a"], row[other]) if other_known else (row["a"],)].append(row)
    cells = list(product(range(sizes[0]), range(sizes[1])))
    found = {}
    for key, people in groups.items():
        share = {c: Fraction(sum((p["s"], p["t"]) == c for p in people), len(people)) for c in cells}
        seen: dict[Any, dict[int, Fraction]] = {}
        for held in combinations(cells, l):
            for c in held:
                chance = share[c] / comb(len(cells) - 1, l - 1)
                of = seen.setdefault(held, defaultdict(Fraction))
                of[c["st".index(name)]] += chance
        for u in {p[name] for p in people}:
            total = sum((of[u] ** 2 / sum(of.values()) for of in seen.values() if sum(of.values())), Fraction(0))
            found[key, u] = total
    return found


@settings(deadline=None, max_examples=100, derandomize=True)
@given(seed=SEEDS, name=st.sampled_from("st"), other_known=st.booleans(), listed=st.booleans())
def test_one_of_several_attributes_is_read_out_of_their_combinations(
    worlds: Any, seed: int, name: str, other_known: bool, listed: bool
) -> None:
    original, channel, rows, sizes, l = together(worlds, Random(seed))
    expected = read_one(rows, sizes, l, name, other_known=other_known)
    entry = asked(sensitive=(name,), known_sensitive=other_known)
    with pytest.MonkeyPatch.context() as patch:
        if not listed:
            patch.setattr(posterior, "MOST_ENTRIES", 0)
        found = attribute_risks(entry, channel, original, name, others_known=other_known)
        assert len(found.risk) == len(expected)
        exactly = found.exactly()
        for i, value in enumerate(found.value.tolist()):
            key = tuple(found.evidence.values[found.group[i]].tolist()), value
            assert exactly(i) == expected[key]
            if listed:
                assert found.risk[i] == pytest.approx(float(expected[key]), abs=TINY)
            else:
                assert found.risk[i] >= float(expected[key]) - TINY
            assert found.success[1][i] == pytest.approx(found.share[i])
        assert found.worst is None
        finding = attribute.AttributeDisclosure().assessors()[0].finding(entry, channel, original)
    assert finding.verdict in {Verdict.SATISFIED, Verdict.FAILED}
    assert {"largest posterior", "people with a posterior of 1"} <= {
        c.name for c in finding.companions if "s x t" in c.of
    }


def test_attributes_that_stand_together_are_refused_unless_they_can_be_read(worlds: Any) -> None:
    policy = worlds.policy_of({n: (ROLES[n], ("0", "1")) for n in "ast"})
    pair = (("s", "t"), Sets)

    assert attribute.layout(asked(), policy, [(("a",), Identity), pair]) is None
    for axes, told in (
        ([(("a", "s"), Matrix)], "together with 'a'"),
        ([(("a", "s"), Sets)], "'a'"),
        ([], "categories"),
    ):
        reason, hint = attribute.layout(asked(), policy, axes) or ("", "")
        assert told in reason
        assert hint
    by_one_matrix = [(("s", "t"), Matrix)]
    assert attribute.layout(asked(), policy, by_one_matrix) is None
    reason, hint = attribute.layout(asked(measure="correct-reading"), policy, by_one_matrix) or ("", "")
    assert "one matrix randomises" in reason
    assert hint


# --- axes of plugins


class Guarded:
    """What a plugin might bring: an axis that bounds expected posteriors, and tells nothing else of what it does."""

    kind = "guarded"

    def __init__(self, matrix: Matrix, slack: float) -> None:
        self.matrix, self.slack = matrix, slack
        self.attributes, self.original_size = matrix.attributes, matrix.original_size
        self.columns, self.max_ratio, self.min_cross_ratio = matrix.columns, lambda: None, lambda: Fraction(0)

    def expected_posterior(self, prior: Any) -> Any:
        released = self.matrix.forward(prior, prior.ndim - 1)
        inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
        exactly = prior * self.matrix.back(inverse, prior.ndim - 1, 2)
        return exactly * (1 - self.slack), np.minimum(exactly * (1 + self.slack), np.where(prior > 0, 1.0, 0.0))


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS, slack=st.sampled_from([0.0, 0.05]))
def test_an_axis_that_tells_posteriors_alone_is_assessed(worlds: Any, brute: Any, seed: int, slack: float) -> None:
    rng = Random(seed)
    made = world(worlds, rng, randomised=True)
    domain = made.original.policy.attributes["s"].domain
    matrix, law = worlds.matrix(rng, ["s"], [domain])
    axis: Any = Guarded(matrix, slack)
    assert isinstance(axis, Posterior)
    assert not isinstance(axis, (Transition, Readable))
    table = brute.Table(made.rows, made.laws, (), "s", law)
    expected, hits = table.risks(), table.success()
    channel = Product((*made.channel.axes[:2], axis, made.channel.axes[3]), (), ("a", "b", "s", "t"))

    assert (
        attribute.AttributeDisclosure()
        .assessors()[0]
        .supports(asked(), made.original.policy, [Identity, Guarded, Sets])
        is None
    )
    found = attribute_risks(asked(), channel, made.original, "s")

    low, high = found.success
    for i, value in enumerate(found.value.tolist()):
        key = alpha_of(found, i), value
        assert float(expected[key]) - TINY <= found.risk[i] <= float(expected[key]) * (1 + slack) + TINY
        assert low[i] - TINY <= float(hits[key]) <= high[i] + TINY
        assert (found.risk_measure(i).standing is Standing.EXACT) == (slack == 0 or found.own[0][i] == found.own[1][i])
        assert found.exactly()(i) is None
    worst = max(found.risk.max(), 1e-9)
    verdict = (
        attribute.AttributeDisclosure()
        .assessors()[0]
        .finding(asked(threshold=Fraction(min(worst, 1.0))), channel, made.original)
        .verdict
    )
    assert verdict is (
        Verdict.FAILED if worst < 1 else Verdict.SATISFIED
    )  # nothing tells on which side of it the risk lies
    if worst < 0.9:
        enough = asked(threshold=Fraction(worst * 1.01))
        assert (
            attribute.AttributeDisclosure().assessors()[0].finding(enough, channel, made.original).verdict
            is Verdict.SATISFIED
        )


def test_what_cannot_be_read_at_all_is_refused_at_check_time(worlds: Any) -> None:
    silent: Any = type("Silent", (Axis,), {"kind": "silent"})
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0",)), "s": ("sensitive", ("s0",))})

    for model, entry in ((attribute, asked()), (identity, linked())):
        assert "'silent' axes" in (assessors_of(model.NAME)[0].supports(entry, policy, [Identity, silent]) or "")


# --- optimisers, and the kit


def test_floors_and_slopes_beside_sets(worlds: Any) -> None:
    made = world(worlds, Random(11), randomised=False)
    a, _ = worlds.retention("a", ("a0", "a1"), [(0, 1)], [Fraction(4, 5)])
    channel = Product((a, *made.channel.axes[1:]), (), ("a", "b", "s", "t"))
    entry = asked(threshold="1/100")

    (assessor,) = [x for x in attribute.AttributeDisclosure().assessors() if x.channel is Product]
    (finding,) = check_assessor(
        assessor, open_policy(replace(made.original.policy, requirements=(entry,))), [channel], [made.original]
    )
    (floor,) = attribute_minimum(entry, channel, made.original)

    assert finding.achieved is not None
    assert assessor.smooth is not None
    smooth = assessor.smooth(entry, channel, made.original)
    assert smooth.value(np.array([0.8])).max() == pytest.approx(finding.achieved.value * 100 - 1)
    assert not smooth.bound
    assert 0 < floor.achieved <= finding.achieved.value
    known = assessor.smooth(asked(known_sensitive=True), channel, made.original)
    assert known.bound


def test_a_refusal_names_the_place(worlds: Any) -> None:
    policy = worlds.policy_of({n: (ROLES[n], ("0", "1")) for n in "as"})
    axis, _ = worlds.matrix(Random(1), ["a", "s"], [("0", "1"), ("0", "1")])
    original = worlds.TableInMemory.of(policy, {"a": [0, 1], "s": [0, 1]})

    with pytest.raises(PolicyError) as caught:
        attribute.AttributeDisclosure().assessors()[0].finding(asked(), Product((axis,), (), ("a", "s")), original)

    (problem,) = caught.value.problems
    assert (problem.code, bool(problem.hint)) == ("RR227", True)


# --- an attacker


def test_an_attacker_hits_as_often_as_risk_and_success_say(worlds: Any, brute: Any) -> None:
    """Records are drawn from the table, randomised by the axes themselves, and attacked by posterior weight."""
    rng = Random(2)
    names = {"a": ("a0", "a1", "a2"), "s": ("s0", "s1", "s2", "s3", "s4")}
    policy = worlds.policy_of({n: (ROLES[n], d) for n, d in names.items()})
    rows = [
        {"a": a, "s": min(rng.randrange(5), rng.randrange(3 + a))}
        for a in (rng.choice((0, 0, 1, 2)) for _ in range(50))
    ]
    original = worlds.TableInMemory.of(policy, {n: [r[n] for r in rows] for n in names})
    a, law_a = worlds.retention("a", names["a"], [(0, 1, 2)], [Fraction(7, 10)])
    s = Sets.of("s", names["s"], 3)
    found = attribute_risks(asked(), Product((a, s), (), ("a", "s")), original, "s")
    draws, streams = 300_000, Streams.for_tests(8)
    generator = np.random.default_rng(4)
    person = generator.integers(0, len(rows), draws)
    group, value = (np.array([r[n] for r in rows])[person] for n in ("a", "s"))
    dense = np.array([[float(law_a[v,].get(u, 0)) for v in range(3)] for u in range(3)])
    released = (generator.random(draws) > np.cumsum(dense, axis=0)[:, group]).sum(axis=0)
    cell, sets, _ = s.split(value, np.ones(draws, dtype=np.int64), streams.stream("axis"))
    assert (cell == np.arange(draws)).all()
    n = np.array([[sum(r["a"] == g and r["s"] == u for r in rows) for u in range(5)] for g in range(3)])
    pi = n.sum(axis=1) / len(rows)
    for alpha in range(3):
        weight = dense[released, alpha] * pi[alpha] / (dense[released] @ pi)
        taken = generator.random(draws) < weight
        c = n[alpha, sets[taken]].astype(float)
        drawn = c.sum(axis=1) > 0  # else the set holds nothing that occurs in the group: nothing is read
        c[~drawn] = 1
        at = (generator.random(len(c))[:, None] > np.cumsum(c / c.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
        read = np.where(drawn, np.take_along_axis(sets[taken], at[:, None].clip(max=2), axis=1)[:, 0], -1)
        for i in np.flatnonzero(found.group == alpha).tolist():
            assert found.evidence.values[alpha, 0] == alpha
            u = int(found.value[i])
            hit = read == u
            own = hit & (group[taken] == alpha) & (value[taken] == u)
            for times, chance in ((own.sum(), found.risk[i]), (hit.sum(), found.success[1][i])):
                assert binomtest(int(times), int(taken.sum()), float(chance)).pvalue > 1e-7
    i = int(np.argmax(found.people))
    assert abs(found.risk[i] - found.success[1][i]) > 0.05  # the two are told apart


@pytest.mark.parametrize("l", [2, 3])
def test_the_sets_of_others_tell_nothing_of_a_record(l: int) -> None:
    """Who reads the sets of everybody knows no more than by the record's own: own shares are the whole posterior.

    Unlike the members of dealt groups, records release their sets each for itself: all values and sets of three people
    with different shares, gone through.
    """
    shares = [[Fraction(n, 6) for n in row] for row in ((3, 2, 1, 0), (0, 1, 1, 4), (2, 2, 2, 0))]
    law = law_of_sets(4, l)
    joint: dict[Any, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for values in product(range(4), repeat=3):
        prior = np.prod([shares[i][v] for i, v in enumerate(values)])
        for sets in product(*(law[(v,)].items() for v in values)) if prior else ():
            joint[tuple(s for s, _ in sets)][values[0]] += prior * np.prod([chance for _, chance in sets])

    for seen, chances in joint.items():
        own = {v: shares[0][v] for v in seen[0] if shares[0][v]}
        assert dict(chances) == {v: c / sum(own.values()) * sum(chances.values()) for v, c in own.items()}
