"""t-closeness of sets against every set and every group written out: posteriors by Bayes' rule, distances by transport."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.cli.main import main
from rrpolicy.declarations import Role
from rrpolicy.finding import Standing, Verdict
from rrpolicy.policy.model import Attribute, Requirement
from rrpolicy.privacy.addition import closeness
from rrpolicy.privacy.models.t_closeness import TCloseness, TClosenessOptions
from rrpolicy.testing import TableInMemory, check_assessor, open_policy, policy_of, policy_text

SEEDS = st.integers(0, 2**32)
HIERARCHY = (("s0", "s1", "s2", "s3", "s4"), ("low", "low", "mid", "high", "high"), ("low", "low", "up", "up", "up"))
GROUND = {
    "variational": lambda i, j: float(i != j),
    "ordered": lambda i, j: abs(i - j) / 4,
    "hierarchical": lambda i, j: (
        next(k for k, level in enumerate((*HIERARCHY, ("all",) * 5)) if level[i] == level[j]) / 3
    ),
}
SIZE = 5


def asked(t: Any, *sensitive: str, distance: str = "variational", **where: str) -> Requirement:
    return Requirement(TCloseness.name, TClosenessOptions(t=str(t), distance=distance, sensitive=sensitive), where)  # type: ignore[arg-type]


def table_of(rows: Sequence[Mapping[str, int]], requirement: Requirement, others: int = 0) -> TableInMemory:
    labels = tuple(HIERARCHY[0])
    attributes = [
        Attribute("a", Role.QUASI_IDENTIFIER, ("a0", "a1", "a2"), release_as="a"),
        Attribute("s", Role.SENSITIVE, labels, scale="ordinal", hierarchy=HIERARCHY, release_as="s"),
    ]
    if others:
        attributes.append(Attribute("t", Role.SENSITIVE, tuple(f"t{i}" for i in range(others)), release_as="t"))
    policy = policy_of(attributes, [requirement])
    return TableInMemory.of(policy, {a.name: [row[a.name] for row in rows] for a in attributes})


def some_rows(rng: Random, others: int = 1) -> list[dict[str, int]]:
    few = rng.randint(1, SIZE)
    return [
        {"a": min(rng.randrange(3), rng.randrange(3)), "s": rng.randrange(few), "t": rng.randrange(others)}
        for _ in range(rng.randint(1, 25))
    ]


def transport(p: Mapping[int, Fraction], q: Mapping[int, Fraction], distance: str) -> float:
    """Return the least cost of moving p to q, as a linear programme."""
    cost = [GROUND[distance](i, j) for i, j in product(range(SIZE), repeat=2)]
    rows = np.zeros((2 * SIZE, SIZE * SIZE))
    for place, (i, j) in enumerate(product(range(SIZE), repeat=2)):
        rows[i, place] = rows[SIZE + j, place] = 1
    mass = [float(p.get(i, 0)) for i in range(SIZE)] + [float(q.get(i, 0)) for i in range(SIZE)]
    return float(linprog(cost, A_eq=rows, b_eq=mass, method="highs").fun)


def posteriors(rows: Sequence[Mapping[str, int]], l: int) -> Iterator[tuple[int, dict[int, Fraction]]]:
    """Yield (group, posterior) of every group and set that can occur, by Bayes' rule from the law of one record."""
    law = {v: [frozenset((v, *more)) for more in combinations(set(range(SIZE)) - {v}, l - 1)] for v in range(SIZE)}
    for group in {row["a"] for row in rows}:
        count = Counter(row["s"] for row in rows if row["a"] == group)
        for held in map(frozenset, combinations(range(SIZE), l)):
            weight = {v: Fraction(n, len(law[v])) * law[v].count(held) for v, n in count.items()}
            total = sum(weight.values())
            if total:
                yield group, {v: w / total for v, w in weight.items()}


def shares(values: Sequence[int]) -> dict[int, Fraction]:
    return {v: Fraction(n, len(values)) for v, n in Counter(values).items()}


