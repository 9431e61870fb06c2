"""Disclosure through tuple suppression against an attacker who goes through the released records one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.errors import DataError
from rrpolicy.finding import Basis, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from rrpolicy.privacy.suppression import assessors as parted
from rrpolicy.privacy.suppression.disclosure import attribute_risks, linkage_chances
from rrpolicy.testing import check_assessor, open_policy

SEEDS = st.integers(0, 2**32)
STAR = ("*", "*")
RISK, LINK = parted.assessors()


def asked(**options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(**({"threshold": "1/2"} | options)), where)


def linked(**options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(identity.NAME, identity.IdentityDisclosureOptions(**({"threshold": "1/2"} | options)), where)


@dataclass
class World:
    """People, and what is released of each, in the same order."""

    original: Any
    channel: SuppressionChannel
    people: list[tuple[tuple[str, str], str]]
    released: list[tuple[tuple[str, str], str]]


def world(worlds: Any, rng: Random, most: int = 14) -> World:
    domains = {"a": worlds.labels(2, "a"), "b": worlds.labels(2, "b"), "s": worlds.labels(rng.randint(2, 4), "s")}
    roles = {"a": "quasi-identifier", "b": rng.choice(["quasi-identifier", "insensitive"]), "s": "sensitive"}
    policy = worlds.policy_of({n: (roles[n], d) for n, d in domains.items()})
    rows = [tuple(min(rng.randrange(len(d)), rng.randrange(len(d))) for d in domains.values()) for _ in range(most)]
    rows = rows[: rng.randint(1, most)]
    gone = [rng.random() < 0.4 for _ in rows]
    moved = Counter(row for row, suppressed in zip(rows, gone, strict=True) if suppressed)
    original = worlds.TableInMemory.of(policy, {n: [row[i] for row in rows] for i, n in enumerate(domains)})
    known = [policy.attributes[n] for n in "ab"]
    channel = SuppressionChannel.of(known, policy.attributes["s"], [(*row, n) for row, n in moved.items()])
    people = [((f"a{a}", f"b{b}"), f"s{s}") for a, b, s in rows]
    released = [(STAR if suppressed else p[0], p[1]) for p, suppressed in zip(people, gone, strict=True)]
    return World(original, channel, people, released)


class Attacker:
    """Knows everybody's quasi-identifiers and the channel's law; draws by posterior weight. Records, not formulas."""

    def __init__(self, made: World) -> None:
        self.made = made
        counted = Counter(alpha for alpha, _ in made.people)
        behind: dict[Any, Counter[Any]] = defaultdict(Counter)
        for (alpha, _), (seen, _) in zip(made.people, made.released, strict=True):
            behind[seen][alpha] += 1
        self.weight = {
            alpha: [Fraction(behind[seen][alpha], behind[seen].total()) / n for seen, _ in made.released]
            for alpha, n in counted.items()
        }

    def chances(self) -> tuple[dict[Any, Fraction], dict[Any, Fraction], list[Fraction]]:
        """Return risk and success by (alpha, u), and link by person."""
        people, weights = self.made.people, self.weight
        risk, success = {}, {}
        for alpha, u in set(people):
            assert sum(weights[alpha]) == 1
            pairs = list(zip(people, weights[alpha], strict=True))
            risk[alpha, u] = sum((w for p, w in pairs if p == (alpha, u)), Fraction(0))
            success[alpha, u] = sum((w for p, w in pairs if p[1] == u), Fraction(0))
        own = [weights[alpha][i] for i, (alpha, _) in enumerate(people)]
        # who of people that agree in everything is suppressed is not told: each is any of their records
        total: dict[Any, Fraction] = defaultdict(Fraction)
        for person, w in zip(people, own, strict=True):
            total[person] += w
        return risk, success, [total[p] / people.count(p) for p in people]


def key_of(found: Any, i: int) -> Any:
    a, b = found.evidence.values[found.group[i]].tolist()
    return (f"a{a}", f"b{b}"), f"s{found.value[i]}"


@settings(deadline=None, max_examples=200, derandomize=True)
@given(seed=SEEDS)
def test_risk_success_and_link_are_those_of_the_attacker(worlds: Any, seed: int) -> None:
    made = world(worlds, Random(seed))
    risk, success, link = Attacker(made).chances()

    found = attribute_risks(asked(), made.channel, made.original)
    chains = linkage_chances(linked(), made.channel, made.original)

    assert len(found.risk) == len(chains.link) == len(risk)
    told, linked_to = found.exactly(), chains.exactly()
    for i in range(len(risk)):
        key = key_of(found, i)
        assert told(i) == risk[key]
        assert found.risk[i] == pytest.approx(float(risk[key]), abs=1e-14)
        assert [x[i] for x in found.success] == pytest.approx([float(success[key])] * 2, abs=1e-14)
        assert linked_to(i) == link[made.people.index(key)]
        assert chains.link[i] == pytest.approx(float(link[made.people.index(key)]), abs=1e-14)
    finding = attribute_finding(made, threshold=1)
    by = {(c.of, c.name): c.measure for c in finding.companions}
    assert by["s", "value read correctly"].value == pytest.approx(float(max(success.values())))
    shares = [Fraction(made.people.count(p), sum(q[0] == p[0] for q in made.people)) for p in made.people]
    assert by["s", "largest within-group share"].value == pytest.approx(float(max(shares)))
    behind = defaultdict(Counter)
    for person, seen in zip(made.people, made.released, strict=True):
        behind[seen][person] += 1
    worst = max(Fraction(max(c.values()), c.total()) for c in behind.values())
    assert by["s", "maximum posterior"].value == pytest.approx(float(worst))
    classes = Counter(seen for seen, _ in made.released)
    assert by["", "1/smallest class"].value == pytest.approx(1 / min(classes.values()))
    assert {c.basis for c in finding.companions if c.name == "1/smallest class"} == {Basis.RELEASE}


def attribute_finding(made: World, **options: Any) -> Any:
    return RISK.finding(asked(**options), made.channel, made.original)


@settings(deadline=None, max_examples=120, derandomize=True)
@given(seed=SEEDS, tie=st.booleans(), inside=st.booleans())
def test_verdicts_are_exact_by_value_and_in_subgroups(worlds: Any, seed: int, tie: bool, inside: bool) -> None:
    made, rng = world(worlds, Random(seed)), Random(seed + 1)
    risk, _, _ = Attacker(made).chances()
    tau = rng.choice(list(risk.values())) if tie else Fraction(rng.randint(1, 20), 20)
    special = rng.choice([{}, {"s0": Fraction(1)}, {"s0": Fraction(1, 3)}])
    where = {"a": "a0"} | rng.choice([{}, {"s": "s1"}]) if inside else {}
    entry = asked(threshold=tau, thresholds=special, where=where)
    mine = {
        key: r for key, r in risk.items() if where.get("a", key[0][0]) == key[0][0] and where.get("s", key[1]) == key[1]
    }
    over = {key for key, r in mine.items() if r > special.get(key[1], tau)}

    finding = RISK.finding(entry, made.channel, made.original)

    assert attribute.AttributeDisclosure().assessors()[0].supports(entry, made.original.policy, ()) is None
    assert finding.verdict is (Verdict.FAILED if over else Verdict.SATISFIED)
    assert RISK.accepts(entry, made.channel, made.original) is not bool(over)
    assert finding.people_over == sum(made.people.count(key) for key in over)
    assert finding.achieved is not None
    assert finding.achieved.standing is Standing.EXACT
    if not special:
        assert finding.achieved.value == pytest.approx(float(max(mine.values(), default=Fraction(0))))


@settings(deadline=None, max_examples=150, derandomize=True)
@given(
    seed=SEEDS, percentile=st.sampled_from([None, "1", "20", "100/3", "100"]), tie=st.booleans(), inside=st.booleans()
)
def test_linking_verdicts_are_exact(worlds: Any, seed: int, percentile: str | None, tie: bool, inside: bool) -> None:
    made, rng = world(worlds, Random(seed)), Random(seed + 1)
    _, _, link = Attacker(made).chances()
    each = [x for x, (alpha, _) in zip(link, made.people, strict=True) if not inside or alpha[0] == "a0"]
    each.sort(reverse=True)
    wanted = 1 if percentile is None else max(1, int(len(each) * Fraction(percentile) / 100))
    mean = sum(each[:wanted], Fraction(0)) / wanted
    tau = mean if tie and mean else Fraction(rng.randint(1, 20), 20)
    entry = linked(threshold=tau, percentile=percentile, where={"a": "a0"} if inside else {})

    finding = LINK.finding(entry, made.channel, made.original)

    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(mean))
    assert (finding.verdict is Verdict.SATISFIED) == (mean <= tau)
    assert LINK.accepts(entry, made.channel, made.original) == (mean <= tau)
    if percentile is None:
        assert finding.people_over == sum(x > tau for x in each)


def test_nothing_suppressed_and_everything_suppressed(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0, 0, 1], "s": [0, 0, 1, 1]})
    known, sensitive = [policy.attributes["a"]], policy.attributes["s"]
    none, every = (SuppressionChannel.of(known, sensitive, moved) for moved in ([], [(0, 0, 2), (0, 1, 1), (1, 1, 1)]))

    assert RISK.finding(asked(), none, original).achieved.value == 1  # whoever is alone
    assert LINK.finding(linked(), none, original).achieved.value == 1
    assert RISK.finding(asked(), every, original).achieved.value == pytest.approx(2 / 4)
    assert LINK.finding(linked(), every, original).achieved.value == pytest.approx(1 / 4)


def test_only_with_the_table_is_anything_decided(worlds: Any) -> None:
    made = world(worlds, Random(1))
    for assessor, entry in ((RISK, asked()), (LINK, linked())):
        for channel in (made.channel, SuppressionChannel.from_json(made.channel.to_public_json(), {})):
            finding = assessor.finding(entry, channel, 100)
            assert (finding.verdict, finding.basis) == (Verdict.UNDECIDED, Basis.ORIGINAL)
            assert not assessor.accepts(entry, channel, 100)


def test_another_table_is_refused(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0], "s": [0, 0]})
    channel = SuppressionChannel.of([policy.attributes["a"]], policy.attributes["s"], [(1, 1, 1)])

    for assessor, entry in ((RISK, asked()), (LINK, linked())):
        with pytest.raises(DataError, match="RR334"):
            assessor.finding(entry, channel, original)


def test_the_kit_accepts_the_assessors(worlds: Any) -> None:
    made = world(worlds, Random(5))

    found = [
        check_assessor(
            assessor, open_policy(replace(made.original.policy, requirements=(entry,))), [made.channel], [made.original]
        )[0]
        for assessor, entry in ((RISK, asked(threshold=1)), (LINK, linked(threshold="1/1000")))
    ]

    assert [f.verdict for f in found] == [Verdict.SATISFIED, Verdict.FAILED]
    assert found[0].profile is not None
    assert sum(found[0].profile.people) == len(made.people)


def test_an_attacker_who_draws_hits_as_often(worlds: Any) -> None:
    made = world(worlds, Random(12), most=60)
    found = attribute_risks(asked(), made.channel, made.original)
    chains = linkage_chances(linked(), made.channel, made.original)
    weights, generator, draws = Attacker(made).weight, np.random.default_rng(3), 200_000
    for i in range(len(found.risk)):
        alpha, u = key_of(found, i)
        drawn = generator.choice(len(made.people), size=draws, p=[float(w) for w in weights[alpha]])
        same = np.array([p == (alpha, u) for p in made.people])[drawn].sum()
        read = np.array([p[1] == u for p in made.people])[drawn].sum()
        for times, chance in ((same, found.risk[i]), (read, found.success[1][i])):
            assert binomtest(int(times), draws, min(float(chance), 1.0)).pvalue > 1e-7
        whose = generator.integers(0, made.people.count((alpha, u)), draws)  # one of those who agree in everything
        hit = int((np.array([p == (alpha, u) for p in made.people])[drawn] & (whose == 0)).sum())
        assert binomtest(hit, draws, float(chains.link[i])).pvalue > 1e-7
