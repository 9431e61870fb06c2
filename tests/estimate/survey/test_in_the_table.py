"""What a table lacks of a survey's design is told with row counts, by `check-table` as by a plan and a release."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import RRPolicyError

from .conftest import POLICY, sample

TEXT = POLICY.format(randomised='["dice", "ill"]', keep='dice = "3/4", ill = "4/5"')


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function (table) -> what check-table and a plan tell of its design: (codes, sentences) of each."""

    def tell(table, text=TEXT):
        (tmp_path / "policy.toml").write_text(text.replace("memory:", "t.parquet"))
        table.assign(dice="a").to_parquet(tmp_path / "t.parquet", index=False)
        found = []
        try:
            checked = rrpolicy.check_table(tmp_path / "t.parquet", qi=["sex"], policy=tmp_path / "policy.toml")
            found.append(([], [r for r in checked.remarks if "strat" in r or "of 0" in r]))
        except RRPolicyError as error:
            found.append(([(p.code, p.message) for p in error.problems], []))
        try:
            plan = rrpolicy.plan(tmp_path / "policy.toml")
            found.append(([], [r.text for r in plan.plan.remarks if r.name == "survey-design"]))
        except RRPolicyError as error:
            found.append(([(p.code, p.message) for p in error.problems], []))
        return found

    return tell


def test_a_sound_design_gives_nothing_to_say(told):
    (checked, planned) = told(sample())
    assert checked == ([], [])
    assert planned[0] == []
    (linked,) = planned[1]
    assert linked.startswith("'village' links the released records of 36 clusters; of 8 of them no other has the same")


def test_strata_with_one_cluster_and_clusters_in_several_strata(told):
    table = sample()
    table = table[(table["region"] != "west") | (table["village"] == 203)]
    table.loc[table["village"] == 101, "village"] = 3
    checked, planned = told(table)

    assert planned[1][:2] == checked[1]
    assert "same composition" in planned[1][2]
    alone, shared = checked[1]
    assert alone.startswith("1 stratum has one cluster alone, with 12 records: ")
    assert shared.startswith("1 name of a cluster occurs in several strata, with 24 records: ")


def test_where_records_are_drawn_one_by_one_a_stratum_with_one_record_is_alone(told):
    table = sample()
    table = table[(table["region"] != "west") | (table.index == table.index[-1])]
    (_, checked), (_, planned) = told(table, TEXT.replace('design = "cluster"', 'assume_unlinkable = "so"'))

    assert checked == planned
    assert checked[0].startswith("1 stratum has one record alone, with 1 record: ")


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("weight", [-1.0, -2.0], ("RR144", "2 records have a negative, infinite or impossibly large 'weight'")),
        ("weight", [1e307], ("RR144", "1 record has a negative, infinite or impossibly large 'weight'")),
        ("weight", [np.inf], ("RR144", "1 record has a negative, infinite or impossibly large 'weight'")),
        ("weight", [np.nan, np.nan, np.nan], ("RR314", "3 records have no value of 'weight'")),
        ("village", [np.nan], ("RR314", "1 record has no value of 'village'")),
        ("region", [None, None], ("RR314", "2 records have no value of 'region'")),
    ],
)
def test_what_a_release_refuses_check_table_refuses_with_the_same_counts(told, column, values, expected):
    table = sample().astype({"village": "float64"})
    table.loc[table.index[: len(values)], column] = values
    for codes, _ in told(table):
        ((code, message),) = codes
        assert (code, message[: len(expected[1])]) == expected


def test_a_weight_of_text_is_refused_by_both(told):
    for codes, _ in told(sample().astype({"weight": "str"})):
        assert "RR144" in [code for code, _ in codes]


def test_a_weight_of_text_that_is_to_be_rounded_is_one_problem(told):
    text = TEXT.replace('design = "weight"', 'design = "weight", rounding = 25')
    for values in ("a", "1.5"):
        _, (codes, _) = told(sample().assign(weight=values), text)
        assert [code for code, _ in codes] == ["RR144"]


def test_a_weight_of_0_is_let_be_and_told(told):
    table = sample()
    table.loc[:3, "weight"] = 0.0
    (_, checked), (codes, _) = told(table)

    assert checked == ["4 records have a 'weight' of 0, and are left out of population estimates"]
    assert codes == []


def test_labels_of_a_released_weight_are_sizes(told):
    binned = 'design = "weight", bins = [0, 5, 10, 15], unchanged = "so"'
    text = TEXT.replace('design = "weight", assume_unlinkable = "so"', binned)
    table = sample().assign(weight=lambda t: (2.5 + 5 * (t["weight"] // 5)).astype(str))
    (codes, _), _ = told(table, text)
    assert codes == []


def test_the_command_says_which_weight_the_policy_names(tmp_path, capsys):
    (tmp_path / "policy.toml").write_text(TEXT.replace("memory:", "t.parquet"))
    sample().assign(dice="a").to_parquet(tmp_path / "t.parquet", index=False)
    call = ["check-table", str(tmp_path / "t.parquet"), "--qi", "sex", "--policy", str(tmp_path / "policy.toml")]

    main(call)
    assert "--weights weight estimates risks" in capsys.readouterr().out
    main([*call, "--weights", "weight", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert not [r for r in document["remarks"] if "--weights" in r]
    assert any(f["model"].startswith("journalist") or "population" in json.dumps(f) for f in document["risks"])