@pytest.mark.slow
@settings(deadline=None, max_examples=40, derandomize=True)
@given(SEEDS, st.integers(2, SIZE), st.sampled_from(sorted(GROUND)))
def test_the_distance_is_the_largest_over_all_groups_and_sets(seed: int, l: int, distance: str) -> None:
    rows = some_rows(Random(seed))
    whole = shares([row["s"] for row in rows])
    apart = [(g, transport(p, whole, distance)) for g, p in posteriors(rows, l)]
    requirement = asked("0.4", "s", distance=distance)
    channel = Product((Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], l)), (), ("a", "s"))

    finding = closeness.assess(requirement, channel, table_of(rows, requirement))

    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(max(d for _, d in apart), abs=1e-9)
    assert finding.achieved.standing is Standing.EXACT
    over = {g for g, d in apart if d > 0.4 + 1e-9}
    near = any(abs(d - 0.4) <= 1e-9 for _, d in apart)
    if not near:
        assert finding.groups_over == len(over)
        assert finding.people_over == sum(row["a"] in over for row in rows)
        assert (finding.verdict is Verdict.SATISFIED) == (not over)
    told = {c.name: c.measure.value for c in finding.companions}
    if distance == "variational":
        assert told["least variational t of s, sets so large"] <= finding.achieved.value
    alone = [transport(shares([r["s"] for r in rows if r["a"] == g]), whole, distance) for g in {r["a"] for r in rows}]
    assert told[f"{distance} t of s, sets of all values"] == pytest.approx(max(alone), abs=1e-9)


def test_at_the_limit_it_holds_and_a_hair_below_it_does_not() -> None:
    rows = [{"a": 0, "s": v} for v in (0, 0, 1, 2)]  # of {1, 2} each with 1/2; the whole has 1/2, 1/4, 1/4
    channel = Product((Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], 5)), (), ("a", "s"))
    three = Product((Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], 4)), (), ("a", "s"))

    silent = closeness.assess(asked(0, "s"), channel, table_of(rows, asked(0, "s")))
    exact = closeness.assess(asked("1/2", "s"), three, table_of(rows, asked("1/2", "s")))
    below = closeness.assess(asked("499999999999/1000000000000", "s"), three, table_of(rows, asked("1/2", "s")))

    assert silent.verdict is Verdict.SATISFIED
    assert exact.verdict is Verdict.SATISFIED
    assert exact.achieved is not None
    assert exact.achieved.value == 0.5
    assert below.verdict is Verdict.FAILED


@settings(deadline=None, max_examples=25, derandomize=True)
@given(SEEDS, st.integers(2, 5))
def test_of_attributes_hidden_together_one_is_read_out_of_the_combinations(seed: int, l: int) -> None:
    rng = Random(seed)
    rows = some_rows(rng, others=2)
    domains = (Domain("s", HIERARCHY[0]), Domain("t", ("t0", "t1")))
    axis = Sets(domains, tuple(Column(d.attribute, "set", d.labels, "", d.attribute) for d in domains), l)
    channel = Product((Identity.of("a", ("a0", "a1", "a2")), axis), (), ("a", "s", "t"))
    whole = shares([row["s"] for row in rows])
    worst = 0.0
    for group in {row["a"] for row in rows}:
        count = Counter((row["s"], row["t"]) for row in rows if row["a"] == group)
        for held in combinations(product(range(SIZE), range(2)), l):
            total = sum(count[cell] for cell in held)
            if total:
                mine: dict[int, Fraction] = {}
                for s, t in held:
                    mine[s] = mine.get(s, Fraction(0)) + Fraction(count[s, t], total)
                worst = max(worst, float(sum(abs(mine.get(v, 0) - whole.get(v, 0)) for v in range(SIZE)) / 2))

    finding = closeness.assess(asked("1/2", "s"), channel, table_of(rows, asked("1/2", "s"), others=2))

    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(worst, abs=1e-9)
    assert finding.achieved.standing is Standing.EXACT


@settings(deadline=None, max_examples=25, derandomize=True)
@given(SEEDS, st.integers(2, 4))
def test_who_reads_the_other_sets_of_a_record_learns_no_more_than_is_said(seed: int, l: int) -> None:
    """All of public/ is read: both sets of a record. Counting the other attribute as known is an upper bound."""
    rows = some_rows(Random(seed), others=3)
    axes = (Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], l), Sets.of("t", ("t0", "t1", "t2"), 2))
    whole = shares([row["s"] for row in rows])
    worst = alone = 0.0
    for group in {row["a"] for row in rows}:
        count = Counter((row["s"], row["t"]) for row in rows if row["a"] == group)
        for held in combinations(range(SIZE), l):
            for other in (*combinations(range(3), 2), range(3)):
                mine = {v: sum(count[v, t] for t in other) for v in held}
                total = sum(mine.values())
                if total:
                    apart = sum(abs(Fraction(mine.get(v, 0), total) - whole.get(v, 0)) for v in range(SIZE)) / 2
                    worst = max(worst, float(apart))
                    alone = max(alone, float(apart)) if other == range(3) else alone

    finding = closeness.assess(
        asked("1/2", "s"), Product(axes, (), ("a", "s", "t")), table_of(rows, asked("1/2", "s"), others=3)
    )

    assert finding.achieved is not None
    assert finding.achieved.value >= max(worst, alone) - 1e-12
    assert finding.achieved.standing is Standing.UPPER_BOUND
    assert any("'t'" in text for text in finding.assumptions)


