"""Measures of equivalence classes, held to their definitions read out over records in fractions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rrpolicy.privacy.classes import distance as emd
from rrpolicy.privacy.classes.distance import ValueDistance
from rrpolicy.privacy.classes.entropy import DIGITS, effective_number, entropy_reaches, sign_of_logarithm
from rrpolicy.privacy.classes.histograms import Histograms, largest_ratio, ratio_at_most
from rrpolicy.privacy.models.k_anonymity import KAnonymity, KAnonymityOptions
from rrpolicy.privacy.models.l_diversity import DiversityKind, LDiversity, LDiversityOptions
from rrpolicy.privacy.models.t_closeness import TCloseness, TClosenessOptions
from rrpolicy.testing import policy_of
from tests.models import requirement_of


@st.composite
def tables(draw: st.DrawFn, most: int = 6, classes: int = 4) -> np.ndarray:
    """Draw histograms (classes, values); a class may be empty."""
    values = draw(st.integers(1, 5))
    row = st.lists(st.integers(0, most), min_size=values, max_size=values)
    return np.array(draw(st.lists(row, min_size=1, max_size=classes)), dtype=np.int64)


def shares(row: np.ndarray) -> list[Fraction]:
    n = int(row.sum())
    return [Fraction(int(x), n) for x in row]


def whole(table: np.ndarray) -> list[Fraction]:
    return shares(table.sum(axis=0))


def entropy_at_least(row: np.ndarray, l: Fraction) -> bool:
    """Decide n^n / prod r^r >= l^n with every power written out."""
    n, counts = int(row.sum()), [int(x) for x in row if x]
    return n**n * l.denominator**n >= l.numerator**n * math.prod(r**r for r in counts)


def recursive(row: np.ndarray, c: Fraction, l: int) -> bool:
    counts = sorted((int(x) for x in row if x), reverse=True)
    return len(counts) >= l and counts[0] < c * sum(counts[l - 1 :])


def options(kind: DiversityKind, l: Fraction, c: Fraction) -> LDiversityOptions:
    whole_number = kind in {DiversityKind.DISTINCT, DiversityKind.RECURSIVE}
    return LDiversityOptions(
        kind=kind, l=Fraction(math.ceil(l)) if whole_number else l, c=c if kind is DiversityKind.RECURSIVE else None
    )


def achieved_diversity(kind: DiversityKind, histograms: Histograms, among: np.ndarray, l: int) -> float:
    return LDiversity().achieved(options(kind, Fraction(l), Fraction(1)), histograms, among).value


def by_definition(row: np.ndarray, asked: LDiversityOptions) -> bool:
    if not row.sum():
        return True
    if asked.kind is DiversityKind.DISTINCT:
        return int(np.count_nonzero(row)) >= asked.l
    if asked.kind is DiversityKind.FREQUENCY:
        return max(shares(row)) <= 1 / asked.l
    if asked.kind is DiversityKind.ENTROPY:
        return entropy_at_least(row, asked.l)
    assert asked.c is not None
    return recursive(row, asked.c, int(asked.l))


limits = st.fractions(min_value=1, max_value=5, max_denominator=6)


@given(
    tables(),
    st.sampled_from(DiversityKind),
    limits,
    st.fractions(min_value=Fraction(1, 4), max_value=6, max_denominator=4),
)
def test_diversity_of_every_kind_is_what_its_definition_says(table, kind, l, c):
    asked = options(kind, l, c)

    mask = LDiversity().classes_satisfying(asked, Histograms.of_dense(table))

    assert mask.tolist() == [by_definition(row, asked) for row in table]


@given(tables(), st.integers(1, 12))
def test_class_sizes_are_what_k_counts(table, k):
    (rule,) = KAnonymity().per_class(requirement(KAnonymityOptions(k=k)), None)

    assert rule.holds(table).tolist() == [row.sum() in {0, *range(k, 100)} for row in table]
    assert rule.sensitive is None


@given(tables())
def test_what_is_reached_is_the_worst_class(table):
    histograms = Histograms.of_dense(table)
    everyone = np.ones(len(table), dtype=bool)
    rows = [row for row in table if row.sum()]

    def achieved(kind: DiversityKind, l: int = 1) -> float:
        return achieved_diversity(kind, histograms, everyone, l)

    if not rows:
        assert [achieved(kind) for kind in DiversityKind] == [math.inf, math.inf, math.inf, 0.0]
        return
    assert achieved(DiversityKind.DISTINCT) == min(np.count_nonzero(row) for row in rows)
    least = min(1 / max(shares(row)) for row in rows)
    assert Fraction(achieved(DiversityKind.FREQUENCY)) <= least
    assert achieved(DiversityKind.FREQUENCY) == pytest.approx(float(least))
    entropy = min(-sum(float(p) * math.log(p) for p in shares(row) if p) for row in rows)
    assert achieved(DiversityKind.ENTROPY) == pytest.approx(math.exp(entropy))
    for l in (1, 2, 3):
        tails = [sorted(map(int, row), reverse=True) for row in rows]
        least_c = [Fraction(t[0], sum(t[l - 1 :])) if sum(t[l - 1 :]) else math.inf for t in tails]
        assert achieved(DiversityKind.RECURSIVE, l) == pytest.approx(float(max(least_c)))


@given(tables(), st.integers(2, 10**9))
def test_counts_beyond_64_bits_are_decided_alike(table, factor):
    """Scaling a table changes no share, so no measure but k; products of scaled counts need Python's integers."""
    small, large = Histograms.of_dense(table), Histograms.of_dense(table * factor)

    for levels in ([np.arange(table.shape[1])], emd.tree_levels([range(table.shape[1]), [0] * table.shape[1]])):
        near, far = emd.hierarchical_distances(small, levels), emd.hierarchical_distances(large, levels)
        assert [Fraction(int(a), int(b)) for a, b in zip(*near, strict=True)] == [
            Fraction(int(a), int(b)) for a, b in zip(*far, strict=True)
        ]
    assert [Fraction(int(a), int(b)) for a, b in zip(*emd.ordered_distances(small), strict=True)] == [
        Fraction(int(a), int(b)) for a, b in zip(*emd.ordered_distances(large), strict=True)
    ]


