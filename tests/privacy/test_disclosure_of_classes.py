"""Disclosure of generalised tables: full-domain, with suppression, and boxes, from the released rows alone."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.partition import Boxes, Cut
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Verdict
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from tests.models import assessors_of, requirement_of

A, B, S = ("a0", "a1", "a2"), ("b0", "b1"), ("s0", "s1", "s2")
COARSE = ("a0", "a12", "a12")


def suppressing(rows: list[tuple[int, int, int]]) -> Recode:
    """Return full-domain generalisation in which the classes of fewer than three are released as `*`."""
    classes = Counter((min(a, 1), b) for a, b, _ in rows)
    few = [c for c, n in classes.items() if n < 3]
    return Recode.by_levels([Domain("a", A), Domain("b", B)], [COARSE, B], suppressed=few)


def boxes() -> Recode:
    """Return a0 by itself, the others apart by `b` alone."""
    plain = Recode.by_levels([Domain("a", A), Domain("b", B)], [A, B])
    labels = ((*A, "a12", "*"), (*B, "*"))
    groups = (((0,), (1,), (2,), (1, 2), (0, 1, 2)), ((0,), (1,), (0, 1)))
    columns = tuple(
        c.__class__(c.name, c.kind, names, c.type, c.attribute) for c, names in zip(plain.released, labels, strict=True)
    )
    rule = Boxes((4, 2), (Cut(0, (0, 3)), None, Cut(1, (0, 1)), None, None))
    return Recode(plain.original, columns, groups, rule)


@settings(deadline=None, max_examples=120, derandomize=True)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["levels", "suppressing", "boxes"]), tie=st.booleans())
def test_link_is_one_over_the_class_and_risk_the_share_of_one_combination(
    worlds: Any, seed: int, kind: str, tie: bool
) -> None:
    rng = Random(seed)
    rows = [
        (rng.randrange(3), rng.randrange(2), min(rng.randrange(3), rng.randrange(3))) for _ in range(rng.randint(1, 20))
    ]
    policy = worlds.policy_of({"a": ("quasi-identifier", A), "b": ("quasi-identifier", B), "s": ("sensitive", S)})
    original = worlds.TableInMemory.of(policy, {n: [r[i] for r in rows] for i, n in enumerate("abs")})
    if kind == "levels":
        released = [(COARSE[a], B[b]) for a, b, _ in rows]
        axes: tuple[Any, ...] = (Recode.by_levels([Domain("a", A)], [COARSE]), Identity.of("b", B))
    elif kind == "suppressing":
        axes = (suppressing(rows),)
        classes = Counter((min(a, 1), b) for a, b, _ in rows)
        released = [(COARSE[a], B[b]) if classes[min(a, 1), b] >= 3 else ("*", "*") for a, b, _ in rows]
    else:
        axes = (boxes(),)
        released = [("a0", "*") if a == 0 else ("a12", B[b]) for a, b, _ in rows]
    channel = Product((*axes, Identity.of("s", S)), (), ("a", "b", "s"))
    size = Counter(released)
    links = [Fraction(1, size[seen]) for seen in released]
    risks = [Fraction(rows.count(row), size[seen]) for row, seen in zip(rows, released, strict=True)]
    hair = Fraction(1, 10**30)
    for model, chances in ((identity, links), (attribute, risks)):
        top = max(chances)
        for threshold in {top, top - hair} if tie else {Fraction(rng.randint(1, 12), 12)}:
            finding = assessors_of(model.NAME)[0].finding(
                requirement_of(model.NAME, threshold=threshold), channel, original
            )
            assert finding.achieved is not None
            assert finding.achieved.value == pytest.approx(float(top))
            assert finding.verdict is (Verdict.SATISFIED if top <= threshold else Verdict.FAILED)
            assert "1/k" in {c.name for c in finding.companions}
            assert finding.people_over == sum(c > threshold for c in chances)
