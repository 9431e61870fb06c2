"""Several records a person: epsilon and k by enumeration, against an attacker who links all records of a unit."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError
from rrpolicy.finding import Basis, Verdict
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Outline
from rrpolicy.policy.model import Attribute, Requirement, SourceSettings
from rrpolicy.privacy.classes.unit_classes import unit_classes
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.models import local_dp, pk_anonymity
from rrpolicy.privacy.models.local_dp import LocalDPOptions
from rrpolicy.privacy.models.pk_anonymity import PkAnonymityOptions as PkOptions
from rrpolicy.privacy.units import k_of_units, records_assumption, unit_check_method
from rrpolicy.source.units import Units
from rrpolicy.testing import TableInMemory, check_assessor, open_policy
from rrpolicy.testing import policy_of as plain_policy

from .worlds import policy_of

F = Fraction
Rows = Sequence[Sequence[Fraction]]
SQUARE: Rows = [[F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)]]
SKEWED: Rows = [[F(7, 10), F(1, 5)], [F(3, 10), F(4, 5)]]
TALL: Rows = [[F(1, 2), F(1, 10)], [F(3, 10), F(1, 5)], [F(1, 5), F(7, 10)]]


def channel(rows: Rows) -> Product:
    originals, released = (tuple(f"v{i}" for i in range(n)) for n in (len(rows[0]), len(rows)))
    return Product((Matrix.explicit("a", originals, released, rows),), (), ("a",))


def chance(rows: Rows, released: Iterable[int], original: Iterable[int], *, ordered: bool) -> Fraction:
    """Return how likely a unit's records are released so; not in order: as a multiset."""
    released, original = tuple(released), tuple(original)
    orders = {released} if ordered else set(itertools.permutations(released))
    return sum((math.prod((rows[u][v] for u, v in zip(o, original, strict=True)), start=F(1)) for o in orders), F(0))


def enumerated_k(rows: Rows, size: int, units: int, *, ordered: bool) -> Fraction:
    """Return 1 over the largest chance that a block of linked records is a unit's.

    The attacker knows every unit's original records, sees which released records belong together, and not to whom.
    """
    values, labels = range(len(rows[0])), range(len(rows))
    pick = itertools.product if ordered else itertools.combinations_with_replacement
    blocks = list(pick(labels, repeat=size) if ordered else pick(labels, size))
    largest = F(0)
    law = {(b, v): chance(rows, b, v, ordered=ordered) for b in blocks for v in itertools.product(values, repeat=size)}
    for originals in itertools.product(itertools.product(values, repeat=size), repeat=units):
        for released in itertools.product(blocks, repeat=units):
            own = total = F(0)
            for order in itertools.permutations(range(units)):
                each = math.prod((law[b, originals[i]] for b, i in zip(released, order, strict=True)), start=F(1))
                total += each
                own += each if order[0] == 0 else 0
            largest = max(largest, own / total) if total else largest
    return 1 / largest


@pytest.mark.parametrize("rows", [SQUARE, SKEWED, TALL], ids=["square", "skewed", "tall"])
@pytest.mark.parametrize(("size", "units"), [(1, 2), (1, 3), (2, 2), (3, 2)])
def test_k_of_units_is_tight_by_enumeration(rows: Rows, size: int, units: int) -> None:
    if rows is TALL and size > 2:
        rows = [TALL[0], TALL[1], TALL[2]][:2]
        rows = [[p / sum(r[j] for r in rows) for j, p in enumerate(row)] for row in rows]
    cross = scope_loss(channel(rows)).cross

    assert k_of_units(cross, {size: units}) == enumerated_k(rows, size, units, ordered=True)
    assert k_of_units(cross, {size: units}) == enumerated_k(rows, size, units, ordered=False)


def test_three_units_of_two_records_hide_among_three() -> None:
    cross = scope_loss(channel(SKEWED)).cross

    assert k_of_units(cross, {2: 3}) == enumerated_k(SKEWED, 2, 3, ordered=False) == 1 + 2 * cross**2