def test_six_three_one_by_hand():
    """Recursive diversity of counts 6, 3, 1: c must exceed 6/10, 6/4 and 6/1; with four values there is no c."""
    table = np.array([[3, 6, 0, 1]])
    histograms = Histograms.of_dense(table)
    everyone = np.array([True])

    c = [achieved_diversity(DiversityKind.RECURSIVE, histograms, everyone, l) for l in (1, 2, 3, 4)]
    assert c == [pytest.approx(0.6), 1.5, 6.0, math.inf]

    def holds(l: int, c: Fraction) -> bool:
        return bool(LDiversity().classes_satisfying(options(DiversityKind.RECURSIVE, Fraction(l), c), histograms)[0])

    assert not holds(2, Fraction(3, 2)), "r_1 must be under c times the rest, not equal to it"
    assert holds(2, Fraction(151, 100))
    assert not holds(3, Fraction(6))
    assert holds(3, Fraction(13, 2))
    assert not holds(4, Fraction(1000))


@pytest.mark.parametrize("values", [1, 2, 3, 6, 7, 49])
@pytest.mark.parametrize("each", [1, 3, 10, 10**7])
def test_uniform_values_reach_their_number_exactly(values, each):
    histograms = Histograms.of_dense(np.full((1, values), each))

    assert achieved_diversity(DiversityKind.ENTROPY, histograms, np.array([True]), 1) == float(values)
    assert histograms.entropic(Fraction(values)).all()
    assert not histograms.entropic(values + Fraction(1, 10**15)).any()


