"""Inference by record reads what is released unmodified and goes with the sensitive attribute, whatever was assumed."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.attacks.inference import BY_PERSON, BY_RECORD
from rrpolicy.attacks.result import AttackOutcome
from rrpolicy.attacks.target import group_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.cli.main import main
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.policy.model import Attribute
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import policy_of
from rrpolicy.testing.memory import TableInMemory
from tests.attacks.test_law import attacked
from tests.release.test_giving_away import TWIN, WAIVER, twin, write

HIV, REASON = ("neg", "pos"), "nobody knows it"
KEEP = Fraction(3, 4)
CODES = [0] * 9 + [1] * 9
OWN = [0] * 8 + [1] + [1] * 9
"""Of nine records of each code, all but one of the first have the value that the code stands for."""


def release(flipped: tuple[int, int, int]) -> pa.Table:
    """Return a release in which so many values of each kind of record were exchanged."""
    kinds = [("Z00", 0, 8), ("Z00", 1, 1), ("Z21", 1, 9)]
    rows = [
        (code, HIV[own ^ (place < out)])
        for (code, own, size), out in zip(kinds, flipped, strict=True)
        for place in range(size)
    ]
    rows.sort()
    columns = {"code": [code for code, _ in rows], "hiv": [value for _, value in rows]}
    return pa.table(columns | {MULTIPLICITY: pa.array([1] * len(rows), pa.int64())})


def world(*, carried: bool) -> tuple[Product, TableInMemory, Any]:
    """Return the channel, the table and the policy, the code with categories or without."""
    labels = None if carried else ("Z00", "Z21")
    attributes = [
        Attribute("code", Role.INSENSITIVE, labels, release_as="code", assume_unlinkable=REASON),
        Attribute("hiv", Role.SENSITIVE, HIV, release_as="hiv"),
    ]
    policy, drawn = policy_of(attributes), Retention.uniform("hiv", HIV, KEEP)
    if labels is None:
        kept = (Column("code", "carried", (), "VARCHAR", "code", REASON),)
        product = Product((drawn,), kept, ("code", "hiv"))
        code = pa.array(["Z00", "Z21"]).take(pa.array(CODES))
        original = TableInMemory(policy, {"hiv": np.array(OWN, np.int32)}, {"code": code})
    else:
        product = Product((Identity.of("code", labels, None, REASON), drawn), (), ("code", "hiv"))
        original = TableInMemory.of(policy, {"code": CODES, "hiv": OWN})
    return product, original, policy


@pytest.mark.parametrize("carried", [False, True])
def test_the_prediction_is_the_expectation_over_all_releases(carried: bool) -> None:
    """Every release is enumerated; the attacker names what the code stands for, whatever hiv shows."""
    product, original, policy = world(carried=carried)
    mean = total = Fraction(0)
    sizes = (8, 1, 9)
    predicted = set()
    for flipped in np.ndindex(9, 2, 10):
        chance = math.prod(
            math.comb(n, k) * (1 - KEEP) ** k * KEEP ** (n - k) for n, k in zip(sizes, flipped, strict=True)
        )
        found = attacked(product, original, release(flipped), policy)
        one = found[BY_RECORD]
        assert one.successes is not None
        assert "of a record code, released unmodified" in one.knows
        mean, total = mean + chance * Fraction(one.successes), total + chance
        predicted.add(one.predicted)
        assert "released unmodified" not in found[BY_PERSON].knows
    assert total == 1
    assert len(predicted) == 1
    assert predicted.pop() == pytest.approx(float(mean))
    assert float(mean) == pytest.approx(17)  # all but the one whose code does not tell


def test_a_value_that_the_table_does_not_have_is_found() -> None:
    product, original, policy = world(carried=True)
    table = release((0, 0, 0))
    strange = table.set_column(0, "code", pa.array(["Z99", *table.column(0).to_pylist()[1:]]))
    with pytest.raises(RequirementError, match="does not occur in the table"):
        attacked(product, original, strange, policy)


def test_exchanged_codes_are_not_as_predicted() -> None:
    product, original, policy = world(carried=True)
    table = release((0, 0, 0))
    moved = table.set_column(0, "code", pa.array(["Z21", *table.column(0).to_pylist()[1:]]))
    assert attacked(product, original, moved, policy)[BY_RECORD].outcome is AttackOutcome.NOT_AS_PREDICTED


def test_many_values_are_read_in_groups_by_rank() -> None:
    policy = policy_of([Attribute("wage", Role.INSENSITIVE, None, release_as="wage")])
    original = TableInMemory(policy, {}, {"wage": pa.array(np.arange(100.0))})
    column = Column("wage", "carried", (), "DOUBLE", "wage")
    few, every = group_column(original, column, 30), group_column(original, column, 100)
    assert (few.size, every.size) == (20, 100)
    assert few.codes(pa.array([0.0, 99.0, -1.0])).tolist() == [0, 19, -1]


def test_attack_reads_a_second_coding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The assessment leaves the code out; who reads it knows hiv of everybody."""
    policy = write(tmp_path, TWIN, twin, tail=WAIVER.format("association/hiv_code/hiv"))
    bundle = tmp_path / "bundle"
    assert main(["release", str(policy), "--out", str(bundle)]) == 0
    capsys.readouterr()
    assert main(["attack", str(bundle), "--source", str(tmp_path / "people.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = (a for a in found["attacks"] if a["name"] == BY_RECORD)
    assert one["successes"] == pytest.approx(3000)
    assert one["predicted"] == pytest.approx(3000)
    assert 2800 < one["without"] < 2900
    assert one["knows"].endswith("and of a record hiv_code, released unmodified")