def test_the_least_hidden_unit_decides() -> None:
    cross = scope_loss(channel(SQUARE)).cross
    sizes = {1: 100, 2: 30, 3: 2}

    assert k_of_units(cross, sizes) == min(enumerated_k(SQUARE, 3, 2, ordered=True), 1 + 99 * cross, 1 + 29 * cross**2)
    assert k_of_units(cross, {1: 100, 2: 1}) == 1
    assert k_of_units(cross, {}) == 1


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("rows", [SQUARE, SKEWED, TALL], ids=["square", "skewed", "tall"])
def test_epsilon_of_a_unit_by_enumeration(rows: Rows, most: int) -> None:
    """Any unit's records are swapped for any others, as many; the largest ratio of chances of what is released."""
    units = [list(itertools.product(range(len(rows[0])), repeat=size)) for size in range(1, most + 1)]
    largest = max(
        chance(rows, u, v, ordered=True) / chance(rows, u, w, ordered=True)
        for of_size in units
        for v, w in itertools.product(of_size, repeat=2)
        for u in itertools.product(range(len(rows)), repeat=len(v))
    )

    exposed = scope_loss(channel(rows), most)
    assert exposed.record == exposed.attribute == largest


def table(sizes: dict[int, int]) -> TableInMemory:
    policy = policy_of({"a": ("quasi-identifier", ["v0", "v1"]), "b": ("quasi-identifier", ["v0", "v1", "v2"])})
    records = sum(size * units for size, units in sizes.items())
    codes = {"a": np.arange(records, dtype=np.int32) % 2, "b": np.arange(records, dtype=np.int32) % 3}
    return TableInMemory(policy, codes, units=Units(sizes))


def keeping(*keep: str) -> Product:
    axes = [Retention.uniform(n, [f"v{i}" for i in range(d)], F(p)) for n, d, p in zip("ab", (2, 3), keep, strict=True)]
    return Product(tuple(axes), (), ("a", "b"))


def pk(k: object, most: int) -> Requirement:
    return Requirement("pk-anonymity", PkOptions(k=k), max_records=most)  # type: ignore[arg-type]


def dp(epsilon: object, most: int) -> Requirement:
    return Requirement("local-dp", LocalDPOptions(epsilon=epsilon), max_records=most)  # type: ignore[arg-type]


def test_both_models_pass_the_conformance_kit_with_several_records_a_unit() -> None:
    original = table({1: 40, 2: 30, 3: 20})
    channels = [keeping("11/20", "2/5"), keeping("3/5", "1/2"), keeping("9/10", "9/10")]
    for (assessor,), requirement in (
        (pk_anonymity.PkAnonymity().assessors(), pk(2, 3)),
        (local_dp.LocalDP().assessors(), dp(2, 3)),
    ):
        findings = check_assessor(
            assessor, open_policy(replace(original.policy, requirements=(requirement,))), channels, [original]
        )
        assert [f.verdict for f in findings] == [Verdict.SATISFIED, Verdict.FAILED, Verdict.FAILED]
        assert all("3 records" in f.adversary for f in findings)


def test_k_of_several_records_rests_on_the_table_and_epsilon_does_not() -> None:
    original, made = table({1: 40, 2: 30}), keeping("3/5", "1/2")
    cross = scope_loss(made).cross
    k, epsilon = pk_anonymity.assess(pk("5/4", 2), made, original), local_dp.assess(dp(9, 2), made, original)

    assert (k.basis, epsilon.basis) == (Basis.ORIGINAL, Basis.CHANNEL)
    assert k.achieved is not None
    assert epsilon.achieved is not None
    assert k.achieved.value == pytest.approx(float(min(1 + 39 * cross, 1 + 29 * cross**2)))
    single = local_dp.assess(dp(9, 1), made, original)
    assert single.achieved is not None
    assert epsilon.achieved.value == pytest.approx(2 * single.achieved.value)
    of_k = [c for c in (*k.companions, *epsilon.companions) if c.name in {"k", "1/k"}]
    assert len(of_k) == 3
    assert all(c.basis is Basis.ORIGINAL for c in of_k)
    public = k.up_to(Basis.RELEASE).to_json()
    assert isinstance(public, dict)
    assert public["achieved"] is None