def test_equality_without_uniformity_passes():
    """Shares 1/2 and four times 1/8 have an entropy of log 4 exactly."""
    row = np.array([[4, 1, 1, 1, 1], [12, 3, 3, 3, 3]])

    assert Histograms.of_dense(row).entropic(Fraction(4)).all()
    assert not Histograms.of_dense(row).entropic(4 + Fraction(1, 10**18)).any()
    assert Histograms.of_dense(row).entropic(4 - Fraction(1, 10**18)).all()
    assert effective_number((4, 1, 1, 1, 1)) == 4.0


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.fractions(min_value=1, max_value=5, max_denominator=9))
@example([1, 1, 2, 4], Fraction(2))
def test_entropies_are_compared_exactly(counts, l):
    row = np.array(counts)

    assert entropy_reaches(counts, l) == entropy_at_least(row, l)
    assert effective_number(counts) <= math.exp(-sum(float(p) * math.log(p) for p in shares(row))) * (1 + 1e-12)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(-6, 6)), max_size=6))
def test_products_of_powers_are_held_against_one(powers):
    product = math.prod(Fraction(b) ** e for b, e in powers)

    assert sign_of_logarithm(powers) == (product > 1) - (product < 1)


def cumulated(p: list[Fraction], q: list[Fraction]) -> Fraction:
    sums = itertools.accumulate(a - b for a, b in zip(p, q, strict=True))
    return sum(map(abs, list(sums)[:-1]), Fraction(0)) / max(len(p) - 1, 1)


def climbing(p: list[Fraction], q: list[Fraction], levels: list[list[int]]) -> Fraction:
    """Li et al. 2007, section 4.2: at every inner node what its children have too much meets what they lack."""
    height = len(levels)
    total = Fraction(0)
    above = [*levels[1:], [0] * len(p)]
    for level, (below, parents) in enumerate(zip(levels, above, strict=True), start=1):
        for parent in set(parents):
            children = {below[i] for i in range(len(p)) if parents[i] == parent}
            extra = [sum((p[i] - q[i] for i in range(len(p)) if below[i] == child), Fraction(0)) for child in children]
            more = sum((x for x in extra if x > 0), Fraction(0))
            less = -sum((x for x in extra if x < 0), Fraction(0))
            total += Fraction(level, height) * min(more, less)
    return total


