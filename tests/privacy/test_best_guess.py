"""The best guess and its gain against enumeration: who knows the record, reads all of it, names the likeliest value."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.declarations import Role
from rrpolicy.finding import Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Requirement
from rrpolicy.privacy.anatomy.assessors import assessors as of_groups
from rrpolicy.privacy.anatomy.disclosure import guess_bounds
from rrpolicy.privacy.disclosure import best_guess
from rrpolicy.privacy.disclosure.best_guess import READ_OFF, protected_attribute_guesses
from rrpolicy.privacy.disclosure.minimum_risk import with_common_retention
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.suppression.assessors import assessors as of_suppression
from rrpolicy.testing import TableInMemory, check_assessor, open_policy
from tests.privacy import deals

SEEDS = st.integers(0, 2**32)
TINY = 1e-12
(PRODUCT,) = attribute.AttributeDisclosure().assessors()
Everybody = dict[Any, list[dict[str, Any]]]


def asked(threshold: Any = "1/2", measure: str = "best-guess", **options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(
        attribute.NAME, attribute.AttributeDisclosureOptions(measure=measure, threshold=threshold, **options), where
    )


def groups_of(world: Any, *known: str, read_off: bool = False) -> Everybody:
    people: Everybody = defaultdict(list)
    for row in world.rows:
        people[tuple(row[name] for name in (*known, *(() if read_off else world.carried)))].append(row)
    return people


def right(
    people: list[dict[str, Any]], world: Any, guessed: str, read: tuple[str, ...], told: tuple[str, ...]
) -> Fraction:
    """Return how often the likeliest value is the true one, for who reads some columns released, and is told others."""
    weight: dict[Any, Fraction] = defaultdict(Fraction)
    for row in people:
        columns = [world.law(name)[row[name],].items() for name in (guessed, *read)]
        for outcome in itertools.product(*columns):
            chance = math.prod((p for _, p in outcome), start=Fraction(1))
            seen = (*(u for u, _ in outcome), *(row[name] for name in told))
            weight[seen, row[guessed]] += chance / len(people)
    best: dict[Any, Fraction] = defaultdict(Fraction)
    for (seen, _), chance in weight.items():
        best[seen] = max(best[seen], chance)
    return sum(best.values(), Fraction(0))


def guessed(
    world: Any, sensitive: str, *, others_known: bool = False, read_off: bool = False, **options: Any
) -> dict[Any, Any]:
    """Return the numbers of the code under test: group -> (V, exactly, largest share, exact)."""
    entry = asked(sensitive=(sensitive,), known_sensitive=others_known, **options)
    every = list(protected_attribute_guesses(entry, world.channel, world.original))
    held = [held for held in every if held.of.endswith(READ_OFF) is read_off][-1]
    other = {"s": "t", "t": "s"}[sensitive]
    apart = () if read_off else ("x", *world.carried)
    known = ("a", "b", *apart[:1], *([other] if others_known else ()), *apart[1:])
    found = {}
    exactly = held.exactly()
    for i, group in enumerate(held.group.tolist()):
        names, labels = held.evidence.names, held.evidence.labels
        values = dict(zip(names, held.evidence.values[group].tolist(), strict=True))
        key = tuple(labels[names.index(n)][values[n]] if n in world.carried else values[n] for n in known)
        found[key] = float(held.number[i]), exactly(i), float(held.share[i]), held.exact
    return found


@settings(deadline=None, max_examples=120, derandomize=True)
@given(seed=SEEDS, sensitive=st.sampled_from("st"), others=st.booleans())
def test_the_best_guess_is_that_of_who_reads_the_whole_record(
    worlds: Any, seed: int, sensitive: str, others: bool
) -> None:
    world = worlds.world(Random(seed))
    other = {"s": "t", "t": "s"}[sensitive]
    found = guessed(world, sensitive, others_known=others)
    people = groups_of(world, "a", "b", "x", *([other] if others else ()))
    assert set(found) == set(people)
    plain = isinstance(next(a for a in world.channel.axes if other in a.attributes), Identity)
    for key, (number, exactly, share, exact) in found.items():
        reads = right(people[key], world, sensitive, () if others else (other,), ())
        revealed = right(people[key], world, sensitive, (), (other,))
        most = max(Counter(row[sensitive] for row in people[key]).values())
        assert share == most / len(people[key])
        assert exact is (others or plain)
        assert exactly == (revealed if not others else reads)
        assert number == pytest.approx(float(exactly), abs=TINY)
        assert exactly >= reads >= Fraction(most, len(people[key]))
        if exact:
            assert exactly == reads


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_the_gain_is_over_the_largest_share_of_the_same_group(worlds: Any, seed: int) -> None:
    world = worlds.world(Random(seed))
    best, gain = guessed(world, "s"), guessed(world, "s", measure="gain")
    for key, (number, exactly, share, _) in gain.items():
        most = max(Counter(row["s"] for row in groups_of(world, "a", "b", "x")[key]).values())
        assert exactly == best[key][1] - Fraction(most, len(groups_of(world, "a", "b", "x")[key]))
        assert number == pytest.approx(best[key][0] - share, abs=TINY)
        assert number >= 0


@settings(deadline=None, max_examples=120, derandomize=True)
@given(seed=SEEDS, sensitive=st.sampled_from("st"), others=st.booleans())
def test_what_is_read_off_the_record_is_no_knowledge_from_before(
    worlds: Any, seed: int, sensitive: str, others: bool
) -> None:
    """An insensitive column released as it is adds to the gain of an attacker who knew the quasi-identifiers alone."""
    world = worlds.world(Random(seed))
    other = {"s": "t", "t": "s"}[sensitive]
    found = guessed(world, sensitive, others_known=others, read_off=True, measure="gain")
    people = groups_of(world, "a", "b", *([other] if others else ()), read_off=True)
    assert set(found) == set(people)
    for key, (number, exactly, share, exact) in found.items():
        before = Fraction(max(Counter(row[sensitive] for row in people[key]).values()), len(people[key]))
        reads = right(people[key], world, sensitive, ("x", *(() if others else (other,))), tuple(world.carried))
        revealed = right(people[key], world, sensitive, ("x",), (*world.carried, *(() if others else (other,))))
        assert share == float(before)
        assert exactly == (reads if exact else revealed) - before
        assert number == pytest.approx(float(exactly), abs=TINY)
        assert exactly >= reads - before >= 0


def test_the_gain_from_an_insensitive_column_is_that_from_a_sensitive_one(worlds: Any) -> None:
    """Two of a group of five have z0 alone; who sees z names s of all five rightly, where three were right before."""
    gains = {}
    for role in ("insensitive", "sensitive"):
        spec = {"q": ("quasi-identifier", "kl"), "s": ("sensitive", "ABC"), "z": (role, "xyz")}
        policy = worlds.policy_of(spec)
        columns = {"q": [0, 0, 0, 0, 0, 1, 1], "s": [0, 0, 0, 1, 2, 1, 1], "z": [1, 1, 1, 0, 2, 0, 1]}
        plain = tuple(Identity.of(name, tuple(spec[name][1])) for name in "qz")
        axes = (*plain, Retention.uniform("s", tuple("ABC"), Fraction(1, 3), "s"))
        channel = worlds.Product(axes, (), ("q", "z", "s"))
        entry = asked("1/10", "gain", sensitive=("s",))
        original = worlds.TableInMemory.of(policy, columns)
        finding = PRODUCT.finding(entry, channel, original)
        assert finding.verdict is Verdict.FAILED
        gains[role] = finding.achieved
        other = PRODUCT.finding(asked("9/10", sensitive=("s",)), channel, original)
        assert max(c.measure.value for c in other.companions if c.name.startswith("gain")) == gains[role].value
    assert gains["insensitive"] == gains["sensitive"]
    assert gains["sensitive"].value == pytest.approx(2 / 5, abs=TINY)


def wrong_share(shares: Any, axis: Any) -> Any:
    """Guess unseen: what the release adds is forgotten."""
    del axis
    return shares.max(axis=1)


def wrong_mean(shares: Any, axis: Any) -> Any:
    """Draw a value by its posterior, in place of naming the likeliest."""
    released = axis.forward(shares, 1)
    back = axis.back(np.divide(1.0, released, out=np.zeros_like(released), where=released > 0), 1, 2)
    return (shares * shares * back).sum(axis=1)


@pytest.mark.parametrize("wrong", [wrong_share, wrong_mean])
def test_wrong_formulas_are_found(worlds: Any, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_guess, "bayes_vulnerability", wrong)
    off = 0
    for seed in range(12):
        world = worlds.world(Random(seed), ("identity", "retention", "matrix"))
        off += any(abs(n - float(e)) > 1e-6 for n, e, _, _ in guessed(world, "s", others_known=True).values())
    assert off


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, measure=st.sampled_from(["best-guess", "gain"]), tie=st.booleans())
def test_verdicts_are_exact_at_the_limit(worlds: Any, seed: int, measure: str, tie: bool) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    numbers = [
        number
        for name in "st"
        for read_off in (False, True)
        for _, number, _, _ in guessed(world, name, measure=measure, read_off=read_off).values()
    ]
    limit = max(numbers) if tie and 0 < max(numbers) < 1 else Fraction(rng.randint(1, 19), 20)
    entry = asked(limit, measure)
    finding = PRODUCT.finding(entry, world.channel, world.original)
    assert finding.verdict is (Verdict.SATISFIED if max(numbers) <= limit else Verdict.FAILED)
    assert PRODUCT.accepts(entry, world.channel, world.original) is (max(numbers) <= limit)
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(max(numbers)), abs=TINY)
    assert finding.model == f"attribute-disclosure/{measure}"
    assert "knows a person's quasi-identifiers" in finding.adversary
    assert "which released record is the person's" in finding.adversary


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS)
def test_a_subgroup_counts_its_own_groups_only(worlds: Any, seed: int) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    value = rng.choice(world.policy.attributes["a"].domain)
    code = world.policy.attributes["a"].domain.index(value)
    everybody, inside = guessed(world, "s"), guessed(world, "s", where={"a": value})
    assert inside == {key: number for key, number in everybody.items() if key[0] == code}


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, low=st.fractions(0, 1, max_denominator=12), high=st.fractions(0, 1, max_denominator=12))
def test_it_never_falls_as_more_is_retained(worlds: Any, seed: int, low: Fraction, high: Fraction) -> None:
    world = worlds.world(Random(seed), ("identity", "retention", "blocks"))
    less, more = (with_common_retention(world.channel, rho) for rho in sorted((low, high)))
    for measure in ("best-guess", "gain"):
        entry = asked(measure=measure)
        some, most = (list(protected_attribute_guesses(entry, c, world.original)) for c in (less, more))
        for one, other in zip(some, most, strict=True):
            assert np.all(one.number <= other.number + TINY)
            assert np.all(one.share * (measure == "best-guess") <= one.number + TINY)


@settings(deadline=None, max_examples=80, derandomize=True)
@given(
    seed=SEEDS,
    measure=st.sampled_from(["best-guess", "gain"]),
    tau=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
)
def test_the_cap_is_where_the_assessor_turns(worlds: Any, seed: int, measure: str, tau: Fraction) -> None:
    world = worlds.world(Random(seed), ("identity", "retention", "blocks"))
    entry = asked(tau, measure, sensitive=("s",))
    smooth = PRODUCT.smooth(entry, world.channel, world.original)
    free = [axis for axis in world.channel.axes if isinstance(axis, Retention)]
    for rho in (Fraction(1, 50), Fraction(1, 3), Fraction(2, 3), Fraction(49, 50)):
        keep = np.array([float(rho + (1 - rho) / axis.largest.size) for axis in free])
        there = with_common_retention(world.channel, rho)
        value = smooth.value(keep)
        if abs(value.max()) > 1e-9:
            assert PRODUCT.accepts(entry, there, world.original) is bool((value <= 0).all())
        jacobian, h = smooth.jacobian(keep), 1e-7
        assert jacobian.shape == (len(value), len(keep))
        for i, axis in enumerate(free):
            if axis.largest.size > 1:
                step = np.eye(len(keep))[i] * h
                difference = (smooth.value(keep + step) - smooth.value(keep - step)) / (2 * h)
                np.testing.assert_allclose(jacobian[:, i], difference, rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, tau=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_the_floor_is_attained_and_no_release_is_under_it(worlds: Any, seed: int, tau: Fraction) -> None:
    world = worlds.world(Random(seed), ("retention",))
    entry = asked(tau, sensitive=("s",), known_sensitive=True)
    drawn = with_common_retention(world.channel, Fraction(0))
    floors = PRODUCT.floor(entry, world.channel, world.original, ("a", "b", "s", "t"))
    assert all(floor.feasible for floor in floors) is PRODUCT.accepts(entry, drawn, world.original)
    shares = [
        (Fraction(max(Counter(row["s"] for row in people).values()), len(people)), len(people))
        for known in (("a", "b", "x"), ("a", "b", "x", "t"))
        for people in groups_of(world, *known).values()
    ]
    problem = PRODUCT.least(entry, world.channel, world.original)
    assert (problem is not None) is (max(share for share, _ in shares) > tau)
    if problem is not None:
        assert problem.code == "RR510"
        assert not any(
            PRODUCT.accepts(entry, with_common_retention(world.channel, r), world.original) for r in (0, Fraction(1, 2))
        )
    assert PRODUCT.least(asked(tau, "gain"), world.channel, world.original) is None


@settings(deadline=None, max_examples=60, derandomize=True)
@given(counts=st.lists(st.integers(0, 9), min_size=3, max_size=6).filter(any), data=st.data())
def test_of_sets_it_is_the_sum_over_all_sets(counts: list[int], data: Any) -> None:
    size = len(counts)
    l = data.draw(st.integers(2, size - 1))
    axis = Sets.of("s", tuple(f"s{i}" for i in range(size)), l)
    chance = Fraction(1, math.comb(size - 1, l - 1))
    expected = sum(
        (max(counts[u] for u in held) * chance for held in itertools.combinations(range(size), l)), Fraction(0)
    )
    assert best_guess.exact_bayes_vulnerability(counts, axis) == expected
    shares = np.array([counts]) / sum(counts)
    assert best_guess.bayes_vulnerability(shares, axis)[0] == pytest.approx(float(expected / sum(counts)), abs=TINY)


def test_who_sees_all_records_of_a_tiny_group_and_knows_its_exact_counts_guesses_better() -> None:
    """The other records say nothing to who knows shares; exact counts make them tell, in tiny groups."""
    keep, people = Fraction(4, 5), (0, 0, 1, 2)
    law = {u: {v: keep if u == v else (1 - keep) / 2 for v in range(3)} for u in range(3)}
    orders = set(itertools.permutations(people))
    by_shares, by_counts = Fraction(0), Fraction(0)
    for seen in itertools.product(range(3), repeat=4):
        each = {o: math.prod(law[u][v] for u, v in zip(o, seen, strict=True)) for o in orders}
        by_counts += max(sum(w for o, w in each.items() if o[0] == u) for u in range(3)) / len(orders)
        alone = {
            o: math.prod(Fraction(people.count(u), 4) * law[u][v] for u, v in zip(o, seen, strict=True))
            for o in itertools.product(range(3), repeat=4)
        }
        by_shares += max(sum(w for o, w in alone.items() if o[0] == u) for u in range(3))
    axis = Retention.uniform("s", ("x", "y", "z"), keep, "s")
    assert best_guess.exact_bayes_vulnerability([2, 1, 1], axis) / 4 == by_shares
    assert by_counts > by_shares


ROWS = [
    ((2, 1, 0), (0, 1, 1), (1, 0, 1)),
    ((2, 2), (1, 1)),
    ((10, 10, 0)[:2], (3, 0), (0, 3)),
    ((1, 1, 1), (1, 1, 1)),
    ((2, 0, 1), (0, 1, 0), (0, 1, 1)),
    ((1, 1, 1, 0), (0, 1, 1, 1)),
]


def expected_best(rows: Any, size: int) -> dict[int, Fraction]:
    """Return how often the likeliest value of a person's group is the true one, over all deals."""
    counts = [sum(column) for column in zip(*rows, strict=True)]
    total: dict[int, Fraction] = defaultdict(Fraction)
    for groups, chance in deals.compositions(counts, size).items():
        for held in groups:
            others = [[(g, row[v]) for g, row in enumerate(rows) if row[v]] for v in held]
            for picked in itertools.product(*others):
                weight = chance * math.prod(Fraction(n, counts[v]) for (_, n), v in zip(picked, held, strict=True))
                members = [g for g, _ in picked]
                for i, member in enumerate(members):
                    total[member] += weight * max(deals.posteriors(rows, members, held)[i].values())
    return {g: hit / sum(rows[g]) for g, hit in total.items()}