def test_k_is_undecided_without_the_table_or_without_a_count_of_units() -> None:
    made, original = keeping("3/5", "1/2"), table({2: 30})
    uncounted = TableInMemory(original.policy, original.codes)
    for given in (60, uncounted):
        finding = pk_anonymity.assess(pk("5/4", 2), made, given)
        assert finding.verdict is Verdict.UNDECIDED
        assert finding.achieved is None
        assert not [c for c in finding.companions if c.name == "1/k"]
        assert local_dp.assess(dp(9, 2), made, given).verdict is Verdict.SATISFIED
    assert pk_anonymity.assess(pk("5/4", 1), made, 60).verdict is Verdict.SATISFIED


def test_many_records_a_unit_are_no_trouble() -> None:
    finding = local_dp.assess(dp(100_000, 1000), keeping("9/10", "9/10"), 10)

    assert finding.achieved is not None
    assert math.isfinite(finding.achieved.value)
    assert pk_anonymity.assess(pk(2, 1000), keeping("9/10", "9/10"), table({1000: 5})).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("attribute-disclosure", {"threshold": "1/2"}),
        ("identity-disclosure", {"threshold": "1/2"}),
    ],
)
def test_models_of_single_records_are_refused(model: str, options: dict[str, object]) -> None:
    registry = load_registry()
    policy = policy_of({"q": ("quasi-identifier", ["x", "y"]), "s": ("sensitive", ["u", "v"])})
    read = registry.privacy_models[model].options.model_validate(options)
    outline = Outline(Product, ((("q",), Identity), (("s",), Identity)))

    registry.assessor(Requirement(model, read), policy, outline) if model != "t-closeness" else None
    with pytest.raises(PolicyError) as caught:
        registry.assessor(Requirement(model, read, max_records=2), policy, outline)
    (problem,) = caught.value.problems
    assert problem.code == "RR246"
    assert "the policy allows 2" in problem.message


def test_the_assumption_is_the_publishers_and_the_audit_says_whether_it_was_tested() -> None:
    assert "one record (stated by the publisher)" in records_assumption(1)
    assert "at most 3 records (stated by the publisher)" in records_assumption(3)
    assert unit_check_method(tested=True) == "How many records a person has was tested on the table."
    assert unit_check_method(tested=False) == "How many records a person has was not tested."


Household = list[tuple[int, int, int, int]]
"""Of each member: age, sex, disease, and the income of the household."""
HOUSEHOLDS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=3),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=9,
)
LEVELS = {"fine": ((0,), (1,), (2,), (3,)), "pairs": ((0, 1), (2, 3)), "all": ((0, 1, 2, 3),)}


def household_release(households: list[Household], level: str) -> tuple[Product, TableInMemory]:
    """Return the release of age by groups, with all else unmodified, and the table."""
    domains = {"age": tuple("abcd"), "sex": ("f", "m"), "disease": ("x", "y", "z"), "income": ("low", "high")}
    role = {"age": Role.QUASI_IDENTIFIER, "sex": Role.QUASI_IDENTIFIER}
    attributes = [Attribute(n, role.get(n, Role.SENSITIVE), d, release_as=n) for n, d in domains.items()]
    policy = plain_policy(attributes, source=SourceSettings("x", unit="house", max_records=3))
    records = [member for household in households for member in household]
    whose = np.repeat(np.arange(len(households)), [len(household) for household in households])
    codes = {name: np.array([r[i] for r in records], np.int32) for i, name in enumerate(domains)}
    sizes = Counter(map(len, households))
    table = TableInMemory(policy, codes, units=Units(dict(sizes)), whose=whose)
    ages = tuple(domains["age"])
    groups = {f"group {i}": [ages[j] for j in members] for i, members in enumerate(LEVELS[level])}
    recoded = [next(g for g, members in groups.items() if age in members) for age in ages]
    axis = Recode.by_levels([Domain("age", ages)], [recoded])
    return Product.of(policy.released, [axis]), table


