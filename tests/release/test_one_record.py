"""A table of people out of a table of visits: one record of each person, from the policy to what an auditor reads."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

from .forging import reseal_audit

POLICY = policy_text(
    """\
{source}
[attributes]
person_id = {{ role = "identifier" }}
day = {{ role = "excluded" }}
sex = {{ role = "quasi-identifier", domain = ["f", "m"] }}
disease = {{ role = "sensitive", domain = ["none", "flu", "cold"] }}
{rest}
""",
    "visits.csv",
    "visits",
)
PRAM = """
[[privacy]]
model = "local-dp"
epsilon = 8
[mechanism]
name = "pram"
"""
GENERAL = """
[[privacy]]
model = "k-anonymity"
k = 2
[mechanism]
name = "l-diversity"
algorithm = "mondrian"
[release]
accept = ["released"]
"""
KEY = "12" * 32
FIRST = 'one_record_per_unit = "first by day"'
Case = Callable[..., Path]


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def table(seed: int = 0) -> list[list[object]]:
    """Return 300 people with one to three visits, also on one day; `seed` shuffles them."""
    rng = random.Random(7)
    rows = [
        [f"p{person}", rng.randint(1, 3), rng.choice("fm"), rng.choice(["none", "flu", "cold"])]
        for person in range(300)
        for _ in range(1 + person % 3)
    ]
    random.Random(seed).shuffle(rows)
    return rows


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """Return a function that writes a policy and its table of 600 visits of 300 people."""

    def make(source: str = FIRST, rest: str = PRAM, rows: list[list[object]] | None = None) -> Path:
        with (tmp_path / "visits.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["person_id", "day", "sex", "disease"], *(rows or table())])
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(source=source, rest=rest))
        return path

    return make


def released(bundle: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (bundle / "public").iterdir() if path.is_file()}


@pytest.mark.parametrize("rest", [PRAM, GENERAL], ids=["pram", "generalised"])
def test_every_command_sees_one_record_a_person(case: Case, capsys: Any, rest: str) -> None:
    policy = case(rest=rest)
    folder = policy.parent
    bundle, key, visits = folder / "bundle", folder / "release.key", folder / "visits.csv"
    assert run("check", policy, "--source") == 0
    assert "table: 300 records" in capsys.readouterr().out
    assert run("plan", policy) == 0
    assert "300 records, one a person: the first by day, selected from 600 records" in capsys.readouterr().out
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    stated = json.loads((bundle / "public" / "release.json").read_text())
    audit = json.loads((bundle / "audit" / "findings.json").read_text())

    assert (stated["records"], stated["units"]) == (300, {"max_records": 1, "one_record": "first by day"})
    assert (audit["tested"], audit["selected_from"]) == (True, 600)
    said = "one record each: the first by day, selected from 600 records"
    assert said in (bundle / "audit" / "report.html").read_text()
    public = (bundle / "public" / "report.html").read_text()
    assert "one a person: the first by day" in public
    assert "600 records" not in public
    assert run("verify", bundle, "--source", visits, "--key", key, "--strict") == 0
    assert run("verify", bundle / "public") == 0
    assert run("attack", bundle, "--source", visits) == 0

    rows = table()
    last = max((row for row in rows if row[0] == "p2"), key=lambda row: row[1])
    assert last[1] > min(row[1] for row in rows if row[0] == "p2")
    last[3] = {"none": "flu", "flu": "cold", "cold": "none"}[str(last[3])]
    case(rest=rest, rows=rows)  # a record that is not the first of its person
    assert run("verify", bundle, "--source", visits, "--key", key, "--strict") == 0
    for row in rows:
        row[3] = {"none": "flu", "flu": "cold", "cold": "none"}[str(row[3])] if row[0] == "p2" else row[3]
    case(rest=rest, rows=rows)
    assert run("verify", bundle, "--source", visits, "--key", key, "--strict") == 1
    case(rest=rest, rows=[*table(), ["p2", 9, "f", "flu"]])
    capsys.readouterr()
    assert run("verify", bundle, "--source", visits, "--key", key, "--strict") == 1
    assert "the number of records from which one of each unit was selected" in capsys.readouterr().out


def test_the_public_bytes_are_the_same_in_any_order_of_rows_and_from_memory(case: Case, tmp_path: Path) -> None:
    policy = case()
    key = tmp_path / "release.key"
    assert run("plan", policy, "--out", tmp_path / "plan.json", "--key", key) == 0
    found = []
    for seed in (0, 1, 2):
        case(rows=table(seed))
        out = tmp_path / f"bundle{seed}"
        assert run("release", tmp_path / "plan.json", "--out", out, "--key", key) == 0
        found.append(released(out))
    frame = pd.DataFrame(table(3), columns=["person_id", "day", "sex", "disease"])
    rrpolicy.release(tmp_path / "plan.json", tmp_path / "frame", key=key, source=frame)
    assert all(one == found[0] for one in (*found, released(tmp_path / "frame")))


def test_the_policy_and_its_digest_hold_the_key(case: Case) -> None:
    digests = {
        rrpolicy.load_policy(case(source)).digest()
        for source in ("", "max_records = 1", FIRST, FIRST.replace("first", "last"))
    }
    assert len(digests) == 3
    assert "one_record_per_unit" not in json.dumps(rrpolicy.load_policy(case("")).to_json())


@pytest.mark.parametrize(
    ("source", "message", "place"),
    [
        (FIRST + "\nmax_records = 3", "`max_records = 3` admits several", "one_record_per_unit"),
        (FIRST + '\nunit = "each row"', "no column tells units apart", "one_record_per_unit"),
        (FIRST.replace("day", "dya"), "'dya' is no attribute", "did you mean 'day'"),
        (FIRST.replace("day", "person_id"), "orders none of them", "one_record_per_unit"),
        (FIRST + '\nmultiplicity = "n"', "a table of counts", "one_record_per_unit"),
    ],
)
def test_keys_that_do_not_go_together_are_refused_at_their_place(
    case: Case, capsys: Any, source: str, message: str, place: str
) -> None:
    assert run("check", case(source)) == 2
    said = capsys.readouterr().err
    assert "RR246" in said
    assert message in said
    assert place in said


@pytest.mark.parametrize("text", ["earliest by day", "first by ", "first", "first  by day"])
def test_another_rule_is_refused(case: Case, capsys: Any, text: str) -> None:
    assert run("check", case(f'one_record_per_unit = "{text}"')) == 2
    assert '"first by" or "last by" and a column' in capsys.readouterr().err


def test_records_without_a_day_are_refused_at_the_key_with_how_many(case: Case, capsys: Any) -> None:
    rows = table()
    rows[0][1] = rows[1][1] = ""
    policy = case(rows=rows)
    assert run("plan", policy) == 3
    said = capsys.readouterr().err
    assert "RR330 'visits.csv': 2 records have no 'day'" in said
    assert "one_record_per_unit" in said
    assert run("check", policy, "--source") == 3


def test_statements_for_a_warehouse_are_refused(case: Case, capsys: Any) -> None:
    assert run("export", "sql", case(), "--dialect", "duckdb", "--table", "visits") == 2
    assert "RR246" in capsys.readouterr().err


def test_answers_in_the_field_have_nothing_to_select(case: Case, capsys: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert run("plan", case(), "--expected-rows", 300, "--out", plan) == 2
    assert "RR520" in (said := capsys.readouterr().err)
    assert "take `one_record_per_unit` out" in said


def test_counts_in_place_of_the_table_are_refused(case: Case, capsys: Any) -> None:
    policy = case()
    assert run("plan", policy, "--source", f"counts:day:{policy.parent / 'visits.csv'}") in {2, 3}
    assert "a table of counts does not" in capsys.readouterr().err


def test_another_table_for_choosing_is_read_so_too(case: Case, capsys: Any) -> None:
    policy = case(rest=PRAM.replace('name = "pram"', 'name = "pram"\nallocation = "optimal"\nplan_on = "other.csv"'))
    visits = (policy.parent / "visits.csv").read_text()
    (policy.parent / "other.csv").write_text(f"{visits}other,1,f,flu\nother,2,m,cold\n")
    assert run("plan", policy) in {0, 1}, capsys.readouterr().err


def test_diff_names_the_rule(case: Case, capsys: Any) -> None:
    old = case().rename(case().parent / "old.toml")
    new = case(FIRST.replace("first", "last"))
    capsys.readouterr()
    assert run("diff", old, new) == 1
    said = capsys.readouterr().out
    assert "source.one_record_per_unit" in said
    assert "last by day" in said


def test_check_table_reads_the_records_and_a_release_as_it_is(case: Case, capsys: Any) -> None:
    policy = case(rest=GENERAL)
    bundle = policy.parent / "bundle"
    assert run("release", policy, "--out", bundle) == 0
    capsys.readouterr()
    assert run("check-table", policy.parent / "visits.csv", "--policy", policy) in {0, 1}
    assert "300 records" in capsys.readouterr().out
    data = next(path for path in (bundle / "public").iterdir() if path.suffix in {".parquet", ".csv"})
    assert run("check-table", data, "--policy", policy) in {0, 1}
    assert "300 records" in capsys.readouterr().out


def test_init_proposes_it_in_a_comment(case: Case, capsys: Any) -> None:
    assert run("init", case().parent / "visits.csv") == 0
    assert "# one_record_per_unit = \"first by day\" # one record of each 'person_id'" in capsys.readouterr().out


def test_a_forged_number_of_records_is_found(case: Case, capsys: Any) -> None:
    policy = case()
    bundle = policy.parent / "bundle"
    assert run("release", policy, "--out", bundle) == 0
    path = bundle / "audit" / "findings.json"
    written = path.read_text()
    for number, code in (("299", "RR129"), ("601", "RR124")):
        path.write_text(written.replace('"selected_from": 600', f'"selected_from": {number}'))
        reseal_audit(bundle)
        capsys.readouterr()
        assert run("verify", bundle, "--source", policy.parent / "visits.csv") == 1
        assert code in capsys.readouterr().out