def table_of(rows: Any, role: Role = Role.QUASI_IDENTIFIER) -> tuple[Any, TableInMemory]:
    values = len(rows[0])
    attributes = [
        Attribute("q", role, tuple("abcdef"[: len(rows)]), release_as="q"),
        Attribute("s", Role.SENSITIVE, tuple(f"v{i}" for i in range(values)), release_as="s"),
    ]
    from rrpolicy.testing import policy_of

    policy = policy_of(attributes, (), "anatomy")
    flat = [(g, v) for g, row in enumerate(rows) for v, n in enumerate(row) for _ in range(n)]
    columns = {name: np.array([x[i] for x in flat], dtype=np.int32) for i, name in enumerate("qs")}
    return attributes, TableInMemory(policy, columns)


@pytest.mark.parametrize("rows", ROWS)
def test_of_groups_it_is_never_above_the_bound(rows: Any) -> None:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel

    attributes, original = table_of(rows)
    channel = AnatomyChannel.of(attributes, "s", 2)
    (found,), truth = guess_bounds(asked(), channel, original, "s"), expected_best(rows, 2)
    assert len(found.number) == len(rows)
    assert not found.exact
    for i, group in enumerate(found.group.tolist()):
        own = int(found.evidence.values[group, 0])
        assert found.number[i] >= float(truth[own]) - TINY
        assert truth[own] >= Fraction(max(rows[own]), sum(rows[own]))
    assessor, *_ = of_groups()
    finding = assessor.finding(asked("9/10"), channel, original)
    assert finding.achieved is not None
    assert finding.achieved.standing is Standing.UPPER_BOUND
    for limit in ("1/2", "9/10"):
        verdict = assessor.finding(asked(limit), channel, original).verdict
        assert verdict is not Verdict.SATISFIED or max(truth.values()) <= Fraction(limit)


