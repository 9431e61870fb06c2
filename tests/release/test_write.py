"""What a release writes: whole bundles in every format, the same again, and no canary anywhere."""

from __future__ import annotations

import csv
import json
import re
import stat
from pathlib import Path

import duckdb
import pytest

import rrpolicy
from rrpolicy.testing import policy_text

FORMATS = ("parquet", "csv", "duckdb")
LABELS = ("plain", 'quoted, "label"', "<b>bold & bare</b>", "two\nlines", "ünï 'code'; DROP TABLE data; --")


def run(*arguments):
    from rrpolicy.cli.main import main

    return main([str(a) for a in arguments])


def rows_of(path: Path):
    import duckdb

    with duckdb.connect() as con:
        if path.suffix == ".parquet":
            return con.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        con.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
        return con.execute("SELECT * FROM r.data").fetchall()


@pytest.mark.parametrize("form", FORMATS)
def test_a_bundle_holds_what_it_must(made, form):
    bundle = made(form).bundle
    public = {p.relative_to(bundle).as_posix() for p in (bundle / "public").rglob("*") if p.is_file()}
    weights = {f"public/weights/{name}.csv" for name in ("sex", "level", "age_group")}
    described = ("datapackage.json", "croissant.json", "dpv.jsonld")
    named = ("release.json", *described, "estimate.sql", "README.md", "report.html", f"data.{form}")
    assert {f"public/{name}" for name in named} | weights == public
    audit = {p.name for p in (bundle / "audit").iterdir()}
    assert {
        "audit.json",
        "policy.toml",
        "policy.json",
        "plan.json",
        "findings.json",
        "report.html",
        "report.json",
    } == audit
    assert {p.name for p in bundle.iterdir()} == {"public", "audit"}
    assert stat.S_IMODE((bundle / "audit").stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in (bundle / "audit").iterdir())
    assert stat.S_IMODE(made(form).key.stat().st_mode) == 0o600


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_labels_stand_as_they_are(made, form):
    rows = rows_of(made(form).bundle / "public" / f"data.{form}")
    assert {row[1] for row in rows} == set(LABELS)
    assert len(rows) == 2000
    assert rows == sorted(rows, key=lambda row: (row[3], *row[:3]))  # what is carried first