@given(tables())
def test_distances_are_what_their_definitions_say(table):
    histograms = Histograms.of_dense(table)
    m = table.shape[1]
    levels = [list(range(m)), [i // 2 for i in range(m)], [i // 4 for i in range(m)]]
    found = {
        "variational": emd.variational_distances(histograms),
        "ordered": emd.ordered_distances(histograms),
        "hierarchical": emd.hierarchical_distances(histograms, [np.array(level) for level in levels]),
    }
    if not table.sum():
        assert all(not numerator.any() for numerator, _ in found.values())
        return
    q = whole(table)
    for i, row in enumerate(table):
        got = {name: Fraction(int(a[i]), int(b[i])) for name, (a, b) in found.items()}
        if not row.sum():
            assert set(got.values()) == {0}
            continue
        p = shares(row)
        assert got["variational"] == sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
        assert got["ordered"] == cumulated(p, q)
        assert got["hierarchical"] == climbing(p, q, levels)


@pytest.mark.parametrize("seed", range(12))
def test_distances_are_the_cheapest_transport(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 7))
    table = rng.integers(0, 6, (3, m)) + np.eye(3, m, dtype=np.int64)
    levels = [list(range(m)), [i // 2 for i in range(m)], [i // 4 for i in range(m)]]
    apart = {
        "variational": [[float(i != j) for j in range(m)] for i in range(m)],
        "ordered": [[abs(i - j) / (m - 1) for j in range(m)] for i in range(m)],
        "hierarchical": [
            [next((k for k in range(3) if levels[k][i] == levels[k][j]), 3) / 3 for j in range(m)] for i in range(m)
        ],
    }
    histograms = Histograms.of_dense(table)
    found = {
        "variational": emd.variational_distances(histograms),
        "ordered": emd.ordered_distances(histograms),
        "hierarchical": emd.hierarchical_distances(histograms, [np.array(level) for level in levels]),
    }
    leave = np.kron(np.eye(m), np.ones(m))
    arrive = np.kron(np.ones(m), np.eye(m))
    q = table.sum(axis=0) / table.sum()
    for name, (numerator, denominator) in found.items():
        for i, row in enumerate(table):
            constraints = np.vstack([leave, arrive])
            least = linprog(np.ravel(apart[name]), A_eq=constraints, b_eq=np.concatenate([row / row.sum(), q])).fun
            assert numerator[i] / denominator[i] == pytest.approx(least, abs=1e-9), name


def test_the_root_stands_above_a_hierarchy_without_one():
    with_root = [("a", "b", "c"), ("x", "x", "y"), ("*", "*", "*"), ("*", "*", "*")]

    assert [level.tolist() for level in emd.tree_levels(with_root)] == [[0, 1, 2], [0, 0, 1]]
    assert [level.tolist() for level in emd.tree_levels(with_root[:2])] == [[0, 1, 2], [0, 0, 1]]
    assert [level.tolist() for level in emd.tree_levels([("only",), ("*",)])] == [[0]]


def requirement(asked, where=None):
    from rrpolicy.policy.model import Requirement

    names = {
        LDiversityOptions: "l-diversity",
        TClosenessOptions: "t-closeness",
        KAnonymityOptions: "k-anonymity",
    }
    return Requirement(names[type(asked)], asked, where or {})


def every_rule(policy, l: Fraction, t: Fraction):
    """Return every model and kind as the lattice search sees it."""
    rules = [("k", KAnonymity().per_class(requirement(KAnonymityOptions(k=3)), policy)[0])]
    for kind in DiversityKind:
        rules.append((kind.value, LDiversity().per_class(requirement(options(kind, l, l)), policy)[0]))
    for distance in ValueDistance:
        asked = TClosenessOptions(t=t, distance=distance)
        rules.append((distance.value, TCloseness().per_class(requirement(asked), policy)[0]))
    return rules


@given(
    table=tables(most=4, classes=6),
    l=st.fractions(min_value=1, max_value=4, max_denominator=3),
    t=st.fractions(min_value=0, max_value=1, max_denominator=8),
    merge=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_merging_satisfying_classes_satisfies(sensitive_of, table, l, t, merge):
    table = table[table.sum(axis=1) > 0]
    coarser = np.zeros((3, table.shape[1]), dtype=np.int64)
    np.add.at(coarser, merge[: len(table)], table)

    for name, rule in every_rule(sensitive_of(table.shape[1]), l, t):
        assert rule.monotone
        if rule.holds(table).all():
            assert rule.holds(coarser).all(), name


@given(table=tables(most=4, classes=6), merge=st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_what_stays_monotone_under_suppression_never_suppresses_more(sensitive_of, table, merge):
    table = table[table.sum(axis=1) > 0]
    coarser = np.zeros((3, table.shape[1]), dtype=np.int64)
    np.add.at(coarser, merge[: len(table)], table)

    kept = dict(every_rule(sensitive_of(table.shape[1]), Fraction(2), Fraction(1, 3)))
    assert {name for name, rule in kept.items() if rule.monotone_with_suppression} == {"k", "distinct"}
    for name in ("k", "distinct"):
        assert suppressed(kept[name], coarser) <= suppressed(kept[name], table)


def suppressed(rule, table: np.ndarray) -> int:
    """Return the records suppressed until all classes that are left satisfy a rule together."""
    left = table
    while len(left) and not (mask := rule.holds(left)).all():
        left = left[mask]
    return int(table.sum() - left.sum())


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("frequency", [[1, 1], [5, 0]]),
        ("entropy", [[1, 1], [5, 0]]),
        ("recursive", [[1, 1], [5, 0]]),
        ("variational", [[3, 0], [1, 1], [0, 1]]),
    ],
)
def test_a_coarser_table_may_have_to_suppress_more(sensitive_of, name, table):
    rule = dict(every_rule(sensitive_of(2), Fraction(2), Fraction(1, 5)))[name]
    fine = np.array(table)
    coarse = np.array([*fine[:-2], fine[-2:].sum(axis=0)])

    assert suppressed(rule, coarse) > suppressed(rule, fine)


@pytest.fixture(scope="module")
def sensitive_of():
    """Return a maker of policies whose sensitive attribute has so many ordered values and a hierarchy."""
    from rrpolicy.declarations import Role
    from rrpolicy.policy.model import Attribute, Policy

    def make(values: int) -> Policy:
        domain = tuple(f"{i}" for i in range(values))
        levels = (domain, tuple(f"g{i // 2}" for i in range(values)), ("*",) * values)
        return policy_of([Attribute("s", Role.SENSITIVE, domain, scale="ordinal", hierarchy=levels)])

    return make


@given(tables(most=4))
def test_cells_in_any_order_give_the_same_histograms(table):
    rows = [(g, v) for g, row in enumerate(table) for v, n in enumerate(row) for _ in range(n)]
    rng = np.random.default_rng(len(rows))
    shuffled = np.array(rows, dtype=np.int64).reshape(-1, 2)[rng.permutation(len(rows))]
    ones = np.ones(len(rows), dtype=np.int64)

    found = Histograms.of_cells(shuffled[:, 0], shuffled[:, 1], ones, classes=len(table), values=table.shape[1])
    expected = Histograms.of_dense(table)

    assert found.start.tolist() == expected.start.tolist()
    assert found.value.tolist() == expected.value.tolist()
    assert found.n.tolist() == expected.n.tolist()
    assert found.sizes.tolist() == table.sum(axis=1).tolist()
    assert found.commonest.tolist() == [
        max(Counter(v for g, v in rows if g == i).values(), default=0) for i in range(len(table))
    ]
    assert found.totals.tolist() == table.sum(axis=0).tolist()


def test_ratios_are_compared_in_integers():
    huge = 2**61
    numerator, denominator = np.array([huge, huge + 1]), np.array([huge + 1, huge + 2])

    assert largest_ratio(numerator, denominator, np.array([True, True])) == Fraction(huge + 1, huge + 2)
    assert ratio_at_most(numerator, denominator, Fraction(huge, huge + 1)).tolist() == [True, False]
    assert largest_ratio(numerator, denominator, np.array([False, False])) is None


def test_a_sum_of_logarithms_close_to_zero_is_decided_with_more_digits():
    with localcontext() as context:
        context.prec = 6 * DIGITS
        target, (p, q, r, s) = Decimal(3).ln() / Decimal(2).ln(), (1, 0, 0, 1)
        rest = target
        while q < 10 ** (DIGITS // 2 + 3):  # convergents of the continued fraction
            whole = int(rest)
            (p, r), (q, s) = (whole * p + r, p), (whole * q + s, q)
            rest = 1 / (rest - whole)
        expected = p * Decimal(2).ln() - q * Decimal(3).ln()
    assert sign_of_logarithm([(2, p), (3, -q)]) == (1 if expected > 0 else -1)
    assert sign_of_logarithm([(2, -p), (3, q)]) == (-1 if expected > 0 else 1)


def test_no_class_has_no_effective_number():
    found = Histograms.of_dense(np.array([[2, 1], [0, 0]]))
    assert found.least_effective_number(np.array([False, True])) is None


@pytest.mark.parametrize("options", [{"c": 0}, {"c": "-1/2"}])
def test_recursive_diversity_needs_a_positive_factor(options):
    with pytest.raises(ValueError, match="c must be over 0"):
        LDiversityOptions.model_validate({"kind": "recursive", "l": 3, **options})


def test_a_frequency_and_a_size_imply_the_larger_diversity():
    assert requirement_of("alpha-k-anonymity", alpha="1/2", k=5).implied_by == 5
    assert requirement_of("alpha-k-anonymity", alpha="1/10", k=5).implied_by == 10