@pytest.mark.parametrize("rows", ROWS)
def test_of_groups_the_gain_counts_what_is_read_off_the_record(rows: Any) -> None:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel

    attributes, original = table_of(rows, Role.INSENSITIVE)
    _, found = guess_bounds(asked("1/2", "gain"), AnatomyChannel.of(attributes, "s", 2), original, "s")
    people = [sum(row) for row in rows]
    before = Fraction(max(map(sum, zip(*rows, strict=True))), sum(people))
    after = sum(people[group] * best for group, best in expected_best(rows, 2).items()) / sum(people)
    assert found.share.tolist() == [float(before)]
    assert found.number.tolist()[0] >= float(after - before) - TINY


def test_of_groups_whose_values_go_with_nothing_it_is_one_in_l_exactly() -> None:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel

    attributes, original = table_of(((1, 1, 1), (1, 1, 1)))
    assessor, *_ = of_groups()
    channel = AnatomyChannel.of(attributes, "s", 3)
    assert assessor.finding(asked("1/3"), channel, original).verdict is Verdict.SATISFIED
    assert assessor.finding(asked("33/100"), channel, original).verdict is Verdict.FAILED
    assert assessor.least(asked("33/100"), channel, original).code == "RR510"
    assert assessor.finding(asked("1/100", "gain"), channel, original).verdict is Verdict.SATISFIED


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        ({"threshold": "1/3"}, {"threshold": "1/3", "measure": "best-guess"}, Order.STRONGER),
        ({"threshold": "1/3"}, {"threshold": "1/2", "measure": "best-guess"}, Order.INCOMPARABLE),
        ({"threshold": "1/2", "measure": "best-guess"}, {"threshold": "1/2"}, Order.WEAKER),
        ({"threshold": "1/2", "measure": "best-guess"}, {"threshold": "1/3"}, Order.INCOMPARABLE),
        ({"threshold": "1/2", "measure": "gain"}, {"threshold": "1/2", "measure": "best-guess"}, Order.STRONGER),
        ({"threshold": "1/2", "measure": "gain"}, {"threshold": "1/2"}, Order.INCOMPARABLE),
        ({"threshold": "1/2", "measure": "gain"}, {"threshold": "1/3", "measure": "gain"}, Order.STRONGER),
        ({"threshold": "1/2", "decided_by": "estimate"}, {"threshold": "1/2", "measure": "best-guess"}, Order.STRONGER),
    ],
)
def test_what_is_asked_is_compared(old: Any, new: Any, order: Order) -> None:
    compare = attribute.AttributeDisclosure().compare
    assert compare(attribute.AttributeDisclosureOptions(**old), attribute.AttributeDisclosureOptions(**new)) is order


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_the_best_guess_implies_risk_and_gain(worlds: Any, seed: int) -> None:
    world = worlds.world(Random(seed))
    best, gain, risk = (
        PRODUCT.finding(asked("1/2", measure), world.channel, world.original).achieved
        for measure in ("best-guess", "gain", "risk")
    )
    assert best is not None
    assert gain is not None
    assert risk is not None
    assert max(gain.value, risk.value) <= best.value + TINY


