"""`rrpolicy estimate`: table, CSV and JSON, names with commas, exit status."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rrpolicy.cli.main import main
from rrpolicy.estimate.opening import open_release


@pytest.fixture
def folder(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    odd = made.retention("size, cm", ("<150", "150+"), [((0, 1), "9/10")])
    rows = {"sex": list("FFMMFM") * 20, "size, cm": ["<150", "150+", "150+"] * 40, "hours": list(range(120))}
    return publish([sex, odd], rows, carried=[made.column("hours", (), "carried", "BIGINT")])


def test_json_is_what_python_gives(folder, capsys):
    status = main(["estimate", str(folder.parent), "--by", "sex", "--where", "\"size, cm\" = '150+'", "--json"])

    document = json.loads(capsys.readouterr().out)
    expected = open_release(folder).crosstab("sex", where="\"size, cm\" = '150+'").to_dict()
    assert (status, document) == (0, expected)
    assert {"sex", "estimate", "se", "low", "high"} <= set(document["rows"][0])


def test_names_are_split_at_commas_unless_a_column_has_one(folder, capsys):
    assert main(["estimate", str(folder), "--by", "sex", "--by", "size, cm", "--format", "csv"]) == 0

    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    expected = open_release(folder).crosstab(["sex", "size, cm"])
    assert [float(r["estimate"]) for r in rows] == expected.estimate.reshape(-1).tolist()
    assert list(rows[0])[:2] == ["sex", "size, cm"]


def test_csv_holds_no_formula_unless_it_is_asked_for(publish, made, capsys):
    labels = ("=1+1", "-2", "'quoted", "plain")
    rows = {"q": [labels[i % 4] for i in range(40)], "n": [(-1.0, 2.0)[i % 2] for i in range(40)]}
    folder = publish([made.identity("q", labels), made.identity("n", (-1.0, 2.0))], rows)
    release = open_release(folder)
    for arguments in (
        ["estimate", str(folder), "--by", "q,n"],
        ["estimate", "query", str(folder), "SELECT q, n, count(*) FROM release GROUP BY q, n"],
    ):
        assert main([*arguments, "--format", "csv"]) == 0

        found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert {r["q"] for r in found} == {"'=1+1", "'-2", "''quoted", "plain"}
        assert {float(r["n"]) for r in found} == {-1.0, 2.0}
    table = release.crosstab("q")
    assert [r["q"] for r in csv.DictReader(io.StringIO(table.to_csv(formulas="keep")))] == list(labels)
    assert table.to_csv().splitlines()[1].startswith("'=1+1,")


def test_the_table_says_whose_counts_these_are(folder, capsys):
    assert main(["estimate", str(folder), "--by", "sex", "--population", "--level", "0.9"]) == 0

    text = capsys.readouterr().out
    assert "population's shares" in text
    assert "low 90 %" in text
    assert main(["estimate", str(folder)]) == 0
    assert "count    share\n  120  100.0 %" in capsys.readouterr().out


def test_problems_end_with_status_2(folder, capsys, tmp_path):
    assert main(["estimate", str(folder), "--by", "sx"]) == 2
    error = capsys.readouterr().err
    assert "RR262" in error
    assert "'sex'" in error
    assert main(["estimate", str(tmp_path / "none")]) == 2
    assert "RR260" in capsys.readouterr().err
