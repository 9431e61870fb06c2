"""The conformance kit holds for the built-ins, and catches what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.declarations import Role
from rrpolicy.escaping.formulas import Handling
from rrpolicy.finding import Basis, Verdict
from rrpolicy.formats.parquet import ParquetFormat
from rrpolicy.frozen import replace
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.models import local_dp, pk_anonymity
from rrpolicy.testing import TableInMemory, check_assessor, check_axis, check_format, open_policy, policy_of

THIRD = Fraction(1, 3)
RECTANGULAR = [["7/10", "1/10"], ["1/10", "7/10"], ["1/5", "1/5"]]
AXES = {
    "identity": Identity.of("a", ["x", "y", "z"]),
    "identity of one": Identity.of("a", ["x"]),
    "retention": Retention.uniform("a", ["x", "y", "z"], Fraction(3, 5)),
    "retention, nearly all kept": Retention.uniform("a", ["x", "y"], Fraction(99_999, 100_000)),
    "retention, nearly nothing kept": Retention.uniform("a", list("abcdefg"), Fraction(14_286, 100_000)),
    "retention, a ratio near 1": Retention.uniform("a", ["x", "y"], Fraction(1, 2) + Fraction(1, 210)),
    "retention of everything": Retention.uniform("a", ["x", "y", "z"], Fraction(1)),
    "blocks": Retention.in_blocks("a", ["x", "y", "z"], [(["x", "z"], Fraction(4, 5)), (["y"], Fraction(1))]),
    "rectangular": Matrix.explicit("a", ["x", "y"], ["u", "v", "w"], [[Fraction(p) for p in r] for r in RECTANGULAR]),
    "invariant": Matrix.preserving("a", ["x", "y", "z"], [THIRD, THIRD, THIRD], Fraction(2, 3), of="declared"),
    "observed invariant": Matrix.preserving(
        "a", ["x", "y", "z"], [Fraction(1, 7), Fraction(4, 7), Fraction(2, 7)], Fraction(2, 3), of="observed"
    ),
}


@pytest.mark.parametrize("name", AXES)
def test_the_axes_conform(name):
    check_axis(AXES[name])


class WrongRows(Retention):
    """Draws the released category of a transposed, and so another, matrix."""

    def column(self, code):
        return super().column((code + 1) % self.original_size)


class Losing(Retention):
    """Loses a record."""

    def split(self, codes, n, stream):
        cell, released, count = super().split(codes, n, stream)
        return cell[1:], released[1:], count[1:]


class Optimistic(Retention):
    """Claims a smaller epsilon."""

    def max_ratio(self):
        return super().max_ratio() / 2


class Credulous(Retention):
    """Reads any version."""

    @classmethod
    def from_json(cls, document):
        return super().from_json({**document, "version": cls.version})


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (WrongRows, "forward.* is not the matrix"),
        (Losing, "loses or makes up records"),
        (Optimistic, "a larger ratio of probabilities than declared"),
        (Credulous, "takes a version that it cannot know"),
    ],
)
def test_a_wrong_axis_is_caught(wrong, reason):
    with pytest.raises(AssertionError, match=reason):
        check_axis(wrong.uniform("a", ["x", "y", "z"], Fraction(3, 5)))


class OnePrior(Sets):
    """Takes one prior at a time for several."""

    def expected_posterior(self, prior):
        return super().expected_posterior(prior.reshape(-1, self.original_size)[0])


class Blurred(Sets):
    """Mixes several priors up."""

    def expected_posterior(self, prior):
        low, high = super().expected_posterior(prior)
        return low[::-1], high[::-1]


class Reassuring(Sets):
    """Bounds from above what it should bound from below."""

    def expected_posterior(self, prior):
        low, _ = super().expected_posterior(prior)
        return 0.1 * low, 0.2 * low


class Shifted(Sets):
    """Tells the ratio of another value."""

    def exact_ratio(self, weight, prior, own, most):
        return super().exact_ratio(weight[1:] + weight[:1], prior, own, most)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (OnePrior, "any number of dimensions"),
        (Blurred, "not that of each|does not occur|below the prior"),
        (Reassuring, "below the prior"),
        (Shifted, "exact_ratio.. is not what"),
    ],
)
def test_a_wrong_posterior_is_caught(wrong, reason):
    check_axis(Sets.of("a", list("vwxyz"), 3))
    with pytest.raises(AssertionError, match=reason):
        check_axis(wrong.of("a", list("vwxyz"), 3))


def test_a_sampler_with_another_chance_is_caught():
    class Slipped(Retention):
        def split(self, codes, n, stream):
            kept = Retention.of(self.original, [(range(3), Fraction(57, 100))])
            return kept.split(codes, n, stream)

    with pytest.raises(AssertionError, match="another chance than the matrix"):
        check_axis(Slipped.uniform("a", ["x", "y", "z"], Fraction(3, 5)))


def policy(*attributes: Attribute, uri: str = "none") -> Policy:
    return policy_of(attributes, mechanism="pram", options=pk_anonymity.PkAnonymityOptions(k=2), uri=uri)


CHANNELS = tuple(
    Product(
        (
            Retention.uniform("a", ["x", "y", "z"], keep),
            Retention.in_blocks("b", ["u", "v"], [(["u", "v"], Fraction(11, 20))]),
        ),
        (),
        ("a", "b"),
    )
    for keep in (Fraction(34, 100), Fraction(1, 2), Fraction(9, 10))
)
PAIR = policy(*(Attribute(n, Role.QUASI_IDENTIFIER, tuple(d), release_as=n) for n, d in (("a", "xyz"), ("b", "uv"))))


def asking(requirement: Requirement) -> OpenedPolicy:
    return open_policy(replace(PAIR, requirements=(requirement,)))


@pytest.mark.parametrize(
    ("assessors", "requirement"),
    [
        (pk_anonymity.PkAnonymity().assessors(), Requirement("pk-anonymity", pk_anonymity.PkAnonymityOptions(k=9))),
        (local_dp.LocalDP().assessors(), Requirement("local-dp", local_dp.LocalDPOptions(epsilon=1))),
        (
            local_dp.LocalDP().assessors(),
            Requirement("local-dp", local_dp.LocalDPOptions(epsilon=1, scope="attribute")),
        ),
    ],
    ids=["pk-anonymity", "local-dp, record", "local-dp, attribute"],
)
def test_the_assessors_conform(assessors, requirement):
    (assessor,) = assessors

    findings = check_assessor(assessor, asking(requirement), CHANNELS)

    assert [f.verdict for f in findings][-1] is Verdict.FAILED
    assert findings[0].verdict is Verdict.SATISFIED


def test_a_wrong_assessor_is_caught():
    (right,) = pk_anonymity.PkAnonymity().assessors()
    requirement = Requirement("pk-anonymity", pk_anonymity.PkAnonymityOptions(k=9))

    def told_more(r, c, o):
        return replace(right.assess(r, c, o), basis=Basis.ORIGINAL)

    def steeper(r, c, o):
        smooth = right.smooth(r, c, o)
        return replace(smooth, jacobian=lambda x: 2 * smooth.jacobian(x))

    def silent(r, c, o):
        return replace(right.assess(r, c, o), adversary=" ")

    for wrong, reason in (
        (replace(right, assess=told_more), "depends on more"),
        (replace(right, smooth=steeper), "is not the derivative"),
        (replace(right, assess=silent), "its adversary"),
    ):
        with pytest.raises(AssertionError, match=reason):
            check_assessor(wrong, asking(requirement), CHANNELS)


def test_a_table_in_memory_counts_what_it_holds():
    table = TableInMemory.of(PAIR, {"a": [0, 2, 2, 1], "b": [1, 0, 0, 1]})

    counts = table.counts("b", "a")

    assert counts.codes.tolist() == [[0, 2], [1, 0], [1, 1]]
    assert counts.n.tolist() == [2, 1, 1]
    assert table.records == 4
    assert np.array_equal(np.concatenate([b.column("b") for b in table.rows("b", "a")]), [0, 0, 1, 1])
    assert table.content() == TableInMemory.of(PAIR, {"a": [2, 0, 1, 2], "b": [0, 1, 1, 0]}).content()
    assert table.content() != TableInMemory.of(PAIR, {"a": [2, 0, 1, 1], "b": [0, 1, 1, 0]}).content()


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("(SELECT * REPLACE (half + 1 AS half) FROM {read})", r"'half' \(DOUBLE\): .* is read, .* expected"),
        ("(SELECT * REPLACE (half AS half), 1 AS more FROM {read})", "sql\\(\\) reads the columns"),
        ("(SELECT * FROM {read} LIMIT 3)", "3 rows are read, .* expected"),
    ],
)
def test_what_analysts_read_otherwise_is_told_by_its_column(relation: str, said: str) -> None:
    class Off(ParquetFormat):
        def sql(self, path: str, columns: Sequence[Column], handling: Handling) -> str:
            return relation.format(read=super().sql(path, columns, handling))

    with pytest.raises(AssertionError, match=said):
        check_format(Off())