def test_options_that_say_nothing_are_refused() -> None:
    for wrong in (
        {"measure": "best-guess", "threshold": "1/2", "thresholds": {"flu": "1/3"}},
        {"measure": "gain", "thresholds": {"flu": "1/3"}},
        {"measure": "gain", "threshold": "1/2", "decided_by": "estimate"},
        {"measure": "guess", "threshold": "1/2"},
        {"measure": "best-guess", "threshold": 1},
        {"measure": "gain", "threshold": "1"},
    ):
        with pytest.raises(ValueError, match=r"threshold|decided_by|measure"):
            attribute.AttributeDisclosureOptions(**wrong)


def test_what_cannot_be_told_is_refused_at_check_time(worlds: Any) -> None:
    world = worlds.world(Random(3))
    layout = [(a.attributes, type(a)) for a in world.channel.axes]
    plain = [(names, Identity if "s" in names else kind) for names, kind in layout]
    reason, _ = PRODUCT.layout(asked(sensitive=("s",)), world.policy, plain)
    assert "'s' is released unchanged" in reason
    assert PRODUCT.layout(asked("1/2", "gain", sensitive=("s",)), world.policy, plain) is None
    together = [(("s", "t"), Sets), *((names, kind) for names, kind in layout if not {"s", "t"} & set(names))]
    reason, _ = PRODUCT.layout(asked(sensitive=("s",)), world.policy, together)
    assert "together with 't'" in reason
    assert "best guess" in str(attribute.subgroup_problem(asked(sensitive=("s",), where={"s": "s0"}), world.policy))
    parted, *_ = of_suppression()
    assert "released unchanged" in str(parted.supports(asked(sensitive=("s",)), world.policy, ()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_assessor_keeps_its_promises(worlds: Any, seed: int) -> None:
    world = worlds.world(Random(seed), ("identity", "retention", "blocks"))
    channels = [with_common_retention(world.channel, rho) for rho in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))]
    for measure in ("best-guess", "gain"):
        policy = open_policy(replace(world.policy, requirements=(asked("2/3", measure),)))
        assert len(check_assessor(PRODUCT, policy, channels, [world.original])) == len(channels)
