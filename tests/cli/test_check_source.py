"""`rrpolicy check --source`: the table held against the policy, and nothing planned."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import DataError

POLICY = """\
schema = 1
[policy]
name = "survey"
version = "1.0.0"
[source]
uri = "own.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
age = { role = "quasi-identifier", bins = [0, 20, 40, inf] }
disease = { role = "sensitive", domain = ["flu", "none"] }
[[privacy]]
model = "local-dp"
epsilon = 6
[mechanism]
name = "pram"
"""
GOOD = "sex,age,disease\n" + "f,20,flu\nm,30,none\n" * 30


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(POLICY)
    (tmp_path / "own.csv").write_text(GOOD)
    (tmp_path / "other.csv").write_text(GOOD.replace("disease", "diseases").replace("f,", "woman,"))
    return tmp_path


def test_the_policys_own_table_is_held_against_it(folder, capsys):
    assert main(["check", "p.toml", "--source"]) == 0
    assert "  table: 60 records; names, types and values are as the policy declares" in capsys.readouterr().out
    assert main(["check", "p.toml", "--source", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["records"] == 60
    assert main(["check", "p.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["records"] is None


def test_the_mechanism_is_asked_for_its_outline_once(folder, monkeypatch):
    from rrpolicy_pram.mechanism import Pram

    asked, outline = [], Pram.outline
    monkeypatch.setattr(Pram, "outline", lambda *given: asked.append(given) or outline(*given))
    rrpolicy.check("p.toml", source=True)
    assert len(asked) == 1


def test_another_table_that_does_not_fit_exits_3_with_places_and_no_value(folder, capsys):
    assert main(["check", "--source", "other.csv", "p.toml"]) == 3
    told = capsys.readouterr().err
    assert "RR310" in told
    assert "did you mean it by 'disease'?" in told
    (folder / "other.csv").write_text(GOOD.replace("f,", "woman,").replace("m,30", "m,"))
    assert main(["check", "--source=other.csv", "p.toml"]) == 3
    told = capsys.readouterr().err
    assert "p.toml:8:1: RR3" in told
    assert "p.toml:9:1: RR3" in told
    assert "woman" not in told


def test_every_policy_is_looked_at_and_the_worst_status_wins(folder, capsys):
    (folder / "q.toml").write_text(POLICY.replace('["f", "m"]', '["m", "x"]'))
    (folder / "r.toml").write_text(POLICY.replace("epsilon = 6", "epsilon = 0"))
    assert main(["check", "p.toml", "q.toml", "r.toml", "--source", "--output-format=json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert [p["exit_status"] for p in document["policies"]] == [0, 3, 2]


def test_a_table_that_is_not_there_is_said_with_the_place_that_names_it(folder, capsys):
    (folder / "own.csv").unlink()
    assert main(["check", "p.toml"]) == 0
    assert main(["check", "p.toml", "--source"]) == 3
    assert "p.toml:6:7: RR300" in capsys.readouterr().err


def test_nothing_is_planned(folder, monkeypatch):
    from rrpolicy.planning import plan

    monkeypatch.setattr(plan, "make_plan", lambda *_, **__: pytest.fail("it was planned"))
    assert main(["check", "p.toml", "--source"]) == 0


def test_the_function_takes_a_table_in_memory(folder):
    table = pd.read_csv(folder / "own.csv")
    assert rrpolicy.check("p.toml", source=table).records == 60
    assert rrpolicy.check("p.toml", source=True).records == 60
    assert rrpolicy.check("p.toml").records is None
    with pytest.raises(DataError, match="RR310"):
        rrpolicy.check("p.toml", source=table.rename(columns={"sex": "gender"}))


def test_a_column_that_gives_another_away_is_told_before_anything_is_planned(folder, capsys):
    code = 'code = { role = "insensitive", domain = [0, 1], assume_unlinkable = "an internal code" }\n[[privacy]]'
    (folder / "p.toml").write_text(POLICY.replace("[[privacy]]", code, 1))
    rows = ["sex,age,disease,code", *(f"f,20,flu,{i % 2}\nm,30,none,{i % 2}" for i in range(30))]
    (folder / "own.csv").write_text("\n".join(rows) + "\n")
    assert main(["check", "p.toml", "--source"]) == 0
    assert "gives" not in capsys.readouterr().out

    (folder / "own.csv").write_text("sex,age,disease,code\n" + "f,20,flu,1\nm,30,none,0\n" * 30)
    assert main(["check", "p.toml", "--source"]) == 0
    told = capsys.readouterr().out
    assert main(["plan", "p.toml"]) == 1
    refused = capsys.readouterr().out
    for column in ("sex", "disease"):
        assert f"'code' is released unmodified and gives the randomised '{column}' away" in told
        assert f"[association/code/{column}]" in told
        assert f"RR109: 'code' is released unmodified and gives the randomised '{column}' away" in refused


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"flu", "none"', '"flu"'),
        ('"flu", "none"', '"flu", "measles"'),
        ("disease =", "diseases ="),
        ("epsilon = 6", "epsilon = 0"),
        ("epsilon = 6", 'k = "many"'),
        ("local-dp", "local-pd"),
        ('"pram"', '"prma"'),
        ("[0, 20, 40, inf]", "[0, 25]"),
        ('"own.csv"', '"nowhere.csv"'),
    ],
)
def test_check_and_plan_begin_with_the_same_problem(folder, capsys, old, new):
    (folder / "p.toml").write_text(POLICY.replace(old, new, 1))
    assert main(["check", "p.toml", "--source"]) in {2, 3}
    checked = capsys.readouterr().err.splitlines()[0]
    assert main(["plan", "p.toml"]) in {2, 3}
    assert capsys.readouterr().err.splitlines()[0] == checked
