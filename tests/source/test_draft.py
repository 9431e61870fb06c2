"""`rrpolicy init`: a draft that `check` takes, or that says what is missing."""

from __future__ import annotations

import datetime as dt
import tomllib

import pyarrow as pa
import pytest

from rrpolicy.cli.main import main
from rrpolicy.discovery import load_registry
from rrpolicy.release.opening import open_policy
from rrpolicy.source.demo import survey
from rrpolicy.source.draft import draft
from rrpolicy.source.opening import open_original


def drafted(path, table=None):
    return tomllib.loads(draft(str(path), table, load_registry().sources).text)


def test_roles_are_guessed_from_names_and_counts(parquet):
    attributes = drafted(parquet(survey(3000)))["attributes"]

    assert {n: a["role"] for n, a in attributes.items()} == {
        "person_id": "identifier",
        "sex": "quasi-identifier",
        "age": "quasi-identifier",
        "education": "quasi-identifier",
        "region": "quasi-identifier",
        "occupation": "quasi-identifier",
        "disease": "sensitive",
        "income_band": "sensitive",
        "hours": "insensitive",
    }
    assert attributes["education"]["nulls"] == "unknown"
    assert attributes["age"]["bins"] == [0, 20, 40, 60, 80, float("inf")]


def test_odd_columns_get_roles_that_read_back(parquet):
    count = 40
    path = parquet(
        {
            "constant": ["x"] * count,
            "empty": pa.array([None] * count, pa.string()),
            "list": [[1]] * count,
            "day": [dt.date(2020, 1, 1 + i % 5) for i in range(count)],
            'a "b" \\ \n c': ["tab\t", 'quo"te', "new\nline", "\x7f\x01"] * 10,
            "code": [1, 2, 3, None] * 10,
            "unknown": ["unknown", "missing", None, "x"] * 10,
            "score": [i * 0.37 - 5 for i in range(count)],
            "flag": [True, False] * 20,
            "many": [f"v{i % 60}" for i in range(count)],
        }
    )
    attributes = drafted(path)["attributes"]

    assert [attributes[n]["role"] for n in ("constant", "empty", "list", "day")] == ["excluded"] * 4
    assert attributes['a "b" \\ \n c']["domain"] == ["new\nline", 'quo"te', "tab\t", "\x7f\x01"]
    assert attributes["code"] == {"role": "quasi-identifier", "domain": [1, 2, 3], "nulls": "unknown"}
    assert attributes["unknown"]["nulls"] == "no value"
    assert attributes["score"]["bins"] == [-float("inf"), 5, float("inf")] or len(attributes["score"]["bins"]) > 3
    assert attributes["flag"]["domain"] == [False, True]
    assert attributes["many"]["role"] == "identifier"


def test_the_draft_passes_check_and_reads_its_table(parquet, tmp_path, capsys):
    path = parquet(survey(3000), "people.parquet")
    assert main(["init", str(path)]) == 0
    printed = capsys.readouterr()
    assert "discloses them" in printed.err
    assert "WARNING: the domains and bins below are taken from the data" in printed.out
    (tmp_path / "policy.toml").write_text(printed.out)
    assert main(["check", str(tmp_path / "policy.toml")]) == 0
    opened = open_policy(tmp_path / "policy.toml")
    with open_original(opened.policy, opened.registry.sources, tmp_path / "scratch") as original:
        assert original.records == 3000


def test_a_table_of_a_database_is_named_in_the_draft(database):
    path = database("CREATE TABLE t AS SELECT i % 3 AS a FROM range(30) r(i)", "CREATE TABLE u AS SELECT 1 AS a")

    assert drafted(path, "t")["source"] == {"uri": str(path), "table": "t", "min_rows": 10}


@pytest.mark.parametrize(
    ("arguments", "status"), [(["missing.parquet"], 3), (["https://example.org/x.csv"], 3), ([], 2)]
)
def test_what_cannot_be_opened_is_told(arguments, status, capsys):
    assert main(["init", *arguments]) == status
    assert capsys.readouterr().out == ""


def test_an_empty_table_has_no_draft(parquet, capsys):
    assert main(["init", str(parquet({"a": pa.array([], pa.string())}))]) == 3
    assert "RR317" in capsys.readouterr().err
