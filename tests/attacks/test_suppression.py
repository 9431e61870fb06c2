"""Attacks on releases in which records are suppressed, against who goes through people and records one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest

from rrpolicy.attacks import run
from rrpolicy.attacks.homogeneity import BACKGROUND, HOMOGENEITY
from rrpolicy.attacks.linkage import LINKAGE
from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.policy.model import Attribute
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import policy_of
from rrpolicy.testing.draws import draw_tables
from rrpolicy.testing.memory import TableInMemory

from .test_law import target

AREA, AGE, ILL = ("a", "b", "c"), ("young", "old"), ("no", "flu", "hiv")
KNOWN = [Attribute("area", Role.QUASI_IDENTIFIER, AREA), Attribute("age", Role.QUASI_IDENTIFIER, AGE)]
SENSITIVE = Attribute("ill", Role.SENSITIVE, ILL)
POLICY = policy_of([*KNOWN, SENSITIVE])
Person = tuple[int, int, int]


def world(seed: int) -> tuple[TableInMemory, SuppressionChannel, list[Person], list[bool]]:
    """Return a table, a channel, everybody, and who is suppressed."""
    rng = Random(seed)
    people = [(rng.randrange(3), rng.randrange(2), min(rng.randrange(3), rng.randrange(3))) for _ in range(14)]
    gone = [rng.random() < 0.4 for _ in people]
    moved = Counter(person for person, out in zip(people, gone, strict=True) if out)
    names = ("area", "age", "ill")
    original = TableInMemory.of(POLICY, {name: [p[i] for p in people] for i, name in enumerate(names)})
    return original, SuppressionChannel.of(KNOWN, SENSITIVE, [(*p, n) for p, n in moved.items()]), people, gone


def attacks(promised: SuppressionChannel, original: TableInMemory, table: pa.Table) -> dict[str, AttackResult]:
    return {found.name: found for found in run.run_attacks(target(promised, original, table, POLICY))}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_attained_is_what_one_by_one_gives(seed: int) -> None:
    original, promised, people, gone = world(seed)
    found = attacks(promised, original, draw_tables(promised, original, 0)["data"])
    size = Counter(p[:2] for p in people)
    shown = sum((Fraction(1, size[p[:2]]) for p, out in zip(people, gone, strict=True) if not out), Fraction(0))
    named = [  # for every suppressed record anybody of one combination is named, whichever is the best
        sum(
            (Fraction(1, size[alpha]) for p, out in zip(people, gone, strict=True) if out and p[:2] == alpha),
            Fraction(0),
        )
        for alpha in size
    ]
    assert found[LINKAGE].successes == pytest.approx(float(shown + max(named)))
    classes: dict[tuple[int, int] | None, Counter[int]] = {}
    for person, out in zip(people, gone, strict=True):
        classes.setdefault(None if out else person[:2], Counter())[person[2]] += 1
    for name, facts in ((HOMOGENEITY, 1), (BACKGROUND, 2)):
        assert found[name].successes == sum(n for c in classes.values() for _, n in c.most_common(facts))
        assert found[name].without == sum(n for _, n in Counter(p[2] for p in people).most_common(facts))
    assert {one.outcome for one in found.values()} == {AttackOutcome.AS_PREDICTED}


def test_who_shows_another_record_is_found() -> None:
    original, promised, _, _ = world(3)
    table = draw_tables(promised, original, 0)["data"]
    rows = table.to_pylist()
    (star, *_) = [row for row in rows if row["area"] == "*"]
    shown = [{**star, "area": "a", "age": "old"}, *(row for row in rows if row is not star)]
    found = attacks(promised, original, pa.Table.from_pylist(shown, schema=table.schema))
    assert found[LINKAGE].outcome is AttackOutcome.NOT_AS_PREDICTED
    more = [row | {MULTIPLICITY: row[MULTIPLICITY] + 1} for row in rows]
    found = attacks(promised, original, pa.Table.from_pylist(more, schema=table.schema))
    assert {one.outcome for one in found.values()} == {AttackOutcome.NOT_AS_PREDICTED}


def test_a_value_outside_its_domain_is_refused() -> None:
    original, promised, _, _ = world(3)
    table = draw_tables(promised, original, 0)["data"]
    rows = [row | {"ill": "plague"} for row in table.to_pylist()]
    with pytest.raises(RequirementError, match="a released value lies outside its domain"):
        attacks(promised, original, pa.Table.from_pylist(rows, schema=table.schema))


def test_releases_in_which_records_are_suppressed_are_not_averaged() -> None:
    original, promised, _, _ = world(3)
    one = target(promised, original, draw_tables(promised, original, 0)["data"], POLICY)
    (found,) = run.run_across_releases([one, one])
    assert found.reason == "not both are drawn record by record"


def test_a_channel_of_another_kind_is_not_attacked() -> None:
    class Other(SuppressionChannel):
        kind = "other"

    original, promised, _, _ = world(3)
    other = Other(**{one.name: getattr(promised, one.name) for one in fields(promised)})
    (found,) = run.run_attacks(target(other, original, draw_tables(promised, original, 0)["data"], POLICY))
    assert (found.outcome, found.reason) == (
        AttackOutcome.UNDECIDED,
        "no attack on a channel of the kind other is known",
    )
