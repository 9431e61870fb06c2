"""Frames of pandas and polars that know their release: the same answers, and no answer of a frame that is another one."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal

import rrpolicy
from rrpolicy.errors import PolicyError


def code(ask):
    with pytest.raises(PolicyError) as caught:
        ask()
    return caught.value.problems[0].code


def test_the_rows_are_those_that_were_released(mixed):
    release = rrpolicy.open_release(mixed)
    own, other = release.to_pandas(), release.to_polars()
    assert len(own) == len(other) == release.records
    assert list(own.columns) == other.columns == [c.name for c in release.data.columns]
    assert list(own["sex"].cat.categories) == ["f", "m"]
    assert own["my column"].astype(str).tolist() == other["my column"].cast(pl.String).to_list()
    assert not own["my column"].isna().any()
    assert set(own["my column"]) <= set(release.domain("my column"))
    assert own["hours"].tolist() == other["hours"].to_list()
    assert [list(v) for v in own["ill"]] == other["ill"].to_list()
    assert own["below"].astype(int).tolist() == other["below"].to_list()


def test_they_answer_as_the_release_does(mixed):
    release = rrpolicy.open_release(mixed)
    sql = "SELECT sex, avg(hours) AS m FROM release GROUP BY sex"
    asked = {
        "crosstab": (lambda r: r.crosstab(["sex", "wide"], "below = 1", target="population", level=0.9)),
        "mean": (lambda r: r.mean("hours", "sex", "wide = 'a'")),
        "query": (lambda r: r.query(sql)),
    }
    for ask in asked.values():
        expected = ask(release).to_frame()
        assert_frame_equal(ask(release.to_pandas().rrpolicy), expected)
        found = ask(release.to_polars().rrpolicy)
        assert isinstance(found, pl.DataFrame)
        assert found.columns == list(expected.columns)
        assert found["se" if "se" in found.columns else "m_se"].to_list() == pytest.approx(
            expected["se" if "se" in expected.columns else "m_se"].tolist()
        )


def test_a_frame_with_other_rows_is_no_answer(mixed):
    frame = rrpolicy.open_release(mixed).to_pandas()
    chosen = frame[frame["sex"] == "f"]
    assert 0 < len(chosen) < len(frame)
    assert code(lambda: chosen.rrpolicy.crosstab("wide")) == "RR516"
    assert code(lambda: pd.concat([frame, chosen]).rrpolicy.crosstab("wide")) in {"RR516", "RR517"}
    assert len(frame.sort_values("hours").rrpolicy.crosstab("wide")) == 2
    assert len(frame.copy().rrpolicy.crosstab("wide")) == 2
    other = rrpolicy.open_release(mixed).to_polars()
    assert code(lambda: other.filter(pl.col("sex") == "f").rrpolicy.crosstab("wide")) == "RR517"
    assert code(lambda: pd.DataFrame({"sex": ["f"]}).rrpolicy.crosstab("sex")) == "RR517"


def test_nothing_is_loaded_or_registered_before_it_is_asked_for():
    script = "import sys, rrpolicy\nassert not {'pandas', 'polars'} & set(sys.modules), sys.modules.keys()"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_polars_it_says_so(mixed, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert code(rrpolicy.open_release(mixed).to_polars) == "RR518"
