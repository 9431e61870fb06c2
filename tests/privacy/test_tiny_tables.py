"""Linking by who knows all originals, in tiny tables: every release and every way of dealing people to records."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure import identity
from rrpolicy.privacy.evidence import gather_evidence, split_axes
from rrpolicy.privacy.models import identity_disclosure
from rrpolicy.testing import TableInMemory

from .worlds import World, policy_of, world

F = Fraction


def enumerated(rows: list[tuple[int, ...]], chance: dict[tuple[int, ...], dict[tuple[int, ...], Fraction]]) -> Fraction:
    """Return the largest chance of linking a person: all releases, and all permutations that could have made them.

    Args:
        rows: everybody's quasi-identifiers.
        chance: of what one person's are released as.
    """
    released = sorted({u for law in chance.values() for u in law})
    hit = [F(0)] * len(rows)
    for release in itertools.product(released, repeat=len(rows)):
        weights = np.zeros((len(rows), len(rows)), dtype=object) + F(0)
        total = F(0)
        for order in itertools.permutations(range(len(rows))):
            each = math.prod((chance[rows[i]].get(release[j], F(0)) for i, j in enumerate(order)), start=F(1))
            total += each
            for i, j in enumerate(order):
                weights[i, j] += each
        if total:  # this order of records comes with the chance total / N!
            for i in range(len(rows)):
                hit[i] += sum((w / total) ** 2 for w in weights[i]) * total / math.factorial(len(rows))
    return max(hit)


def shown(finding: Finding) -> dict[str, float]:
    return {c.name: c.measure.value for c in finding.companions}


def assessed(channel: Product, original: TableInMemory) -> Finding:
    options = identity_disclosure.IdentityDisclosureOptions.model_validate({"threshold": 1})
    return (
        identity_disclosure.IdentityDisclosure()
        .assessors()[0]
        .finding(Requirement("identity-disclosure", options), channel, original)
    )


def three() -> tuple[Product, TableInMemory]:
    channel = Product((Retention.uniform("a", ("0", "1"), F(4, 5)),), (), ("a",))
    policy = policy_of({"a": ("quasi-identifier", ("0", "1"))})
    return channel, TableInMemory.of(policy, {"a": [0, 1, 1]})


def test_of_three_people_expected_shares_say_five_ninths_and_knowing_all_gives_seven_elevenths() -> None:
    finding = assessed(*three())
    law = {(v,): {(u,): F(4, 5) if u == v else F(1, 5) for u in range(2)} for v in range(2)}

    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(5 / 9)
    assert enumerated([(0,), (1,), (1,)], law) == F(7, 11)
    assert shown(finding)[identity.NAME] == float(F(7, 11))
    assert shown(finding)["1/k"] >= float(F(7, 11))
    (companion,) = [c for c in finding.companions if c.name == identity.NAME]
    assert companion.basis is Basis.ORIGINAL
    assert "to be expected" in finding.adversary


def person(row: dict[str, int]) -> tuple[int, ...]:
    return tuple(row[name] for name in ("a", "b", "x"))


def law_of(of: World, row: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Return what one person's quasi-identifiers, and the unchanged column, are released as."""
    named = dict(zip(("a", "b", "x"), row, strict=True))
    found: dict[tuple[int, ...], Fraction] = {(): F(1)}
    for attributes, law in of.laws:
        if attributes[0] not in named:
            continue
        column = law[tuple(named[a] for a in attributes)]
        found = {(*u, w): p * q for u, p in found.items() for w, q in column.items()}
    return found


def tiny(rng: Random) -> tuple[World, TableInMemory, list[tuple[int, ...]]]:
    """Return a world with so few people and released values that everything can be listed."""
    while True:
        made = world(rng, ("identity", "retention", "blocks", "matrix"))
        kept = made.rows[: rng.randint(2, 4)]
        rows = [person(row) for row in kept]
        values = {u for row in rows for u in law_of(made, row)}
        if not made.carried and len(values) ** len(rows) <= 3000:
            codes = {name: [row[name] for row in kept] for name in ("a", "b", "x", "s", "t")}
            return made, TableInMemory.of(made.policy, codes), rows


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_enumeration_over_all_releases(seed: int) -> None:
    made, original, rows = tiny(Random(seed))
    laws = {row: law_of(made, row) for row in rows}

    exact = enumerated(rows, laws)
    found = shown(assessed(made.channel, original))

    assert found[identity.NAME] == pytest.approx(float(exact), rel=1e-12)
    assert found["1/k"] >= float(exact) - 1e-12


def test_tables_that_are_not_tiny_are_left_out_at_once() -> None:
    channel, _ = three()
    policy = policy_of({"a": ("quasi-identifier", ("0", "1"))})
    for records, there in ((20, True), (10_000, False)):
        original = TableInMemory.of(policy, {"a": [i % 2 for i in range(records)]})
        assert (identity.NAME in shown(assessed(channel, original))) is there
    wide = tuple(map(str, range(3000)))
    policy = policy_of({"a": ("quasi-identifier", wide)})
    channel = Product((Retention.uniform("a", wide, F(1, 2)),), (), ("a",))
    original = TableInMemory.of(policy, {"a": [1, 2, 3]})
    evidence = gather_evidence(original, split_axes(channel, policy, None))
    assert identity.finite_linkage_measure(evidence, np.arange(3)) == ()