def test_too_many_sets_give_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"a": a, "s": v} for a in range(2) for v in range(SIZE) for _ in range(1 + v * a)]
    channel = Product((Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], 4)), (), ("a", "s"))
    requirement = asked("0.9", "s", distance="ordered")
    exact = closeness.assess(requirement, channel, table_of(rows, requirement))
    monkeypatch.setattr(closeness, "MOST_SETS", 9)

    bound = closeness.assess(requirement, channel, table_of(rows, requirement))

    assert exact.achieved is not None
    assert bound.achieved is not None
    assert (exact.achieved.standing, bound.achieved.standing) == (Standing.EXACT, Standing.UPPER_BOUND)
    assert bound.achieved.value > exact.achieved.value


def test_a_subgroup_is_held_to_the_whole_table() -> None:
    rows = [{"a": 0, "s": v} for v in (0, 1, 2, 3, 4)] + [{"a": 1, "s": 0}] * 5
    channel = Product((Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], 5)), (), ("a", "s"))

    first = closeness.assess(asked("1/2", "s", a="a0"), channel, table_of(rows, asked("1/2", "s")))
    second = closeness.assess(asked("1/2", "s", a="a1"), channel, table_of(rows, asked("1/2", "s")))

    assert first.achieved is not None
    assert second.achieved is not None
    assert first.achieved.value == second.achieved.value == pytest.approx(0.4)


def test_the_kit_accepts_the_assessor() -> None:
    (assessor,) = closeness.assessors()
    rows = [{"a": i % 3, "s": i % 5} for i in range(60)]
    original = table_of(rows, asked("0.9", "s"))
    channel = Product((Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], 3)), (), ("a", "s"))

    assert check_assessor(assessor, open_policy(original.policy), [channel], [original])


POLICY = policy_text(
    """\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
disease = { role = "sensitive", domain = ["none", "flu", "cold", "gout"], scale = "ordinal" }

[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2

[[privacy]]
model = "t-closeness"
t = 0.5

[mechanism]
name = "sensitive-addition"
""",
    "people.csv",
    "Addition",
)


def write(folder: Path, t: str) -> Path:
    women = ["none"] * 40 + ["flu"] * 30 + ["cold"] * 20 + ["gout"] * 10
    men = ["none"] * 30 + ["flu"] * 30 + ["cold"] * 20 + ["gout"] * 20
    rows = [("F", v) for v in women] + [("M", v) for v in men]
    (folder / "people.csv").write_text("sex,disease\n" + "".join(f"{s},{d}\n" for s, d in rows))
    path = folder / "policy.toml"
    path.write_text(POLICY.replace("t = 0.5", f"t = {t}"))
    return path


def test_a_plan_says_what_is_missing_and_what_no_sets_reach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["plan", str(write(tmp_path, "0.5"))])
    said = "".join(capsys.readouterr())
    assert status
    assert "sets of 3 values of 'disease' would satisfy it" in said.replace("\n", " ")

    status = main(["plan", str(write(tmp_path, "0.04"))])
    said = "".join(capsys.readouterr())
    assert status
    assert "RR570" in said
    assert "0.05" in said

    assert main(["plan", str(write(tmp_path, "0.8"))]) == 0


def test_of_several_attributes_each_distance_is_told() -> None:
    rows = [{"a": v % 3, "s": v % 5, "t": v % 3} for v in range(15)]
    labels = tuple(f"t{i}" for i in range(3))
    axes = (Identity.of("a", ("a0", "a1", "a2")), Sets.of("s", HIERARCHY[0], 2), Sets.of("t", labels, 2))
    found = closeness.assess(asked(1), Product(axes, (), ("a", "s", "t")), table_of(rows, asked(1), 3))
    told = {one.name: one.measure.value for one in found.companions}
    assert found.achieved is not None
    assert found.achieved.value == max(told["variational t of s"], told["variational t of t"])


def test_beside_axes_that_are_randomised_sets_are_not_assessed() -> None:
    (assessor,) = closeness.assessors()
    policy = table_of([{"a": 0, "s": 0}], asked(1, "s")).policy
    assert "retention axes are not" in str(assessor.supports(asked(1, "s"), policy, (Identity, Retention, Sets)))
    assert assessor.supports(asked(1, "s"), policy, (Identity, Sets)) is None
