"""Pk-anonymity and local differential privacy: by enumeration of their definitions, at their limits, in both scopes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Axis
from rrpolicy.channels.probability import keep_probability
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.finding import Basis, Finding, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.epsilon.scope_loss import k_of_cross_ratio, scope_loss
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.models import local_dp, pk_anonymity
from rrpolicy.privacy.models.local_dp import LocalDP, LocalDPOptions
from rrpolicy.privacy.models.pk_anonymity import PkAnonymity
from rrpolicy.privacy.models.pk_anonymity import PkAnonymityOptions as PkOptions
from tests.models import assessors_of

F = Fraction
Rows = list[list[Fraction]]


def letters(size: int) -> list[str]:
    return [f"v{i}" for i in range(size)]


def matrix(rows: Rows, attribute: str = "a") -> Matrix:
    return Matrix.explicit(attribute, letters(len(rows[0])), letters(len(rows)), rows)


def product(*axes: Any, carried: Sequence[Column] = ()) -> Product:
    return Product(
        axes, tuple(carried), tuple(c.name for a in axes for c in a.columns()) + tuple(c.name for c in carried)
    )


def pk(k: Any) -> Requirement:
    return Requirement("pk-anonymity", PkOptions(k=k))


def dp(epsilon: Any, scope: Any = "record") -> Requirement:
    return Requirement("local-dp", LocalDPOptions(epsilon=epsilon, scope=scope))


def beside(finding: Finding) -> dict[str, float]:
    return {c.name: c.measure.value for c in finding.companions}


def enumerated_k(records: int, rows: Rows) -> Fraction:
    """Return k by the definition: 1 over the largest posterior chance that a released record is a person's.

    The adversary knows every original, so the posterior of the permutation that dealt people to released records is
    proportional to the product of the entries that it picks. Which person and which record is no matter: all tables and
    all releases are tried.
    """
    largest = F(0)
    for original in itertools.product(range(len(rows[0])), repeat=records):
        for released in itertools.product(range(len(rows)), repeat=records):
            own = total = F(0)
            for permutation in itertools.permutations(range(records)):
                chance = math.prod(
                    (rows[u][original[i]] for u, i in zip(released, permutation, strict=True)), start=F(1)
                )
                total += chance
                own += chance if permutation[0] == 0 else 0
            if total:
                largest = max(largest, own / total)
    return 1 / largest


def formula_k(records: int, rows: Rows) -> Fraction:
    return k_of_cross_ratio(scope_loss(product(matrix(rows))).cross, records)


def test_k_equals_the_brute_force_reference(vectors: dict[str, Any]) -> None:
    for case in vectors["pk_anonymity"]["brute_force"]:
        columns = [
            [F(repr(entry)).limit_denominator(1000) for entry in row] for row in case["matrix_columns_are_originals"]
        ]

        finding = pk_anonymity.assess(pk("1.01"), product(matrix(columns)), case["N"])

        assert finding.achieved is not None
        assert finding.achieved.value == pytest.approx(case["k"], abs=1e-9)
        assert finding.achieved.standing is Standing.EXACT


def test_the_reference_retentions_reach_their_k_and_epsilon(vectors: dict[str, Any]) -> None:
    for case in vectors["pk_anonymity"]["retention_for_k"]:
        exact = F(case["retention"])
        for rho, verdict in (
            (exact * (1 - F(1, 10**9)), Verdict.SATISFIED),
            (exact * (1 + F(1, 10**9)), Verdict.FAILED),
        ):
            axes = [
                Retention.uniform(f"a{i}", letters(d), keep_probability(rho, d))
                for i, d in enumerate(case["domain_sizes"])
            ]
            finding = pk_anonymity.assess(pk(case["k"]), product(*axes), case["N"])
            assert finding.verdict is verdict
            assert finding.achieved is not None
            assert finding.achieved.value == pytest.approx(case["k"], rel=1e-6)
    for case in vectors["pk_anonymity"]["retention_for_epsilon"]:
        axes = [
            Retention.uniform(f"a{i}", letters(d), keep_probability(F(case["retention"]), d))
            for i, d in enumerate(case["domain_sizes"])
        ]
        finding = local_dp.assess(dp(case["epsilon"]), product(*axes), 100)
        assert finding.achieved is not None
        assert finding.achieved.value == pytest.approx(case["epsilon"], rel=1e-9)


@pytest.mark.parametrize(
    ("records", "rows"),
    [
        (2, [["4/5", "1/5"], ["1/5", "4/5"]]),
        (3, [["7/10", "1/5"], ["3/10", "4/5"]]),
        (4, [["7/10", "1/5"], ["3/10", "4/5"]]),
        (3, [["1/2", "1/10"], ["3/10", "1/5"], ["1/5", "7/10"]]),
        (2, [["3/5", "1/10", "1/5"], ["3/10", "7/10", "1/5"], ["1/10", "1/5", "3/5"]]),
        (3, [["3/5", "1/10", "1/5"], ["2/5", "9/10", "4/5"]]),
        (3, [["1/2", "0"], ["1/2", "1"]]),
        (3, [["1/2", "1/3"], ["0", "0"], ["1/2", "2/3"]]),
        (4, [["1", "0"], ["0", "1"]]),
        (4, [["1/2", "1/2"], ["1/2", "1/2"]]),
        (3, [["1"], ["0"]]),
    ],
)
def test_k_is_tight_by_enumeration_of_the_definition(records: int, rows: list[list[str]]) -> None:
    exact = [[F(entry) for entry in row] for row in rows]

    assert formula_k(records, exact) == enumerated_k(records, exact)


@st.composite
def small(draw: st.DrawFn) -> Rows:
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    drawn = [draw(st.lists(st.integers(0, 4), min_size=height, max_size=height).filter(any)) for _ in range(width)]
    return [[F(column[u], sum(column)) for column in drawn] for u in range(height)]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), small())
def test_k_is_tight_for_any_small_matrix(records: int, rows: Rows) -> None:
    assert formula_k(records, rows) == enumerated_k(records, rows)


def test_k_of_a_product_is_that_of_its_kronecker_product() -> None:
    one = [[F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)]]
    two = [[F(7, 10), F(1, 5)], [F(3, 10), F(4, 5)]]
    both = [[p * q for p in r for q in s] for r in one for s in two]
    exposed = scope_loss(product(matrix(one, "a"), matrix(two, "b")))

    assert k_of_cross_ratio(exposed.cross, 2) == enumerated_k(2, both) == formula_k(2, both)
    assert exposed.record == matrix(both).max_ratio()


@given(
    st.lists(st.tuples(st.integers(2, 6), st.fractions(F(1, 10), F(9, 10), max_denominator=20)), min_size=1, max_size=4)
)
def test_epsilons_of_axes_add(parts: list[tuple[int, Fraction]]) -> None:
    axes = [Retention.uniform(f"a{i}", letters(d), keep_probability(rho, d)) for i, (d, rho) in enumerate(parts)]

    finding = local_dp.assess(dp(3), product(*axes), 100)

    assert finding.achieved is not None
    total = math.fsum(axis.log_ratio().value for axis in axes)
    assert finding.achieved.value == pytest.approx(total, rel=1e-12)
    assert (finding.verdict is Verdict.SATISFIED) == (total <= 3)


def test_k_is_decided_exactly_at_the_limit() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)))  # cross ratio 1/9
    at = 1 + F(9, 9)

    assert pk_anonymity.assess(pk(at), channel, 10).verdict is Verdict.SATISFIED
    assert pk_anonymity.assess(pk(at + F(1, 10**40)), channel, 10).verdict is Verdict.FAILED


def test_epsilon_is_decided_exactly_at_the_limit() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)))  # log 3
    log3 = "1.09861228866810969139524523692252570464749055782274945173469433"

    assert local_dp.assess(dp(log3), channel, 10).verdict is Verdict.FAILED
    assert local_dp.assess(dp(log3[:-1] + "4"), channel, 10).verdict is Verdict.SATISFIED
    finding = local_dp.assess(dp(2), channel, 10)
    assert finding.achieved is not None
    assert F(finding.achieved.value) > F(log3) > F(math.nextafter(finding.achieved.value, 0))


def test_an_unchanged_attribute_ends_record_scope_and_not_attribute_scope() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)), Identity.of("b", letters(2)))

    record, attribute = local_dp.assess(dp(2), channel, 10), local_dp.assess(dp(2, "attribute"), channel, 10)

    assert record.achieved is not None
    assert attribute.achieved is not None
    assert (record.achieved.value, record.verdict) == (math.inf, Verdict.FAILED)
    assert "'b'" in record.adversary
    assert attribute.achieved.value == pytest.approx(math.log(3))
    assert attribute.verdict is Verdict.SATISFIED
    assert beside(record)["epsilon, attribute scope"] == attribute.achieved.value
    assert beside(attribute)["epsilon, record scope"] == math.inf
    k = pk_anonymity.assess(pk(2), channel, 10)
    assert k.achieved is not None
    assert (k.achieved.value, k.verdict) == (1.0, Verdict.FAILED)
    assert beside(k)["1/k"] == 1.0


def test_an_assumption_takes_an_unchanged_attribute_out_and_is_listed() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)), Identity.of("b", letters(2), None, "drawn by lot"))

    finding = pk_anonymity.assess(pk(2), channel, 10)

    assert finding.verdict is Verdict.SATISFIED
    assert any("'b'" in text and "drawn by lot" in text for text in finding.assumptions[:1])
    assert any("public" in text for text in finding.assumptions)


def test_an_assumption_on_a_randomised_attribute_changes_nothing() -> None:
    column = Column("a", "category", ("v0", "v1"), "", "a", "said so")
    axis = Retention.uniform("a", letters(2), F(3, 4)).with_columns([column])

    assert pk_anonymity.assess(pk(2), product(axis), 10) == pk_anonymity.assess(
        pk(2), product(Retention.uniform("a", letters(2), F(3, 4))), 10
    )


@pytest.mark.parametrize("reason", [None, "drawn by lot"])
def test_carried_columns_count_like_unchanged_ones(reason: str | None) -> None:
    carried = Column("hours", "carried", (), "DOUBLE", "hours", reason)
    channel = product(Retention.uniform("a", letters(2), F(3, 4)), carried=[carried])

    finding = pk_anonymity.assess(pk(2), channel, 10)

    assert finding.verdict is (Verdict.FAILED if reason is None else Verdict.SATISFIED)
    assert ("Released unchanged and assumed known: 'hours'" in finding.adversary) == (reason is None)
    assert ("No part of it: 'hours'" in finding.adversary) == (reason is not None)
    assert beside(finding)["epsilon, record scope"] == (math.inf if reason is None else pytest.approx(math.log(3)))


def largest_ratio(law: Callable[[Any], dict[Any, Fraction]], values: Sequence[Any]) -> Fraction | None:
    """Return the largest ratio of the chances of one release, over any two values; None for infinity."""
    ratios: list[Fraction | None] = []
    for one, other in itertools.permutations(values, 2):
        for released, chance in law(one).items():
            if chance:
                beside_it = law(other).get(released, F(0))
                ratios.append(chance / beside_it if beside_it else None)
    return None if None in ratios else max((r for r in ratios if r is not None), default=F(1))


def test_a_record_is_what_is_named_and_an_unlinkable_column_is_told_with_certainty() -> None:
    keep, hours = F(3, 4), ("1.0", "2.0")
    channel = product(
        Retention.uniform("a", letters(2), keep),
        carried=[Column("hours", "carried", (), "DOUBLE", "hours", "told to the interviewer")],
    )

    def law(value: tuple[int, str]) -> dict[Any, Fraction]:
        return {(u, value[1]): keep if u == value[0] else 1 - keep for u in range(2)}

    whole = [(v, h) for v in range(2) for h in hours]
    finding = local_dp.assess(dp(2), channel, 10)

    assert largest_ratio(law, whole) is None
    assert largest_ratio(law, [(v, hours[0]) for v in range(2)]) == scope_loss(channel).record == F(3)
    for found in (finding, pk_anonymity.assess(pk(2), channel, 10)):
        assert "whole record" not in found.adversary
        assert "made of 'a'." in found.adversary
        assert "any two values of such a column are distinguished with certainty" in found.adversary
        assert any("'hours'" in text and "not protected" in text for text in found.assumptions)
    swaps = [c.meaning for c in local_dp.assess(dp(2, "attribute"), channel, 10).companions if "record scope" in c.name]
    assert swaps == [
        "Swapping one person's values of 'a' for any other changes the chance of any release by at most e^epsilon."
    ]


def test_each_scope_names_its_attributes() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)), Identity.of("b", letters(2)))

    assert "made of 'a', 'b'." in local_dp.assess(dp(2), channel, 10).adversary
    assert local_dp.assess(dp(2, "attribute"), channel, 10).adversary.endswith("Randomised: 'a'.")


def test_an_unchanged_attribute_of_one_category_tells_nothing() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)), Identity.of("b", ["only"]))

    assert pk_anonymity.assess(pk(2), channel, 10).verdict is Verdict.SATISFIED
    assert local_dp.assess(dp(2), channel, 10).verdict is Verdict.SATISFIED


def test_blocks_give_k_one_and_an_infinite_epsilon() -> None:
    axis = Retention.in_blocks("a", letters(3), [(["v0", "v1"], F(3, 4)), (["v2"], F(1))])

    finding = pk_anonymity.assess(pk(2), product(axis), 10)

    assert finding.achieved is not None
    assert finding.achieved.value == 1.0
    assert beside(finding)["epsilon, attribute scope"] == math.inf


@pytest.mark.parametrize("records", [0, 1])
def test_a_table_of_one_record_has_k_one(records: int) -> None:
    finding = pk_anonymity.assess(pk(2), product(Retention.uniform("a", letters(2), F(3, 4))), records)

    assert finding.achieved is not None
    assert (finding.achieved.value, finding.verdict) == (1.0, Verdict.FAILED)


def test_findings_need_the_channel_only_and_say_so() -> None:
    channel = product(Retention.uniform("a", letters(2), F(3, 4)))

    for finding in (pk_anonymity.assess(pk(2), channel, 10), local_dp.assess(dp(2), channel, 10)):
        assert finding.basis is Basis.CHANNEL
        assert all(c.basis is Basis.CHANNEL for c in finding.companions)
    assert beside(local_dp.assess(dp(2), channel, 10)) == {
        "epsilon, attribute scope": pytest.approx(math.log(3)),
        "k": 2.0,
        "1/k": 0.5,
    }


@pytest.mark.parametrize("bad", [1, "1/2", 0, -3])
def test_impossible_k_is_refused(bad: Any) -> None:
    with pytest.raises(ValidationError, match="above 1"):
        PkOptions(k=bad)


@pytest.mark.parametrize("bad", [0, -1, "-1/2"])
def test_impossible_epsilon_is_refused(bad: Any) -> None:
    with pytest.raises(ValidationError, match="above 0"):
        LocalDPOptions(epsilon=bad)


def test_k_out_of_reach_of_the_smallest_table_is_refused(policy: Callable[..., Policy]) -> None:
    model = PkAnonymity()

    assert model.refuses(PkOptions(k=50), policy({"a": "quasi-identifier"}, min_rows=51)) is None
    assert model.refuses(PkOptions(k=50), policy({"a": "quasi-identifier"})) is None
    assert "50" in (model.refuses(PkOptions(k=50), policy({"a": "quasi-identifier"}, min_rows=50)) or "")
    told = model.refuses(PkOptions(k=50), policy({"a": "quasi-identifier"}, min_rows=50)) or ""
    assert told.endswith(": set a k below 50, or release more records under a larger `min_rows`")
    assert LocalDP().refuses(LocalDPOptions(epsilon=1), policy({"a": "quasi-identifier"})) is None


def test_what_never_holds_is_refused_before_any_data(policy: Callable[..., Policy]) -> None:
    plain = policy({"a": "quasi-identifier", "b": "sensitive"})
    blocks = policy({"a": "quasi-identifier"}, blocks={"a": (("a",), ("b",))})
    beside_it = policy({"a": "quasi-identifier", "c": "insensitive"})
    assumed = policy({"a": "quasi-identifier", "c": "insensitive"}, {"c": "drawn by lot"})
    chosen = policy({"a": "quasi-identifier", "c": "insensitive"}, attributes=("a", "c"))

    for requirement, supports in (
        (pk(2), pk_anonymity.PkAnonymity().assessors()[0].supports),
        (dp(2), local_dp.LocalDP().assessors()[0].supports),
    ):
        assert supports(requirement, plain, ()) is None
        assert "blocks" in (supports(requirement, blocks, ()) or "")
        assert "'c'" in (supports(requirement, beside_it, ()) or "")
        assert supports(requirement, assumed, ()) is None
        assert supports(requirement, chosen, ()) is None
    assert local_dp.LocalDP().assessors()[0].supports(dp(2, "attribute"), beside_it, ()) is None
    assert "blocks" in (local_dp.LocalDP().assessors()[0].supports(dp(2, "attribute"), blocks, ()) or "")


def test_subgroups_are_refused_with_a_reason(policy: Callable[..., Policy]) -> None:
    plain = policy({"a": "quasi-identifier"})

    for requirement, supports in (
        (pk(2), pk_anonymity.PkAnonymity().assessors()[0].supports),
        (dp(2), local_dp.LocalDP().assessors()[0].supports),
    ):
        limited = Requirement(requirement.model, requirement.options, {"a": "b"})
        assert "subgroup" in (supports(limited, plain, ()) or "")


def test_requirements_are_put_in_words_and_compared() -> None:
    assert PkAnonymity().describe(PkOptions(k=2)) == "k >= 2"
    assert LocalDP().describe(LocalDPOptions(epsilon="7/2")) == "epsilon <= 7/2 (record scope)"
    assert PkAnonymity().compare(PkOptions(k=2), PkOptions(k=3)) is Order.STRONGER
    assert PkAnonymity().compare(PkOptions(k=2), PkOptions(k="2.0")) is Order.EQUAL
    assert PkAnonymity().compare(PkOptions(k=3), PkOptions(k=2)) is Order.WEAKER


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        (("record", 2), ("record", 1), Order.STRONGER),
        (("record", 2), ("record", 2), Order.EQUAL),
        (("attribute", 1), ("attribute", 2), Order.WEAKER),
        (("attribute", 2), ("record", 2), Order.STRONGER),
        (("attribute", 1), ("record", 2), Order.INCOMPARABLE),
        (("record", 2), ("attribute", 2), Order.WEAKER),
        (("record", 2), ("attribute", 1), Order.INCOMPARABLE),
    ],
)
def test_record_scope_implies_attribute_scope(old: Any, new: Any, order: Order) -> None:
    before, after = (LocalDPOptions(epsilon=e, scope=s) for s, e in (old, new))

    assert LocalDP().compare(before, after) is order


def test_assessors_cover_every_axis() -> None:
    (k,), (epsilon,) = pk_anonymity.PkAnonymity().assessors(), local_dp.LocalDP().assessors()

    assert k.axes == epsilon.axes == (Axis,)
    assert (k.channel, epsilon.channel) == (Product, Product)
    assert (k.basis, epsilon.basis) == (Basis.CHANNEL, Basis.CHANNEL)


@settings(deadline=None)
@given(st.lists(st.floats(0.05, 0.95), min_size=3, max_size=3), st.booleans())
def test_caps_are_zero_at_the_limit_and_their_jacobian_is_right(keep: list[float], of_k: bool) -> None:
    rows = [[F(7, 10), F(1, 5)], [F(3, 10), F(4, 5)]]
    axes = [Retention.uniform(f"a{i}", letters(d), F(p)) for i, (d, p) in enumerate(zip((2, 3, 1), keep, strict=True))]
    channel = product(*axes[:1], matrix(rows, "m"), *axes[1:])
    requirement, module = (pk(2), pk_anonymity) if of_k else (dp(2), local_dp)
    x = np.array(keep)
    if min(abs(keep[0] - 1 / 2), abs(keep[1] - 1 / 3)) < 1e-3:
        return

    smooth = assessors_of(requirement.model)[0].smooth(requirement, channel, 100)

    finding = module.assess(requirement, channel, 100)
    assert finding.achieved is not None
    assert smooth.value(x).shape == (1,)
    assert smooth.jacobian(x).shape == (1, 3)
    if of_k:
        expected = (math.log(99 / (2 - 1)) - math.log(99 / (finding.achieved.value - 1))) / -2
    else:
        expected = finding.achieved.value - 2
    assert smooth.value(x)[0] == pytest.approx(expected, abs=1e-9)
    for i in range(3):
        step = np.eye(3)[i] * 1e-6
        slope = (smooth.value(x + step) - smooth.value(x - step))[0] / 2e-6
        assert smooth.jacobian(x)[0, i] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_caps_that_no_parameter_meets_are_far_above_zero() -> None:
    retention = Retention.uniform("a", letters(2), F(3, 4))
    unchanged, carried = Identity.of("b", letters(2)), Column("h", "carried", (), "", "h")
    x = np.array([0.6])

    for channel in (product(retention, unchanged), product(retention, carried=[carried])):
        assert pk_anonymity.PkAnonymity().assessors()[0].smooth(pk(2), channel, 10).value(x)[0] > 1e5
        assert local_dp.LocalDP().assessors()[0].smooth(dp(2), channel, 10).value(x)[0] > 1e5
        assert local_dp.LocalDP().assessors()[0].smooth(dp(2, "attribute"), channel, 10).value(x)[0] == pytest.approx(
            math.log(1.5) - 2
        )
    assert pk_anonymity.PkAnonymity().assessors()[0].smooth(pk(2), product(retention), 1).value(x)[0] > 1e5
    assert np.isfinite(
        local_dp.LocalDP().assessors()[0].smooth(dp(2), product(retention), 10).jacobian(np.array([1.0]))
    ).all()