def seen(member: tuple[int, int, int, int], level: str) -> tuple[int, int]:
    return next(i for i, ages in enumerate(LEVELS[level]) if member[0] in ages), member[1]


@hypothesis.given(HOUSEHOLDS, st.sampled_from([*LEVELS]))
def test_classes_of_households_equal_enumeration(drawn: list[Any], level: str) -> None:
    households: list[Household] = [[(*member, income) for member in members] for members, income in drawn]
    product, table = household_release(households, level)
    keys: dict[tuple[Any, ...], list[Household]] = defaultdict(list)
    for household in households:
        keys[tuple(sorted(seen(m, level) for m in household))].append(household)
    single = Counter(c for household in households for c in {seen(m, level) for m in household})
    same = {
        key: len({tuple(sorted((seen(m, level), m[2]) for m in household)) for household in alike})
        for key, alike in keys.items()
    }
    by_record = {
        (key, c): len({m[2] for household in alike for m in household if seen(m, level) == c})
        for key, alike in keys.items()
        for c in key
    }
    registry = load_registry()

    def finding(model: str, **options: Any) -> Any:
        keyed = registry.privacy_models[model].options.model_validate(options)
        asked = Requirement(model, keyed, max_records=3)
        outline = Outline(Product, tuple((axis.attributes, type(axis)) for axis in product.axes))
        return registry.assessor(asked, table.policy, outline).finding(asked, product, table)

    found = finding("k-anonymity", k=2)
    assert found.achieved.value == min(map(len, keys.values()))
    assert (found.verdict is Verdict.SATISFIED) is (found.achieved.value >= 2)
    assert found.basis is Basis.ORIGINAL
    assert next(c for c in found.companions if c.name == "k by single records").measure.value == min(single.values())
    income = min(len({h[0][3] for h in alike}) for alike in keys.values())
    assert finding("l-diversity", kind="distinct", l=2, sensitive=["income"]).achieved.value == income
    if any(len({m[2] for m in household}) > 1 for household in households):
        disease = min(*same.values(), *by_record.values())
    else:
        disease = min(len({h[0][2] for h in alike}) for alike in keys.values())
    assert finding("l-diversity", kind="distinct", l=2, sensitive=["disease"]).achieved.value == disease
    whole = finding("l-diversity", kind="distinct", l=2)
    assert whole.achieved.value == min(income, disease)
    assert (whole.verdict is Verdict.SATISFIED) is (min(income, disease) >= 2)
    for model, options in (("alpha-k-anonymity", {"alpha": "1/2", "k": 1}), ("t-closeness", {"t": "1/3"})):
        assert finding(model, **options).verdict in {Verdict.SATISFIED, Verdict.FAILED}


def test_ordered_distances_of_values_that_vary_in_a_unit_are_refused() -> None:
    product, table = household_release([[(0, 0, 0, 0), (1, 0, 1, 0)], [(2, 0, 2, 1)]], "all")
    registry = load_registry()
    options = registry.privacy_models["t-closeness"].options.model_validate({"t": "1/2", "distance": "ordered"})
    asked = Requirement("t-closeness", options, max_records=3)
    outline = Outline(Product, tuple((axis.attributes, type(axis)) for axis in product.axes))
    with pytest.raises(PolicyError, match="RR246.*varies among the records of a unit"):
        registry.assessor(asked, table.policy, outline).finding(asked, product, table)


def test_a_table_that_does_not_read_units_together_is_no_evidence() -> None:
    product, table = household_release([[(0, 0, 0, 0)]], "all")
    with pytest.raises(ValueError, match="no column identifies units"):
        replace(table, whose=None).unit_counts("age")
    with pytest.raises(TypeError, match="does not read the records of a unit together"):
        unit_classes(Requirement("k-anonymity", None), product, SimpleNamespace(policy=table.policy))  # type: ignore[arg-type]