def test_labels_stand_as_they_are_in_csv(made):
    with (made("csv").bundle / "public" / "data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["sex", "level", "age_group", "hours"]
    assert {row[1] for row in rows[1:]} == set(LABELS)
    assert len(rows) == 2001


def test_the_table_digest_does_not_depend_on_the_format(made):
    """The three releases are of different draws; each one's digest is recomputed by verify, over one construction."""
    for form in FORMATS:
        document = json.loads((made(form).bundle / "public" / "release.json").read_text())
        assert document["data"]["format"] == form
        assert document["data"]["tables"]["data"]["rows"] == 2000 == document["records"]


@pytest.mark.parametrize("form", FORMATS)
def test_no_canary_leaves_the_source(made, form):
    """Identifiers, excluded columns and values outside the domain stand in no file of the bundle, however stored."""
    bundle = made(form).bundle
    for path in bundle.rglob("*"):
        if path.is_file():
            assert b"CANARY" not in path.read_bytes(), path
    if form != "csv":
        assert not [row for row in rows_of(bundle / "public" / f"data.{form}") if "CANARY" in repr(row)]


@pytest.mark.parametrize("form", FORMATS)
def test_public_tells_no_time_host_or_path(made, form):
    import platform

    case = made(form)
    record = json.loads((case.bundle / "audit" / "audit.json").read_text())
    forbidden = {record["time"], str(case.case.folder), platform.node(), record["source_tag"], record["plan_digest"]}
    key = json.loads(case.key.read_text())["key"]
    for path in case.bundle.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert key.encode() not in content
            assert bytes.fromhex(key) not in content
            if "public" in path.parts:
                assert not [f for f in forbidden if len(f) > 3 and f.encode() in content], path


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_kept_key_gives_the_same_bytes(made, form, tmp_path):
    first = made(form)
    assert run("release", first.case.policy, "--out", tmp_path / "again", "--key", first.key) == 0
    for path in (first.bundle / "public").rglob("*"):
        if path.is_file():
            again = tmp_path / "again" / path.relative_to(first.bundle)
            assert path.read_bytes() == again.read_bytes(), path


def test_two_releases_share_nothing(case):
    for name in ("one", "two"):
        assert run("release", case.policy, "--out", case.folder / name) == 0
    data = [(case.folder / name / "public" / "data.parquet").read_bytes() for name in ("one", "two")]
    assert data[0] != data[1]


def test_a_plan_is_released_with_its_key_and_the_key_is_gone(case, capsys):
    plan = case.folder / "plan.json"
    assert run("plan", case.policy, "--out", plan) == 0
    key = plan.with_name("plan.json.key")
    assert key.exists()
    assert run("release", plan, "--out", case.folder / "bundle", "--as", "2026-11") == 0
    assert not key.exists()
    assert json.loads((case.folder / "bundle" / "public" / "release.json").read_text())["release"] == "2026-11"
    assert run("release", plan, "--out", case.folder / "again") == 4
    assert "RR403" in capsys.readouterr().err


def test_a_changed_table_makes_the_plan_stale(case, capsys):
    plan = case.folder / "plan.json"
    assert run("plan", case.policy, "--out", plan) == 0
    text = case.table.read_text()
    case.table.write_text(text.replace(",F,", ",M,", 1))
    assert run("release", plan, "--out", case.folder / "bundle") == 4
    told = capsys.readouterr().err
    assert "RR401" in told
    assert "the table has changed" in told
    assert not (case.folder / "bundle").exists()


def test_a_changed_policy_makes_the_plan_stale(case, capsys):
    plan = case.folder / "plan.json"
    assert run("plan", case.policy, "--out", plan) == 0
    case.policy.write_text(case.policy.read_text().replace("k = 2", "k = 3"))
    assert run("release", plan, "--out", case.folder / "bundle") == 4
    assert "RR401" in capsys.readouterr().err


def test_a_key_of_another_plan_is_refused(made, case, capsys):
    case.policy.write_text(case.policy.read_text().replace("k = 2", "k = 3"))
    assert run("release", case.policy, "--out", case.folder / "bundle", "--key", made("parquet").key) == 4
    assert "RR403" in capsys.readouterr().err
    assert not (case.folder / "bundle").exists()


def test_a_key_that_others_can_read_is_refused(copied, tmp_path, capsys):
    import shutil

    case = copied("parquet")
    key = tmp_path / "open.key"
    shutil.copy(case.key, key)
    key.chmod(0o644)
    assert run("release", case.case.policy, "--out", tmp_path / "again", "--key", key) == 4
    assert "RR403" in capsys.readouterr().err


def test_a_failed_gate_writes_nothing(case, capsys):
    case.policy.write_text(case.policy.read_text().replace("max = 1", "max = 0.0001"))
    assert run("release", case.policy, "--out", case.folder / "bundle", "--key", case.folder / "k") == 1
    assert "RR104" in capsys.readouterr().err
    assert {p.name for p in case.folder.iterdir()} == {"people.csv", "policy.toml"}


def test_only_a_tests_streams_may_be_brought(case):
    from rrpolicy.bundle.execute import release
    from rrpolicy.channels.sampling.prng import Streams

    with pytest.raises(ValueError, match="test"):
        release(None, None, None, None, b"", case.folder / "x", streams=Streams(bytes(32), b"", b"", "cells"))


@pytest.mark.parametrize("algorithm", ["mondrian", "full-domain"])
def test_where_every_label_is_one_category_the_release_says_so_and_counts_are_exact(tmp_path, algorithm):
    """Enough people look alike: boxes are cut down to categories, and nothing is made coarser."""
    accepted = '[release]\naccept = ["node", "released"]\n' if algorithm == "full-domain" else ""
    rows = [f"{sex},{town},{ill}" for sex in "FM" for town in "abc" for ill in ("x", "y") for _ in range(6)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,ill", *rows]))
    text = (
        '[attributes]\nsex = { role = "quasi-identifier", domain = ["F", "M"] }\n'
        'town = { role = "quasi-identifier", domain = ["a", "b", "c"] }\n'
        'ill = { role = "sensitive", domain = ["x", "y"] }\n[[privacy]]\nmodel = "k-anonymity"\nk = 5\n'
        f'[mechanism]\nname = "l-diversity"\nalgorithm = "{algorithm}"\n{accepted}'
    )
    (tmp_path / "policy.toml").write_text(policy_text(text, "people.csv"))
    released = rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    readme = (released.public / "README.md").read_text()
    release = rrpolicy.open_release(released.bundle)

    assert "Plain counts are exact" in readme
    for said in ("at random, record by record", "are biased", "corrected tables", "## In R"):
        assert said not in readme
    assert release.domain("sex") == ("F", "M")
    assert release.domain("town") == ("a", "b", "c")
    assert release.crosstab(["sex", "town"]).estimate.tolist() == [[12.0] * 3] * 2
    assert release.glm("ill ~ sex + town", "binomial").estimate == pytest.approx([0, 0, 0, 0], abs=1e-9)
    script = (released.public / "estimate.sql").read_text()
    assert "biased" not in script
    with duckdb.connect() as connection:
        connection.execute(f"SET file_search_path = '{released.public}'")
        connection.execute(script)
        assert connection.sql("SELECT count(*) FROM release").fetchall() == [(72,)]


@pytest.mark.parametrize(
    "domain",
    [
        '["*", "**", "***"]',
        '["a", "b", "*"]',
        '["a", "b"], nulls = "*"',
        '["a", "b", "a or b", "(a or b)"], nulls = "*"',
    ],
)
def test_a_category_that_is_spelled_like_a_label_of_boxes_keeps_its_name(tmp_path, domain):
    """Two records of each town are too few: all towns stand for one another."""
    categories = re.findall(r'"([^"]*)"', domain)
    rows = [f'"{town}",{ill}' for town in categories for ill in ("x", "y")]
    (tmp_path / "people.csv").write_text("\n".join(["town,ill", *rows]))
    text = (
        f'[attributes]\ntown = {{ role = "quasi-identifier", domain = {domain} }}\n'
        'ill = { role = "sensitive", domain = ["x", "y"] }\n[[privacy]]\nmodel = "k-anonymity"\nk = 3\n'
        '[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n'
    )
    (tmp_path / "policy.toml").write_text(policy_text(text, "people.csv"))
    released = rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    release = rrpolicy.open_release(released.bundle)
    (row,) = (r for r in release.crosstab("town").rows if r.estimate)

    assert row.estimate == 2 * len(categories)
    assert row.group["town"] not in categories
    assert rrpolicy.verify(released.bundle, source=tmp_path / "people.csv").passed


@pytest.mark.parametrize("name", ["weight", "original", "released", "w", "r", "estimate", "se", "n", "release"])
def test_the_sql_of_the_readme_runs_whatever_the_columns_are_called(tmp_path, name, monkeypatch):
    rows = [f"{'FM'[i % 2]},{'xyz'[i % 3]}" for i in range(240)]
    (tmp_path / "people.csv").write_text("\n".join([f"sex,{name}", *rows]))
    text = (
        '[attributes]\nsex = { role = "quasi-identifier", domain = ["F", "M"] }\n'
        f'{name} = {{ role = "sensitive", domain = ["x", "y", "z"] }}\n[[privacy]]\nmodel = "local-dp"\nepsilon = 6\n'
        '[mechanism]\nname = "pram"\n'
    )
    (tmp_path / "policy.toml").write_text(policy_text(text, "people.csv"))
    released = rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    monkeypatch.chdir(released.public)
    readme = Path("README.md").read_text()
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text()).fetchall()
        blocks = re.findall(r"```sql\n(.*?)```", readme, re.DOTALL)
        assert len(blocks) >= 2
        for block in blocks:
            assert connection.sql(block.strip().rstrip(";")).fetchall()
