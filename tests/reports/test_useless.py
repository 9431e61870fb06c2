"""What is estimated worse than even shares is told before anybody waits for it, and only then."""

from __future__ import annotations

import json
import math
import random
import re
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.estimate.opening import open_release
from rrpolicy.frozen import replace
from rrpolicy.planning.plan import MarginalError
from rrpolicy.reports import marginals
from rrpolicy.reports.pairs import pair_panel
from rrpolicy.reports.public_page import file_size_text
from rrpolicy.testing import policy_text
from tests.survey import SURVEY

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


def test_tables_of_wide_columns_are_not_shown(tmp_path, monkeypatch):
    (tmp_path / "policy.toml").write_text(SURVEY)
    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "bundle")]) == 0
    public = tmp_path / "bundle/public"
    manifest = open_release(public).manifest
    assert [panel.attribute for panel in marginals.marginal_panels(public, manifest)] == ["sex", "disease"]
    monkeypatch.setattr(marginals, "WIDEST", 2)
    assert [panel.attribute for panel in marginals.marginal_panels(public, manifest)] == ["sex"]
    strange = replace(manifest, tables=())
    assert marginals.marginal_panels(public, strange) == ()
    assert marginals.released_label_counts(public, strange) == {}


def test_sizes_of_files_are_told_in_units(tmp_path):
    assert file_size_text(tmp_path / "nowhere") == ""
    (tmp_path / "small").write_bytes(bytes(12))
    assert file_size_text(tmp_path / "small").startswith("12 ")
    huge = SimpleNamespace(stat=lambda: SimpleNamespace(st_size=5e18))
    assert re.fullmatch(r"[\d.,e+]+ [A-Z]+", file_size_text(huge))


def test_an_error_that_depends_on_data_is_neither_good_nor_rough():
    panel = pair_panel([MarginalError(("sex",), 0.01, 2), MarginalError(("sex", "age"), None, 6)])
    known = [MarginalError(("sex",), 0.01, 2), MarginalError(("sex", "age"), 0.01, 6)]
    assert panel is not None
    assert MarginalError(("sex", "age"), None, 6).told == "unknown without data"
    assert panel.usable != pair_panel(known).usable
