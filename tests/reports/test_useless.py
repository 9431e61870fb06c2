"""What is estimated worse than even shares is told before anybody waits for it, and only then."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.planning.plan import MarginalError
from rrpolicy.testing import policy_text

SAID = "estimates are expected to be worse than assuming equal shares"


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any))
def test_no_table_is_farther_from_even_shares_than_what_is_called_useless(counts):
    shares = [Fraction(n, sum(counts)) for n in counts]
    even = Fraction(1, len(counts))
    away = math.sqrt(sum((share - even) ** 2 for share in shares) / len(counts))
    farthest = math.sqrt((1 - 1 / len(counts)) / len(counts))

    assert away <= farthest + 1e-12
    assert MarginalError(("a",), farthest * (1 + 1e-9), len(counts)).useless
    assert not MarginalError(("a",), farthest * (1 - 1e-9), len(counts)).useless
    assert not MarginalError(("a",), None, len(counts)).useless


def test_one_person_of_each_cell_alone_is_that_far_away():
    """The bound is attained: by a table in which everybody is alike."""
    for cells in range(2, 9):
        away = math.sqrt(((1 - 1 / cells) ** 2 + (cells - 1) / cells**2) / cells)
        assert away == pytest.approx(math.sqrt((1 - 1 / cells) / cells))


@pytest.mark.parametrize(("epsilon", "useless"), [("1/4", True), ("8", False)])
def test_a_plan_and_the_audit_say_it_and_the_public_page_does_not(tmp_path, epsilon, useless):
    rng = random.Random(4)
    rows = [f"{rng.choice('abcdef')},{rng.choice('uvwxyz')}" for _ in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["sort,kind", *rows]))
    text = (
        '[attributes]\nsort = { role = "quasi-identifier", domain = ["a", "b", "c", "d", "e", "f"] }\n'
        'kind = { role = "sensitive", domain = ["u", "v", "w", "x", "y", "z"] }\n'
        f'[[privacy]]\nmodel = "local-dp"\nepsilon = "{epsilon}"\n[mechanism]\nname = "pram"\n'
    )
    (tmp_path / "policy.toml").write_text(policy_text(text, "people.csv"))
    planned = rrpolicy.plan(tmp_path / "policy.toml")
    released = rrpolicy.release(planned, tmp_path / "bundle")
    audit = json.loads((released.audit / "report.json").read_text())

    assert [e.useless for e in planned.errors] == [useless] * 3
    assert (SAID in "".join(audit["pairs"]["useless"])) is useless
    assert (SAID in (released.audit / "report.html").read_text()) is useless
    assert SAID not in (released.public / "report.html").read_text()
    assert rrpolicy.verify(released.bundle, source=tmp_path / "people.csv").passed
