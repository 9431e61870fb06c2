"""What attacks are predicted to attain, by enumeration of all releases; and what is wrong with a release is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from itertools import product as combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.attacks import run
from rrpolicy.attacks.averaging import AVERAGING, average, coincidence_bound
from rrpolicy.attacks.homogeneity import BACKGROUND, HOMOGENEITY
from rrpolicy.attacks.inference import (
    BY_PERSON,
    BY_RECORD,
    person_accuracy,
    record_accuracy,
)
from rrpolicy.attacks.intersection import INTERSECTION
from rrpolicy.attacks.linkage import LINKAGE
from rrpolicy.attacks.membership import MEMBERSHIP
from rrpolicy.attacks.multi_release_inference import JOINT_INFERENCE
from rrpolicy.attacks.reconstruction import RECONSTRUCTION, record_weights
from rrpolicy.attacks.result import FALSE_ALARM, AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import score_distribution
from rrpolicy.attacks.target import TOO_LARGE, UNLISTED, AttackTarget, count_attack_cells
from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.policy.model import Attribute
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import policy_of
from rrpolicy.testing.draws import draw_tables
from rrpolicy.testing.memory import TableInMemory

SEX, AREA, DISEASE = ("F", "M"), tuple("abcdefgh"), ("none", "flu", "hiv")
POLICY = policy_of(
    [
        Attribute("sex", Role.QUASI_IDENTIFIER, SEX),
        Attribute("area", Role.QUASI_IDENTIFIER, AREA),
        Attribute("disease", Role.SENSITIVE, DISEASE),
    ]
)
SMALL = policy_of([Attribute("sex", Role.QUASI_IDENTIFIER, SEX), Attribute("disease", Role.SENSITIVE, DISEASE)])
KEEP_SEX, KEEP_DISEASE = Fraction(4, 5), Fraction(3, 5)


def channel(keep: Fraction = Fraction(7, 10)) -> Product:
    labels = {"sex": SEX, "area": AREA, "disease": DISEASE}
    return Product(tuple(Retention.uniform(a, v, keep) for a, v in labels.items()), (), tuple(labels))


def people(records: int, seed: int = 1) -> TableInMemory:
    rng = np.random.default_rng(seed)
    sex = rng.choice(2, records, p=[0.7, 0.3])
    area = rng.choice(8, records, p=np.arange(1, 9) / 36)
    disease = np.where(rng.random(records) < 0.2 + 0.1 * sex, rng.choice([1, 1, 2], records), 0)
    return TableInMemory.of(POLICY, {"sex": sex.tolist(), "area": area.tolist(), "disease": disease.tolist()})


def target(
    promised: Product, original: Any, table: pa.Table, policy: Any = POLICY, series: str | None = None
) -> AttackTarget:
    @contextmanager
    def read(name: str) -> Iterator[pa.RecordBatchReader]:
        assert name == "data"
        yield table.to_reader()

    return AttackTarget("release", policy, promised, original, read, series)


def attacked(promised: Product, original: Any, table: pa.Table, policy: Any = POLICY) -> dict[str, AttackResult]:
    return {found.name: found for found in run.run_attacks(target(promised, original, table, policy))}


ORIGINALS = [[(0, 0), (0, 0), (1, 1)], [(0, 0), (0, 1), (1, 2)], [(0, 2), (1, 2), (1, 2)], [(0, 0), (0, 1), (0, 1)]]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ORIGINALS)
def test_predictions_are_the_expectation_over_all_releases(rows: list[tuple[int, int]]) -> None:
    def qi(b: int, a: int) -> Fraction:
        return KEEP_SEX if a == b else 1 - KEEP_SEX

    def sensitive(v: int, u: int) -> Fraction:
        return KEEP_DISEASE if u == v else (1 - KEEP_DISEASE) / 2

    n = {(a, u): rows.count((a, u)) for a in range(2) for u in range(3)}
    size = {a: sum(n[a, u] for u in range(3)) for a in range(2)}

    def named(b: int) -> int:
        return max((a for a in range(2) if size[a]), key=lambda a: qi(b, a))

    def guessed(b: int, v: int) -> int:
        return max(range(3), key=lambda u: sum(n[a, u] * qi(b, a) for a in range(2)) * sensitive(v, u))

    def read(b: int, v: int) -> Fraction:
        right = Fraction(0)
        for a in range(2):
            mass = sum(n[a, u] * sensitive(v, u) for u in range(3))
            weight = size[a] * qi(b, a) / sum(size[x] * qi(b, x) for x in range(2))
            right += weight * sum(
                Fraction(n[a, u], size[a]) * n[a, u] * sensitive(v, u) / mass for u in range(3) if n[a, u]
            )
        return right

    def told(b: int, v: int, own: int) -> Fraction:
        """Of the person of a row and each of the others, the likelier one is named."""
        chances = [qi(b, a) * sensitive(v, u) for a, u in rows]
        mine, others = chances[own], chances[:own] + chances[own + 1 :]
        return sum((Fraction(1) if mine > c else Fraction(mine == c, 2) for c in others), Fraction(0)) / len(others)

    promised = Product(
        (Retention.uniform("sex", SEX, KEEP_SEX), Retention.uniform("disease", DISEASE, KEEP_DISEASE)),
        (),
        ("sex", "disease"),
    )
    original = TableInMemory.of(SMALL, {"sex": [a for a, _ in rows], "disease": [u for _, u in rows]})
    right = dict.fromkeys((BY_RECORD, BY_PERSON, LINKAGE, MEMBERSHIP, RECONSTRUCTION), Fraction(0))
    right[RECONSTRUCTION] += 1
    law: dict[tuple[tuple[int, int], ...], Fraction] = {}
    for released in combinations(combinations(range(2), range(3)), repeat=len(rows)):
        chance = Fraction(1)
        for (b, v), (a, u) in zip(released, rows, strict=True):
            chance *= qi(b, a) * sensitive(v, u)
        for own, ((b, v), (a, u)) in enumerate(zip(released, rows, strict=True)):
            right[MEMBERSHIP] += chance * told(b, v, own)
            right[BY_RECORD] += chance * (guessed(b, v) == u)
            right[LINKAGE] += chance * Fraction(named(b) == a, size[a])
            right[BY_PERSON] += chance * read(b, v)
        multiset = tuple(sorted(released))
        law[multiset] = law.get(multiset, Fraction(0)) + chance
    mean = dict.fromkeys(right, 0.0)
    tails: dict[str, list[tuple[float, float]]] = {name: [] for name in right}
    for multiset, chance in law.items():
        columns = {"sex": [SEX[b] for b, _ in multiset], "disease": [DISEASE[v] for _, v in multiset]}
        table = pa.table(columns | {MULTIPLICITY: pa.array([1] * len(multiset), pa.int64())})
        found = attacked(promised, original, table, SMALL)
        for name in right:
            one = found[name]
            assert one.outcome is AttackOutcome.AS_PREDICTED
            assert one.predicted == pytest.approx(float(right[name]), abs=1e-12)
            assert one.successes is not None
            assert one.tail is not None
            mean[name] += float(chance) * one.successes
            tails[name].append((one.tail, float(chance)))
    for name, total in mean.items():
        assert total == pytest.approx(float(right[name]), abs=1e-12)
        for bound, _ in tails[name]:
            assert sum(chance for tail, chance in tails[name] if tail <= bound) <= bound + 1e-9


def test_by_person_is_the_mean_of_value_read_correctly() -> None:
    from rrpolicy.privacy.disclosure.inference_accuracy import inference_accuracy
    from rrpolicy.privacy.evidence import gather_evidence, split_axes

    original = people(500)
    promised = channel()
    evidence = gather_evidence(original, split_axes(promised, POLICY, "disease"))
    found = attacked(promised, original, draw_tables(promised, original, 1)["data"])
    expected = float((evidence.histograms * inference_accuracy(evidence)).sum())
    assert found[BY_PERSON].predicted == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("blocked", [False, True])
def test_membership_is_the_mean_advantage_over_all_pairs(blocked: bool) -> None:
    original = people(60)
    area = Fraction(7, 10)
    axes = [Retention.uniform("sex", SEX, Fraction(7, 10)), Identity.of("disease", DISEASE)]
    kept = (
        Retention.in_blocks("area", AREA, [(AREA[:3], area), (AREA[3:], Fraction(3, 5))])
        if blocked
        else Retention.uniform("area", AREA, area)
    )
    promised = Product((axes[0], kept, axes[1]), (), ("sex", "area", "disease"))
    matrices = [axis.forward(np.eye(axis.original_size), 0) for axis in promised.axes]
    columns = np.einsum("ax,by,cz->abcxyz", *matrices).reshape(len(SEX) * len(AREA) * len(DISEASE), -1)
    own = np.repeat(np.arange(columns.shape[1]), original.counts("sex", "area", "disease").dense().ravel())
    released = columns[:, own]
    apart = np.abs(released[:, :, None] - released[:, None, :]).sum(axis=0) / 2
    advantage = apart.sum() / (60 * 59)
    found = attacked(promised, original, draw_tables(promised, original, 1)["data"])[MEMBERSHIP]
    assert found.predicted == pytest.approx(60 * (1 + advantage) / 2, rel=1e-12)
    assert found.without == 30  # a coin tells half of them


def test_membership_stays_below_what_epsilon_allows() -> None:
    keep = Fraction(7, 10)
    promised = Product((Retention.uniform("sex", SEX, keep),), (), ("sex",))
    policy = policy_of([Attribute("sex", Role.QUASI_IDENTIFIER, SEX)])
    original = TableInMemory.of(policy, {"sex": [0, 1]})
    found = attacked(promised, original, draw_tables(promised, original, 1)["data"], policy)[MEMBERSHIP]
    epsilon = np.log(7 / 3)
    assert found.predicted == pytest.approx(2 * (1 + np.tanh(epsilon / 2)) / 2)  # two people who differ attain it


def test_reconstruction_is_that_of_the_moment_estimate() -> None:
    original, promised = people(500), channel()
    table = draw_tables(promised, original, 3)["data"]
    released = np.zeros((2, 8, 3))
    labels = (SEX, AREA, DISEASE)
    for row in table.to_pylist():
        place = tuple(values.index(row[name]) for values, name in zip(labels, ("sex", "area", "disease"), strict=True))
        released[place] += row[MULTIPLICITY]
    estimate = released
    for size in (2, 8, 3):  # axis by axis, from the front to the end
        off = 0.3 / (size - 1)
        inverse = np.linalg.inv((0.7 - off) * np.eye(size) + off)
        estimate = np.tensordot(estimate, inverse, axes=(0, 1))
    n = original.counts("sex", "area", "disease").dense()
    found = attacked(promised, original, table)[RECONSTRUCTION]
    away = n - n.mean()
    assert found.successes == pytest.approx((away * estimate).sum() / (away * n).sum())
    assert found.predicted == pytest.approx(1)


@pytest.mark.slow
def test_two_hundred_draws_are_as_predicted() -> None:
    original, promised = people(2_000), channel()
    totals: dict[str, list[float]] = {}
    for seed in range(200):
        for name, found in attacked(promised, original, draw_tables(promised, original, seed)["data"]).items():
            if found.outcome is AttackOutcome.UNDECIDED:
                assert name in {HOMOGENEITY, BACKGROUND}
                continue
            assert found.outcome is AttackOutcome.AS_PREDICTED
            assert found.successes is not None
            assert found.predicted is not None
            assert found.lowest is not None
            assert found.highest is not None
            assert found.lowest <= found.successes <= found.highest
            totals.setdefault(name, []).append(found.successes - found.predicted)
    assert set(totals) == {BY_RECORD, BY_PERSON, LINKAGE, MEMBERSHIP, RECONSTRUCTION}
    for deviations in totals.values():  # five standard errors: 6e-7
        assert abs(np.mean(deviations)) < 5 * np.std(deviations) / np.sqrt(len(deviations))


@pytest.mark.slow
def test_a_sampler_that_keeps_two_hundredths_less_is_found() -> None:
    original, promised = people(200_000), channel()
    wrong = channel(Fraction(68, 100))
    for seed in range(20):
        found = attacked(promised, original, draw_tables(wrong, original, seed)["data"])
        for name in (BY_RECORD, BY_PERSON, RECONSTRUCTION):
            tail = found[name].tail
            assert found[name].outcome is AttackOutcome.NOT_AS_PREDICTED
            assert tail is not None
            assert tail < FALSE_ALARM


def test_the_power_against_such_a_sampler_is_above_99_percent() -> None:
    """Of the wrong sampler mean and variance are exact as well, and Bennett bounds the chance that it stays inside."""
    original, promised, wrong = people(200_000), channel(), channel(Fraction(68, 100))
    one = target(promised, original, draw_tables(promised, original, 0)["data"])
    counted = count_attack_cells(one, promised, promised.axes)
    reconstructed = record_weights(counted)
    assert reconstructed is not None
    for f in (record_accuracy(counted), person_accuracy(counted), reconstructed * 200_000):
        right, other = (
            score_distribution(counted.axes, counted.original, f),
            score_distribution(wrong.axes, counted.original, f),
        )
        outside = abs(right.mean - other.mean) - right.reach(float(FALSE_ALARM))
        assert outside > 0
        assert 1 - other.tail(other.mean + outside) > 0.99


def averaged(one: AttackTarget, other: AttackTarget) -> AttackResult:
    (found,) = average([one, other])
    return found


@pytest.mark.slow
def test_streams_used_twice_are_found() -> None:
    original, promised = people(2_000), channel()
    releases = [target(promised, original, draw_tables(promised, original, seed)["data"]) for seed in range(201)]
    for one, other in pairwise(releases):
        found = averaged(one, other)
        assert found.outcome is AttackOutcome.AS_PREDICTED
        assert found.predicted == 0
    for release in releases:
        twice = averaged(release, release)
        assert twice.outcome is AttackOutcome.NOT_AS_PREDICTED
        assert twice.successes == pytest.approx(1)


def test_a_coincidence_is_bounded() -> None:
    original = TableInMemory.of(SMALL, {"sex": [0, 0, 1], "disease": [0, 0, 1]})
    promised = Product(
        (Identity.of("sex", SEX), Retention.uniform("disease", DISEASE, KEEP_DISEASE)), (), ("sex", "disease")
    )
    table = draw_tables(promised, original, 1)["data"]
    counted = count_attack_cells(target(promised, original, table, SMALL), promised, promised.axes)
    keep, move = 0.6, 0.2
    most = max(keep**2, 2 * keep * move) * keep  # both of the first cell, and the third person
    assert most <= coincidence_bound(counted) <= 1
    assert averaged(*[target(promised, original, table, SMALL)] * 2).outcome is AttackOutcome.AS_PREDICTED


def test_a_series_promises_the_same_release_of_one_table() -> None:
    original, promised = people(500), channel()
    first, second = (target(promised, original, draw_tables(promised, original, s)["data"], series="s") for s in (1, 2))
    assert averaged(first, first).outcome is AttackOutcome.AS_PREDICTED
    assert averaged(first, second).outcome is AttackOutcome.NOT_AS_PREDICTED


def test_classes_give_away_what_their_counts_say() -> None:
    labels = {"sex": SEX, "area": AREA, "disease": DISEASE}
    promised = Product(tuple(Identity.of(a, v) for a, v in labels.items()), (), tuple(labels))
    original = people(300)
    cells = original.counts("sex", "area", "disease").dense().reshape(-1, 3)
    table = draw_tables(promised, original, 1)["data"]
    found = attacked(promised, original, table)
    assert found[HOMOGENEITY].successes == found[HOMOGENEITY].predicted == cells.max(axis=1).sum()
    assert found[BACKGROUND].successes == (cells.sum(axis=1) - cells.min(axis=1)).sum()
    assert found[BY_RECORD].successes == pytest.approx(300)
    rows = table.to_pylist()
    swapped = pa.Table.from_pylist([row | {"disease": "hiv"} for row in rows], schema=table.schema)
    wrong = attacked(promised, original, swapped)
    assert wrong[HOMOGENEITY].outcome is AttackOutcome.NOT_AS_PREDICTED
    assert wrong[BY_RECORD].outcome is AttackOutcome.NOT_AS_PREDICTED


def test_what_cannot_be_released_is_not_as_predicted() -> None:
    original = TableInMemory.of(SMALL, {"sex": [0, 0, 1], "disease": [0, 0, 1]})
    promised = Product(
        (Identity.of("sex", SEX), Retention.uniform("disease", DISEASE, KEEP_DISEASE)), (), ("sex", "disease")
    )
    n = pa.array([3], pa.int64())
    found = attacked(promised, original, pa.table({"sex": ["F"], "disease": ["flu"], MULTIPLICITY: n}), SMALL)
    assert found[LINKAGE].outcome is AttackOutcome.NOT_AS_PREDICTED


WIDE = tuple(f"v{i}" for i in range(1_100))
WIDE_POLICY = policy_of(
    [
        Attribute("one", Role.QUASI_IDENTIFIER, WIDE),
        Attribute("two", Role.QUASI_IDENTIFIER, WIDE),
        Attribute("disease", Role.SENSITIVE, DISEASE),
    ]
)
WIDE_PEOPLE = TableInMemory.of(WIDE_POLICY, {"one": [0, 1, 1], "two": [0, 5, 5], "disease": [0, 0, 1]})


def product_of(*axes: Any) -> Product:
    return Product(axes, (), tuple(name for axis in axes for name in axis.attributes), "records/2")


def undecided_reasons(promised: Product, original: Any, policy: Any) -> dict[str, str]:
    """Return the reasons of the attacks that are not run, by attack."""
    table = draw_tables(promised, original, 1)["data"]
    found = attacked(promised, original, table, policy)
    return {name: one.reason for name, one in found.items() if one.outcome is AttackOutcome.UNDECIDED}


def test_a_joint_table_of_too_many_cells_is_not_attacked() -> None:
    drawn = product_of(
        *(Retention.uniform(a, v, Fraction(1, 2)) for a, v in (("one", WIDE), ("two", WIDE))),
        Retention.uniform("disease", DISEASE, KEEP_DISEASE),
    )
    names = (BY_RECORD, BY_PERSON, LINKAGE, MEMBERSHIP, RECONSTRUCTION)
    assert undecided_reasons(drawn, WIDE_PEOPLE, WIDE_POLICY) == dict.fromkeys(names, TOO_LARGE)
    sure = product_of(Identity.of("one", WIDE), Identity.of("two", WIDE), Identity.of("disease", DISEASE))
    assert {HOMOGENEITY: TOO_LARGE, BACKGROUND: TOO_LARGE}.items() <= undecided_reasons(
        sure, WIDE_PEOPLE, WIDE_POLICY
    ).items()


def test_sets_that_are_too_many_are_not_attacked() -> None:
    labels = tuple(f"d{i}" for i in range(30))
    policy = policy_of([Attribute("sex", Role.QUASI_IDENTIFIER, SEX), Attribute("disease", Role.SENSITIVE, labels)])
    original = TableInMemory.of(policy, {"sex": [0, 1, 1], "disease": [0, 1, 2]})
    promised = product_of(Identity.of("sex", SEX), Sets.of("disease", labels, 12))
    found = undecided_reasons(promised, original, policy)
    assert found == dict.fromkeys((BY_RECORD, BY_PERSON, MEMBERSHIP, RECONSTRUCTION), UNLISTED)
    one, other = (target(promised, original, draw_tables(promised, original, s)["data"], policy) for s in (1, 2))
    assert {attack.name: attack.reason for attack in run.run_across_releases([one, other])} == {
        AVERAGING: "no randomised attribute is released in both with the same categories",
        INTERSECTION: "there are too many sets",
        JOINT_INFERENCE: "it is not released with the same categories, or there are too many sets",
    }


def test_attributes_that_are_recoded_together_are_not_guessed_from_classes() -> None:
    original = TableInMemory.of(SMALL, {"sex": [0, 0, 1], "disease": [0, 0, 1]})
    together = Recode.by_levels([Domain("sex", SEX), Domain("disease", DISEASE)], [SEX, ("ok", "ill", "ill")])
    found = undecided_reasons(product_of(together), original, SMALL)
    coupled = "it is released together with another attribute"
    assert dict.fromkeys((BY_RECORD, BY_PERSON, HOMOGENEITY, BACKGROUND), coupled).items() <= found.items()


def test_a_matrix_that_maps_two_values_to_one_law_is_not_inverted() -> None:
    original = TableInMemory.of(SMALL, {"sex": [0, 0, 1], "disease": [0, 0, 1]})
    half = (Fraction(1, 2), Fraction(1, 2))
    flat = Matrix((Domain("sex", SEX),), (category_column("sex", SEX),), (half, half))
    reasons = undecided_reasons(product_of(flat, Identity.of("disease", DISEASE)), original, SMALL)
    assert reasons[RECONSTRUCTION].startswith("a matrix cannot be inverted")


def test_one_person_cannot_be_distinguished() -> None:
    original = TableInMemory.of(SMALL, {"sex": [0], "disease": [1]})
    promised = product_of(Retention.uniform("sex", SEX, KEEP_SEX), Retention.uniform("disease", DISEASE, KEEP_DISEASE))
    found = undecided_reasons(promised, original, SMALL)
    assert found[MEMBERSHIP] == "there are no two people who could be distinguished"


def test_another_number_of_records_is_refused() -> None:
    original, promised = people(20), channel()
    table = draw_tables(promised, people(21), 1)["data"]
    with pytest.raises(RequirementError, match="the number of records differs from the original's"):
        attacked(promised, original, table)


def test_a_release_equal_to_its_expectation_shows_no_repetition() -> None:
    original = TableInMemory.of(SMALL, {"sex": [0, 1], "disease": [0, 0]})
    promised = product_of(Retention.uniform("sex", SEX, Fraction(1, 2)), Identity.of("disease", DISEASE))
    n = pa.array([1, 1], pa.int64())
    table = pa.table({"sex": ["F", "M"], "disease": ["none", "none"], MULTIPLICITY: n})
    one = target(promised, original, table, SMALL)
    assert averaged(one, one).reason == "the first release is its own expectation"


def test_axes_that_do_not_fit_one_table_are_averaged_without_the_last() -> None:
    promised = product_of(
        Retention.uniform("one", WIDE, Fraction(1, 2)), Retention.uniform("two", WIDE, Fraction(1, 2))
    )
    one, other = (
        target(promised, WIDE_PEOPLE, draw_tables(promised, WIDE_PEOPLE, s)["data"], WIDE_POLICY) for s in (1, 2)
    )
    assert averaged(one, other).outcome is AttackOutcome.AS_PREDICTED
