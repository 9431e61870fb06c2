"""The demo table and the two commands that begin with it."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rrpolicy.cli.main import main
from rrpolicy.drafting.demo.source import DemoSource, survey
from rrpolicy.errors import DataError
from rrpolicy.planning.check import check
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original

ROOT = Path(__file__).resolve().parents[2]


def test_the_survey_is_the_same_every_time_and_holds_what_it_promises():
    table = survey(20_000, 7)
    people = table.to_pandas()

    assert table.equals(survey(20_000, 7))
    assert not table.equals(survey(20_000, 8))
    assert table.schema.names == [
        *("person_id", "sex", "age", "education", "region", "occupation", "disease", "income_band", "hours")
    ]
    assert people["person_id"].is_unique
    assert people["education"].isna().mean() == pytest.approx(0.017, abs=0.005)
    assert 0 < (people["disease"] == "Narcolepsy").mean() < 0.001
    assert people["age"].between(16, 95).all()
    assert (people["hours"] * 2 % 1 == 0).all()
    mean_age = people.groupby("disease")["age"].mean()
    assert mean_age["heart disease"] > mean_age["none"] + 10
    rich = people["income_band"].isin(["50k to 80k", "over 80k"])
    assert rich[people["education"] == "master"].mean() > 5 * rich[people["education"] == "primary"].mean()


def test_the_first_people_are_pinned():
    """What a seed gives may never change: the examples' figures rest on it."""
    assert survey(3, 1).to_pylist()[0] == FIRST


FIRST = {
    "person_id": "P0000000097",
    "sex": "male",
    "age": 80,
    "education": "vocational",
    "region": "Northport",
    "occupation": "retired",
    "disease": "none",
    "income_band": "15k to 30k",
    "hours": 1.0,
}


def test_the_demo_source_takes_records_and_a_seed(tmp_path):
    with DemoSource().open("demo:survey?records=1000&seed=7", None, tmp_path) as snapshot:
        assert snapshot.records() == 1000
    for uri in (
        "demo:other",
        "demo:survey?people=1",
        "demo:survey?records=-1",
        "demo:survey?records=0",
        "demo:survey?seed=",
    ):
        with pytest.raises(DataError, match="RR300"), DemoSource().open(uri, None, tmp_path):
            pass


@pytest.mark.parametrize("path", sorted((ROOT / "policies").glob("*.toml")), ids=lambda p: p.stem)
def test_every_example_policy_is_right_and_fits_the_demo_table(path, tmp_path):
    opened = open_policy(path)
    check(opened)
    assert opened.policy.source.uri == "demo:survey"
    with open_original(opened.policy, opened.registry.sources, tmp_path) as original:
        assert original.records == 50_000


def test_demo_writes_a_folder_that_needs_no_checkout(tmp_path, capsys):
    assert main(["demo", str(tmp_path / "d"), "--records", "2000"]) == 0
    assert f"next: rrpolicy check {tmp_path}/d/policy.toml" in capsys.readouterr().out
    assert pq.read_table(tmp_path / "d" / "survey.parquet").equals(survey(2000))
    opened = open_policy(tmp_path / "d" / "policy.toml")
    with open_original(opened.policy, opened.registry.sources, tmp_path / "scratch") as original:
        assert original.records == 2000
        assert main(["check", str(tmp_path / "d" / "policy.toml")]) == 0
    before = (tmp_path / "d" / "policy.toml").read_bytes()
    assert main(["demo", str(tmp_path / "d")]) == 4
    assert "RR411" in capsys.readouterr().err
    assert (tmp_path / "d" / "policy.toml").read_bytes() == before


def test_the_demo_policy_is_the_pram_example_with_its_baseline():
    demo = tomllib.loads((files("rrpolicy.drafting.demo.example") / "policy.toml").read_text())
    pram = tomllib.loads((ROOT / "policies" / "pram.toml").read_text())
    baseline = tomllib.loads((ROOT / "policies" / "baseline.toml").read_text())

    assert demo["attributes"] == baseline["attributes"] | pram["attributes"]
    for part in ("privacy", "mechanism", "utility"):
        assert demo[part] == pram[part]
    for path in (ROOT / "policies" / "hierarchies").glob("*.csv"):
        assert (files("rrpolicy.drafting.demo.example") / "hierarchies" / path.name).read_bytes() == path.read_bytes()
