"""How strong a release is, against enumeration: person by person, in fractions, from the definitions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import largest_eligible
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.finding import Basis, Finding, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.privacy.protection import guessing
from rrpolicy.privacy.protection.assess import BARELY, NO_TABLE, assess_protection
from rrpolicy.privacy.protection.grade import (
    CERTAIN,
    CHANCE,
    EPSILON,
    GROUPS,
    POSTERIOR_RISE,
    RECORD_CHANCE,
    GradeRule,
    ProtectionGrade,
    worst_grade,
)
from rrpolicy.privacy.protection.result import ColumnInference, ReleaseProtection
from rrpolicy.reports.protection_panel import protection_panel
from rrpolicy.source.units import Units
from tests.privacy import deals

TONES = ("good", "plain", "care", "bad")
LIMIT = Finding(
    "k-anonymity", "k-anonymity", "k >= 2", None, None, Fraction(2), Verdict.SATISFIED, Basis.ORIGINAL, "an attacker"
)
SEEDS = st.integers(0, 2**32)
TINY = 1e-9
Row = Mapping[str, Any]
Weights = dict[int, Fraction]
Law = Mapping[tuple[int, ...], Mapping[Any, Fraction]]


def beliefs(rows: Sequence[Row], me: int, key: Callable[[Row], Any], name: str) -> Weights:
    """Return the weights of all values for one person: the others with the same key, and one record of the whole."""
    found: Weights = {u: Fraction(n, len(rows)) for u, n in tally(rows, name).items()}
    for place, row in enumerate(rows):
        if place != me and key(row) == key(rows[me]):
            found[row[name]] += 1
    return found


def tally(rows: Sequence[Row], name: str) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for row in rows:
        found[row[name]] += 1
    return dict(found)


def names_it(weights: Weights, own: int) -> Fraction:
    """Return the chance of naming a value, among the likeliest ones."""
    most = max(weights.values())
    likeliest = [u for u, weight in weights.items() if weight == most]
    return Fraction(own in likeliest, len(likeliest))


def reads_it(weights: Weights, own: int, law: Law) -> tuple[Fraction, Fraction]:
    """Return how often the true value is named by its released one, and the probability that is given to it."""
    right = given_to = Fraction(0)
    for v, chance in law[own,].items():
        after = {u: weight * law[u,].get(v, Fraction(0)) for u, weight in weights.items()}
        right += chance * names_it(after, own)
        given_to += chance * after[own] / sum(after.values())
    return right, given_to


class Enumerated:
    """What an attacker attains of every person."""

    def __init__(self, rows: Sequence[Row], name: str, key: Callable[[Row], Any], law: Law, links: Sequence[Any]):
        self.rows, self.name, self.law, self.links = rows, name, law, links
        self.before = [beliefs(rows, i, key, name) for i in range(len(rows))]
        self.by_record = [reads_it(w, row[name], law) for w, row in zip(self.before, rows, strict=True)]
        self.key, self.reads = key, ""

    def with_columns(self, exact: Sequence[str]) -> Enumerated:
        """Let the attacker use the column, released exactly, by which he reads best."""
        best = sum(p for _, p in self.by_record) / len(self.rows)
        for column in exact:
            told = [
                reads_it(beliefs(self.rows, i, lambda r, c=column: r[c], self.name), row[self.name], self.law)
                for i, row in enumerate(self.rows)
            ]
            attained = sum(p for _, p in told) / len(self.rows)
            if attained > best + Fraction(BARELY):
                best, self.by_record, self.reads = attained, told, column
        return self

    @property
    def everybody(self) -> list[tuple[Fraction, ...]]:
        """Return (right by statistics, right by record, right by person, probability of each, rise) of each person."""
        found = []
        for weights, (right, given_to), row, link in zip(
            self.before, self.by_record, self.rows, self.links, strict=True
        ):
            own = row[self.name]
            guess, prior = names_it(weights, own), weights[own] / sum(weights.values())
            by_person = link * right + (1 - link) * guess
            posterior = link * given_to + (1 - link) * prior
            found.append((guess, right, by_person, prior, given_to, posterior, posterior - prior))
        return found

    def agrees(self, ladder: ColumnInference, *, close: float = TINY) -> None:
        people, n = self.everybody, len(self.rows)
        rise = max(person[-1] for person in people)
        assert ladder.of == self.name
        assert ladder.reads == self.reads
        assert ladder.overall.guess.value == pytest.approx(max(tally(self.rows, self.name).values()) / n)
        for place, rung in enumerate((ladder.statistics, ladder.record, ladder.person)):
            assert rung.guess.value == pytest.approx(float(sum(p[place] for p in people) / n), abs=close)
        assert ladder.rise.value == pytest.approx(max(float(rise), 0.0), abs=close)
        of_record = max(float(person[4] - person[3]) for person in people)
        assert ladder.record_rise.value == pytest.approx(max(of_record, 0.0), abs=close)
        candidates = [p for p in people if abs(float(p[-1] - rise)) <= 10 * close]
        shown = (ladder.statistics.worst.value, ladder.record.worst.value, ladder.person.worst.value)
        assert any(np.allclose([float(x) for x in p[3:6]], shown, atol=close) for p in candidates)
        for value in ladder.values:
            mine = [
                p for p, row in zip(people, self.rows, strict=True) if f"{self.name}{row[self.name]}" == value.value
            ]
            assert value.people == len(mine)
            for place, shown_of_value in enumerate((value.statistics, value.record, value.person)):
                mean = sum(p[3 + place] for p in mine) / len(mine)
                assert shown_of_value == pytest.approx(float(mean), abs=close)
        homogeneous = sum(self._alike(i) for i in range(n))
        assert ladder.statistics.certain.value == homogeneous

    def _alike(self, me: int) -> bool:
        others = [r for i, r in enumerate(self.rows) if i != me and self.key(r) == self.key(self.rows[me])]
        return bool(others) and all(r[self.name] == self.rows[me][self.name] for r in others)


def released_key(world: Any) -> Callable[[Row], Any]:
    """Return by what people are counted together: released quasi-identifiers where they are certain, else originals."""
    recoded = {name for axis in world.channel.axes if isinstance(axis, Recode) for name in axis.attributes}

    def key(row: Row) -> Any:
        return tuple(next(iter(world.law(n)[row[n],])) if n in recoded else row[n] for n in ("a", "b"))

    return key


@settings(deadline=None, max_examples=200, derandomize=True)
@given(seed=SEEDS, sensitive=st.sampled_from("st"))
def test_ladders_of_product_channels_are_their_definition(worlds: Any, brute: Any, seed: int, sensitive: str) -> None:
    world = worlds.world(Random(seed))
    known = [(attributes, law) for attributes, law in world.laws if set(attributes) & {"a", "b", "x"}]
    table = brute.Table(world.rows, known, world.carried)
    chances = table.links()
    links = [
        chances[(*(tuple(row[a] for a in names) for names, _ in known), *(row[c] for c in world.carried))]
        for row in world.rows
    ]
    exact = [
        axis.attributes[0]
        for axis in world.channel.axes
        if isinstance(axis, Identity) and axis.attributes[0] in {"x", "s", "t"} - {sensitive}
    ]
    enumerated = Enumerated(world.rows, sensitive, released_key(world), world.law(sensitive), links)
    axis = next(axis for axis in world.channel.axes if sensitive in axis.attributes)
    if not isinstance(axis, Identity):
        enumerated.with_columns([*exact, *world.carried])
    found = assess_protection(world.channel, world.original, world.policy)
    ladder = next(each for each in found.ladders if each.of == sensitive)
    if not any(link.standing is Standing.UPPER_BOUND for link in (ladder.person.guess,)):
        enumerated.agrees(ladder)
    assert found.linking is not None
    assert found.linking.worst.value == pytest.approx(float(max(links)))
    assert found.linking.mean.value == pytest.approx(float(sum(links) / len(links)))
    assert found.linking.certain.value == sum(link == 1 for link in links)
    assert found.linking.grade is CHANCE.grade(float(max(links)))
    assert found.grade is worst_grade(each.grade for each in found.ladders)


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS)
def test_columns_that_are_assumed_to_link_nobody_are_counted_with_as_well(worlds: Any, brute: Any, seed: int) -> None:
    world = worlds.world(Random(seed))
    found = assess_protection(world.channel, world.original, world.policy).linking
    exact = Identity.of("x", world.policy.attributes["x"].domain, assume_unlinkable="nobody knows it")
    axes = [exact if axis.attributes == ("x",) else axis for axis in world.channel.axes]
    carried = [replace(column, assume_unlinkable="nobody knows it") for column in world.channel.carried]
    channel = Product(tuple(axes), tuple(carried), world.channel.order)
    assumed = assess_protection(channel, world.original, world.policy).linking
    table = brute.Table(world.rows, [(names, law) for names, law in world.laws if set(names) & {"a", "b"}])
    links = table.links().values()
    assert found is not None
    assert found.assumption is None
    assert assumed is not None
    assert assumed.worst.value == pytest.approx(float(max(links)))
    assert assumed.assumption is not None
    assert assumed.assumption.columns == ("x", *world.carried)
    assert (assumed.assumption.mean, assumed.assumption.worst) == (found.mean, found.worst)


def world_of(worlds: Any, rng: Random, most: int = 10, carried: bool = False) -> tuple[Any, list[Row]]:
    """Return a table of one quasi-identifier and one sensitive column, and its rows."""
    sizes = {"a": rng.randint(1, 3), "s": rng.randint(2, 4)}
    spec: dict[str, Any] = {"a": ("quasi-identifier", worlds.labels(sizes["a"], "a"))}
    spec["s"] = ("sensitive", None if carried else worlds.labels(sizes["s"], "s"))
    policy = worlds.policy_of(spec)
    rows = [{n: min(rng.randrange(k), rng.randrange(k)) for n, k in sizes.items()} for _ in range(rng.randint(1, most))]
    codes = {n: np.array([r[n] for r in rows], dtype=np.int32) for n in sizes if not (carried and n == "s")}
    extra = {"s": pa.array([float(r["s"]) for r in rows])} if carried else {}
    return worlds.TableInMemory(policy, codes, extra), rows


def of_group(rows: Sequence[Row]) -> list[Fraction]:
    """Return the chance of finding a record by a quasi-identifier that is released as it is."""
    groups = Counter(row["a"] for row in rows)
    return [Fraction(1, groups[row["a"]]) for row in rows]


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS)
def test_ladders_of_sets_are_their_definition(worlds: Any, seed: int) -> None:
    rng = Random(seed)
    original, rows = world_of(worlds, rng)
    policy = original.policy
    size = len(policy.attributes["s"].domain)
    drawn = rng.randint(2, size)
    channel = Product.of(policy.released, [Sets.of("s", policy.attributes["s"].domain, drawn)])
    law = {}
    for u in range(size):
        sets = [frozenset((u, *others)) for others in combinations([w for w in range(size) if w != u], drawn - 1)]
        law[u,] = {each: Fraction(1, len(sets)) for each in sets}
    found = assess_protection(channel, original, policy)
    Enumerated(rows, "s", lambda row: row["a"], law, of_group(rows)).agrees(found.ladders[0])


@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS)
def test_ladders_of_numbers_without_categories_are_their_definition(worlds: Any, seed: int) -> None:
    original, rows = world_of(worlds, Random(seed), carried=True)
    law = {(u,): {u: Fraction(1)} for u in range(4)}
    enumerated = Enumerated(rows, "s", lambda row: row["a"], law, of_group(rows))
    found = assess_protection(Product.of(original.policy.released, ()), original, original.policy).ladders[0]
    people = enumerated.everybody
    assert found.values == ()
    assert found.epsilon is None
    assert found.record.guess.value == 1
    for place, rung in ((0, found.statistics), (2, found.person)):
        assert rung.guess.value == pytest.approx(float(sum(p[place] for p in people) / len(people)))
    assert found.rise.value == pytest.approx(float(max(p[-1] for p in people)))
    assert found.record_rise.value == pytest.approx(float(max(p[4] - p[3] for p in people)))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_ladders_under_suppression_are_their_definition(worlds: Any, seed: int) -> None:
    rng = Random(seed)
    original, rows = world_of(worlds, rng)
    policy, gone = original.policy, [rng.random() < 0.4 for _ in rows]
    moved = Counter((row["a"], row["s"]) for row, out in zip(rows, gone, strict=True) if out)
    cells = [(*cell, n) for cell, n in moved.items()]
    channel = SuppressionChannel.of([policy.attributes["a"]], policy.attributes["s"], cells)
    every = sum(gone)
    links = []
    for row in rows:  # the attacker draws a record that fits: one that shows the group, or a suppressed one
        n = sum(r["a"] == row["a"] for r in rows)
        of_group_gone = sum(r["a"] == row["a"] for r, out in zip(rows, gone, strict=True) if out)
        alike = sum(r == row for r in rows)
        m = moved[row["a"], row["s"]]
        links.append(Fraction(alike - m + (Fraction(m * of_group_gone, every) if every else 0), n * alike))
    law = {(u,): {u: Fraction(1)} for u in range(4)}
    found = assess_protection(channel, original, policy)
    Enumerated(rows, "s", lambda row: row["a"], law, links).agrees(found.ladders[0])
    assert found.linking is not None
    assert found.linking.worst.value == pytest.approx(float(max(links)))


@settings(deadline=None, max_examples=25, derandomize=True)
@given(seed=SEEDS, size=st.integers(2, 3))
def test_ladders_of_dealt_groups_are_estimates_of_their_definition(worlds: Any, seed: int, size: int) -> None:
    original, rows = world_of(worlds, Random(seed), most=9)
    policy = original.policy
    values = len(policy.attributes["s"].domain)
    counts = [tally(rows, "s").get(u, 0) for u in range(values)]
    assume(size <= min(values, largest_eligible(counts)))
    channel = AnatomyChannel.of(policy.released, "s", size)
    law: dict[tuple[int, ...], dict[Any, Fraction]] = {}
    for u in range(values):
        beside: dict[Any, Fraction] = defaultdict(Fraction)
        for groups, chance in deals.compositions(counts, size).items():
            for group in groups:
                if u in group:
                    beside[frozenset(group)] += chance / counts[u]
        law[u,] = dict(beside)
    found = assess_protection(channel, original, policy).ladders[0]
    # a set of values tells nothing of which of its members is the person: each is as likely as its weight
    people = Enumerated(rows, "s", lambda row: row["a"], law, of_group(rows))
    people.by_record = [alike(w, row["s"], law) for w, row in zip(people.before, rows, strict=True)]
    mean = sum(right for right, _ in people.by_record) / len(rows)
    assert found.record.guess.standing is Standing.ESTIMATE
    assert abs(found.record.guess.value - float(mean)) <= 6 * found.record.guess.error + TINY
    rise = max(person[-1] for person in people.everybody)
    assert abs(found.rise.value - float(rise)) <= 6 * found.rise.error + 0.05
    of_record = max(float(person[4] - person[3]) for person in people.everybody)
    assert abs(found.record_rise.value - of_record) <= 6 * found.record_rise.error + 0.05


def alike(weights: Weights, own: int, law: Law) -> tuple[Fraction, Fraction]:
    """Return what is read of a set of which every member may be the value."""
    right = given_to = Fraction(0)
    for held, chance in law[own,].items():
        after = {u: weights.get(u, Fraction(0)) for u in held}
        right += chance * names_it(after, own)
        given_to += chance * after[own] / sum(after.values())
    return right, given_to


@pytest.mark.parametrize("wrong", ["a person is counted among the others", "the whole table counts for nothing"])
def test_a_wrong_prior_is_found(worlds: Any, brute: Any, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    right = guessing._guess_chunk

    def chunk(probabilities: Any, counts: Any, shares: Any, part: Any) -> Any:
        more = counts + (counts > 0) if wrong.startswith("a person") else counts
        return right(probabilities, more, shares if wrong.startswith("a person") else shares * 1e-6, part)

    monkeypatch.setattr(guessing, "_guess_chunk", chunk)
    with pytest.raises(AssertionError):
        test_ladders_of_product_channels_are_their_definition.hypothesis.inner_test(worlds, brute, 3, "s")


def test_a_channel_that_is_not_known_is_bounded(worlds: Any) -> None:
    original, _ = world_of(worlds, Random(1))
    found = assess_protection(object(), original, original.policy)  # type: ignore[arg-type]
    (ladder,) = found.ladders
    assert found.linking is not None
    assert {found.linking.worst.standing, ladder.person.guess.standing} == {Standing.UPPER_BOUND}
    assert found.linking.worst.value == ladder.person.guess.value == 1
    assert found.grade is ProtectionGrade.NONE


def test_a_bounded_number_of_people_is_called_a_bound(worlds: Any) -> None:
    original, _ = world_of(worlds, Random(1))
    panel = protection_panel(assess_protection(object(), original, original.policy))  # type: ignore[arg-type]
    assert panel is not None
    reading, linking = panel.rows
    assert "certain of at most " in reading.certain
    assert "certain of at most " in reading.brief
    assert "→ at most 100.0 %" in reading.brief
    assert linking.certain.startswith("At most ")
    assert "nobody" not in (reading.certain + reading.brief + reading.known + linking.certain).lower()


def test_without_the_table_epsilon_alone_is_graded(worlds: Any) -> None:
    rng = Random(4)
    policy = worlds.policy_of({"a": ("quasi-identifier", ("x", "y")), "s": ("sensitive", ("u", "w"))})
    for keep, grade in (
        (Fraction(7, 10), ProtectionGrade.STRONG),
        (Fraction(95, 100), ProtectionGrade.LIMITED),
        (Fraction(1), ProtectionGrade.NONE),
    ):
        axis, _ = worlds.retention("s", ("u", "w"), [(0, 1)], [keep])
        found = assess_protection(Product.of(policy.released, [axis]), 100, policy)
        assert found == ReleaseProtection(grade, NO_TABLE, None, ())
    assert rng


def test_of_units_of_several_records_the_chance_is_bounded(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("x", "y")), "s": ("sensitive", ("u", "w"))})
    policy = replace(policy, source=replace(policy.source, max_records=2))
    axes = [worlds.retention(n, policy.attributes[n].domain, [(0, 1)], [Fraction(3, 5)])[0] for n in "as"]
    codes = {n: np.array([0, 1, 1, 0, 1, 1], dtype=np.int32) for n in "as"}
    channel = Product.of(policy.released, axes)
    cross = Fraction(4, 9) ** 2
    for units, bound in ((None, 1.0), (Units({2: 3}), float(1 / (1 + 2 * cross**2)))):
        table = worlds.TableInMemory(policy, codes, units=units)
        linking = assess_protection(channel, table, policy).linking
        assert linking is not None
        assert linking.worst.standing is Standing.UPPER_BOUND
        assert linking.worst.value == pytest.approx(bound)


def test_the_rules_are_of_their_limits() -> None:
    for rule, good, bad in ((CHANCE, 1 / 11, 0.51), (POSTERIOR_RISE, 0.09, 0.6), (EPSILON, 1, 8.1), (CERTAIN, 0, 0.06)):
        assert rule.grade(good) is ProtectionGrade.STRONG
        assert rule.grade(bad) is ProtectionGrade.NONE
    assert GROUPS.grade(1.0) is ProtectionGrade.WEAK
    assert [RECORD_CHANCE.grade(x) for x in (0.5, 1.0)] == [ProtectionGrade.STRONG, ProtectionGrade.LIMITED]
    assert [POSTERIOR_RISE.grade(x) for x in (0.2, 0.5)] == [ProtectionGrade.LIMITED, ProtectionGrade.WEAK]
    assert [EPSILON.grade(x) for x in (3, 8)] == [ProtectionGrade.LIMITED, ProtectionGrade.WEAK]
    assert EPSILON.decided(9.0).endswith(" together is 9 (none by the rule `epsilon`: above 8)")
    assert POSTERIOR_RISE.decided(0.1).endswith("by 10.0 points (limited by the rule `rise`: up to 20.0 points)")


@pytest.mark.parametrize(("rule", "share"), [(RECORD_CHANCE, 0.991), (GROUPS, 0.5)])
def test_what_no_number_can_exceed_is_called_no_limit(rule: GradeRule, share: float) -> None:
    said = rule.decided(share)

    assert f"by the rule `{rule.name}`: above " in said
    assert said.endswith("; this rule alone gives no worse grade)")
    assert "up to" not in said


def test_without_columns_the_best_grade_is_worst() -> None:
    assert worst_grade([]) is ProtectionGrade.STRONG


def test_a_release_that_gives_more_is_never_graded_better(worlds: Any, brute: Any) -> None:
    """Pairs of releases of one table: where enumeration gives more in every number, the grade is no better."""
    compared, apart = 0, 0
    for seed in range(2_000):
        rng = Random(seed)
        original, rows = world_of(worlds, rng, most=12)
        one, other = (release_of(worlds, rng, original.policy) for _ in range(2))
        numbers = [measured(brute, rows, *each) for each in (one, other)]
        if not all(a >= b - 1e-12 for a, b in zip(*numbers, strict=True)):
            continue
        graded = [assess_protection(each[0], original, original.policy) for each in (one, other)]
        compared += 1
        apart += graded[0].grade is not graded[1].grade
        assert graded[0].grade.rank >= graded[1].grade.rank, seed
        assert graded[0].linking.grade.rank >= graded[1].linking.grade.rank, seed  # type: ignore[union-attr]
        tones = [TONES.index(protection_panel(each, [LIMIT]).tone) for each in graded]  # type: ignore[union-attr]
        assert tones[0] >= tones[1], seed
        if compared >= 300:
            break
    assert compared >= 200
    assert apart >= 50


def release_of(worlds: Any, rng: Random, policy: Any) -> tuple[Product, Law, Law]:
    """Return a channel with its laws: of the quasi-identifier and of the sensitive column."""
    axes, laws = [], []
    for name in "as":
        domain = policy.attributes[name].domain
        kind = rng.choice(["identity", "retention", "retention"])
        if kind == "identity":
            axes.append(Identity.of(name, domain))
            laws.append({(i,): {i: Fraction(1)} for i in range(len(domain))})
            continue
        keep = Fraction(rng.randint(math.ceil(12 / len(domain)), 12), 12)
        axis, law = worlds.retention(name, domain, [tuple(range(len(domain)))], [keep])
        axes.append(axis)
        laws.append(law)
    return Product.of(policy.released, axes), laws[0], laws[1]


def measured(brute: Any, rows: Sequence[Row], channel: Product, known: Law, law: Law) -> list[float]:
    """Return every number of the attackers: of each person, and epsilon."""
    table = brute.Table(rows, [(("a",), known)])
    chances = table.links()
    links = [chances[((row["a"],),)] for row in rows]
    people = Enumerated(rows, "s", lambda row: row["a"], law, links).everybody
    axis = next(axis for axis in channel.axes if "s" in axis.attributes)
    ratio = axis.max_ratio()
    whole = [
        math.inf if ratio is None else math.log(ratio),
        -float(not any(axis.attributes == ("a",) and isinstance(axis, Identity) for axis in channel.axes)),
    ]
    return [float(x) for person, link in zip(people, links, strict=True) for x in (link, *person)] + whole


def test_the_page_has_the_rules() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "protection.md").read_text(encoding="utf-8")
    for rule in (CHANCE, POSTERIOR_RISE, RECORD_CHANCE, CERTAIN, GROUPS, EPSILON):
        limits = " | ".join(map(rule.range_text, list(ProtectionGrade)[:-1]))
        assert f"| {rule.name} | {rule.what} | {limits} | {rule.source} |" in page
