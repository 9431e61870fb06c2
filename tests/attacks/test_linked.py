"""Rows of several releases that are one person's, read together: what is predicted, by enumeration, and what is found."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as all_of
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.attacks import multi_release_inference
from rrpolicy.attacks.intersection import intersect
from rrpolicy.attacks.multi_release_inference import (
    JOINT_INFERENCE,
    NOBODY,
    OTHERWISE,
    best_guesses,
    infer_together,
)
from rrpolicy.attacks.result import AttackOutcome
from rrpolicy.attacks.run import run_across_releases
from rrpolicy.attacks.target import TOO_LARGE, AttackTarget
from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import policy_of
from rrpolicy.testing.draws import draw_tables
from rrpolicy.testing.memory import TableInMemory

from .test_law import target

PEOPLE = 1_500
PLACE, ILL = tuple(f"p{i}" for i in range(PEOPLE)), ("no", "flu", "hiv")
POLICY = policy_of([Attribute("place", Role.QUASI_IDENTIFIER, PLACE), Attribute("ill", Role.SENSITIVE, ILL)])
SHARES = [0.5, 0.3, 0.2]
ORIGINAL = TableInMemory.of(
    POLICY, {"place": list(range(PEOPLE)), "ill": np.random.default_rng(3).choice(3, PEOPLE, p=SHARES).tolist()}
)


def channel(keep: Fraction) -> Product:
    axis = Retention.uniform("ill", ILL, keep)
    return Product((Identity.of("place", PLACE), axis), (), ("place", "ill"), "records/2")


def released(keep: Fraction, seed: int, promised: Fraction | None = None, series: str | None = None) -> AttackTarget:
    """Return a release that was drawn with one keep probability, and promises one."""
    table = draw_tables(channel(keep), ORIGINAL, seed)["data"]
    made = target(channel(promised or keep), ORIGINAL, table, POLICY)
    return AttackTarget(made.name, made.policy, made.channel, made.original, made.read, series)


def run(*releases: AttackTarget) -> Any:
    (found,) = infer_together(releases)
    assert found.name == JOINT_INFERENCE
    return found


@settings(deadline=None, max_examples=60, derandomize=True)
@given(data=st.data(), size=st.integers(2, 4), releases=st.integers(1, 3))
def test_it_is_the_best_guess_of_all_by_enumeration(data: Any, size: int, releases: int) -> None:
    counts = st.lists(st.integers(1, 9), min_size=size, max_size=size)
    shares = np.array(data.draw(counts), dtype=float)
    matrices = []
    for _ in range(releases):
        columns = np.array([data.draw(counts) for _ in range(size)], dtype=float).T
        matrices.append(columns / columns.sum(axis=0))
    named, right = best_guesses(shares, matrices)

    attained = dict.fromkeys(range(size), 0.0)
    best = 0.0
    for shown in all_of(range(size), repeat=releases):
        weights = [shares[u] * np.prod([m[v, u] for m, v in zip(matrices, shown, strict=True)]) for u in range(size)]
        u = int(named[shown])
        assert weights[u] == pytest.approx(max(weights))
        attained[u] += weights[u] / shares[u]
        best += max(weights)
    assert right == pytest.approx([attained[u] for u in range(size)])
    assert float(right @ shares) == pytest.approx(best)


def test_three_draws_tell_more_than_one_and_as_much_as_predicted() -> None:
    keep, total = Fraction(3, 5), 0.0
    for seed in range(40):
        found = run(*(released(keep, 3 * seed + i) for i in range(3)))
        assert found.outcome is AttackOutcome.AS_PREDICTED
        assert found.of == "releases 1, 2, 3: ill"
        total += found.successes
    p, n = found.predicted / PEOPLE, 40 * PEOPLE
    assert abs(total / 40 - found.predicted) < 6.5 * (n * p * (1 - p)) ** 0.5 / 40
    two = run(released(keep, 1), released(keep, 2))
    assert found.without < two.predicted < found.predicted
    assert found.without == (ORIGINAL.counts("ill").dense()).max()


@pytest.mark.parametrize(
    "releases",
    [
        lambda: [released(Fraction(3, 5), 1) for _ in range(3)],
        lambda: [released(Fraction(2, 5), i, Fraction(3, 5)) for i in range(3)],
    ],
    ids=["one draw three times", "another sampler"],
)
def test_wrong_draws_are_found(releases: Any) -> None:
    assert run(*releases()).outcome is AttackOutcome.NOT_AS_PREDICTED


def test_a_series_counts_as_one_release() -> None:
    one, other = (released(Fraction(3, 5), 1, series="s") for _ in range(2))
    assert list(infer_together([one, other])) == []
    assert run(one, other, released(Fraction(3, 5), 2)).of == "releases 1, 3: ill"


FOUR, WARDS = ("no", "flu", "cold", "hiv"), tuple(f"w{i}" for i in range(40))
DOMAIN = Domain("ill", FOUR)
ROWS = np.random.default_rng(8)
CODES = {"ward": list(range(40)), "ill": ROWS.integers(0, 4, 40).tolist()}
KINDS = {
    "as it is": lambda labels: Identity.of("ill", labels),
    "retention": lambda labels: Retention.uniform("ill", labels, Fraction(2, 5)),
    "matrix": lambda labels: Matrix(
        (Domain("ill", labels),),
        (category_column("ill", ("yes", "no")),),
        ((Fraction(1, 4), *(Fraction(2, 3),) * 3), (Fraction(3, 4), *(Fraction(1, 3),) * 3)),
    ),
    "recoded": lambda labels: Recode.by_levels([Domain("ill", labels)], [["no", "yes", "yes", "yes"]]),
    "sets of 2": lambda labels: Sets.of("ill", labels, 2),
    "sets of 3": lambda labels: Sets.of("ill", labels, 3),
}


def of_kind(kind: str, seed: int, labels: tuple[str, ...] = FOUR) -> AttackTarget:
    """Return a release of one table whose axis of `ill` is of some kind, and whose domain has some order."""
    policy = policy_of([Attribute("ward", Role.QUASI_IDENTIFIER, WARDS), Attribute("ill", Role.SENSITIVE, labels)])
    original = TableInMemory.of(policy, CODES | {"ill": [labels.index(FOUR[code]) for code in CODES["ill"]]})
    channel = Product((Identity.of("ward", WARDS), KINDS[kind](labels)), (), ("ward", "ill"), "records/2")
    return target(channel, original, draw_tables(channel, original, seed)["data"], policy)


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_releases_of_every_kind_are_attacked_together(first: str, second: str) -> None:
    found = list(run_across_releases([of_kind(first, 1), of_kind(second, 2)]))
    assert all(attack.outcome is not AttackOutcome.NOT_AS_PREDICTED for attack in found), found


@pytest.mark.parametrize("second", KINDS)
def test_releases_that_order_categories_otherwise_are_told_apart(second: str) -> None:
    for seed in range(5):
        pair = of_kind("sets of 2", 2 * seed), of_kind(second, 2 * seed + 1, FOUR[::-1])
        assert not [attack for attack in run_across_releases(pair) if attack.outcome is not AttackOutcome.UNDECIDED]


def test_releases_that_group_values_otherwise_are_not_linked() -> None:
    """The labels are the same, and the records that they stand for are not."""
    one, other = of_kind("retention", 1), of_kind("retention", 2)
    moved = TableInMemory.of(one.policy, CODES | {"ill": [(code + 1) % 4 for code in CODES["ill"]]})
    found = run(one, AttackTarget(other.name, other.policy, other.channel, moved, other.read))
    assert (found.outcome, found.reason) == (AttackOutcome.UNDECIDED, OTHERWISE)


@pytest.mark.parametrize(
    ("most", "reason"),
    [
        (39, TOO_LARGE),
        (161, "what several rows may show has more than 1,048,576 combinations"),
    ],
)
def test_too_many_combinations_of_releases_are_not_attacked(
    monkeypatch: pytest.MonkeyPatch, most: int, reason: str
) -> None:
    releases = [of_kind("retention", seed) for seed in range(4)]
    monkeypatch.setattr(multi_release_inference, "MAX_ATTACK_CELLS", most)
    assert run(*releases).reason == reason


def test_nobody_who_is_alone_is_found_in_several_releases() -> None:
    rows = CODES | {"ward": [code // 2 for code in CODES["ward"]]}
    releases = []
    for seed in (1, 2):
        one = of_kind("retention", seed)
        original = TableInMemory.of(one.policy, rows)
        table = draw_tables(one.channel, original, seed)["data"]
        releases.append(target(one.channel, original, table, one.policy))
    assert run(*releases).reason == NOBODY


def test_sets_that_do_not_fit_together_are_not_intersected() -> None:
    one, other = of_kind("sets of 2", 1), of_kind("sets of 2", 2)
    moved = TableInMemory.of(one.policy, CODES | {"ill": [(code + 1) % 4 for code in CODES["ill"]]})
    again = AttackTarget(other.name, other.policy, other.channel, moved, other.read)
    (found,) = intersect([one, again])
    assert found.reason == OTHERWISE
