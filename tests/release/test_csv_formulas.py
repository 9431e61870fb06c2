"""Text that a spreadsheet would run as a formula: escaped in every CSV file, and read back by everything that reads it."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
import subprocess
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.bundle.tables.released_table import open_released_table
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.formats.delimited import CsvFormat, CsvTableWriter

from .forging import load, reseal_audit, reseal_public
from .test_data_clients import validated
from .test_every_kind_of_column import PRIVACY, toml

RUN = ("=", "+", "-", "@", "\t", "\r")
"""What no cell of text may begin with."""
KNOWN = {"q": ("=1+1", "+", "-x", "plain"), "r": ("@a", "'quoted", "''", "Straße")}
SENSITIVE = ("=HYPERLINK(1)", "-5", "'", "none")
NOTES = ("=cmd", "'", "\tx", "\ry", "", None, 'fine, "too"')
RECORDS = 240
MECHANISMS = (
    "pram", "rr-both", "rr-qi", "rr-s", "sensitive-addition", "anatomy", "full-domain", "mondrian", "tp",
)  # fmt: skip
LIMIT = [{"model": "attribute-disclosure", "threshold": "2/5"}]
"""So low that something must be randomised."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def table() -> pa.Table:
    draw = random.Random(3)
    columns: dict[str, list[Any]] = {"id": [f"p{i}" for i in range(RECORDS)]}
    columns |= {name: draw.choices(values, k=RECORDS) for name, values in KNOWN.items()}
    columns["s"] = [SENSITIVE[i % 4] for i in range(RECORDS)]
    columns["note"] = draw.choices(NOTES, k=RECORDS)
    columns["hours"] = draw.choices((-5, 0, 7), k=RECORDS)
    return pa.table(columns)


def policy(draft: dict[str, Any], mechanism: str, uri: str, handling: str = "") -> str:
    """Return a draft as a steward edits it; the text columns that are carried go with what carries columns."""
    why = "a test: everybody may read it"
    attributes: dict[str, Any] = {"id": {"role": "identifier"}}
    for name in (*KNOWN, "s"):
        role = "sensitive" if name == "s" else "quasi-identifier"
        drafted = draft["attributes"][name]["domain"]
        # texts of few records are in no draft: the steward, who knows them, fills them in
        domain = sorted({*table()[name].to_pylist()}) if isinstance(drafted, str) else drafted
        attributes[name] = {"role": role, "domain": domain}
    for name in ("note", "hours"):
        attributes[name] = (
            {"role": "excluded"}
            if mechanism == "tp"
            else {"role": "insensitive", "assume_unlinkable": why, "unchanged": why}
        )
    if mechanism != "tp":  # which releases nothing else
        attributes["note"]["nulls"] = "keep"
    algorithm = {"algorithm": mechanism} if mechanism in {"full-domain", "mondrian", "tp"} else {}
    release = {"format": "csv"} | ({"csv_formulas": handling} if handling else {})
    tables = {
        "policy": {"name": "test", "version": "1.0.0", "owner": "an office", "purpose": "=a test"},
        "source": {"uri": uri},
        "attributes": attributes,
        "mechanism": {"name": "l-diversity" if algorithm else mechanism, **algorithm},
        "release": release,
    }
    lines = ["schema = 1"]
    for name, content in tables.items():
        lines += [f"[{name}]", *(f"{json.dumps(k)} = {toml(v)}" for k, v in content.items())]
    for entry in LIMIT if mechanism in {"rr-both", "rr-qi"} else PRIVACY[mechanism]:
        lines += ["[[privacy]]", *(f"{k} = {toml(v)}" for k, v in entry.items())]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folder of a release of each mechanism, from a draft to the bundle."""
    folder = tmp_path_factory.mktemp("formulas")
    pq.write_table(table(), folder / "people.parquet")
    with redirect_stdout(io.StringIO()) as said:
        assert main(["init", str(folder / "people.parquet")]) == 0
    text = re.sub(r"(?m)^# (.*= \{ role =)", r"\1", said.getvalue())
    lines = {line.split(" = ")[0]: line for line in text.splitlines()}  # the later of two lines is the one offered
    draft = tomllib.loads("[attributes]\n" + "\n".join(lines[name] for name in (*KNOWN, "s")))
    made = {}
    for mechanism in MECHANISMS:
        made[mechanism] = here = folder / mechanism
        here.mkdir()
        (here / "policy.toml").write_text(policy(draft, mechanism, "../people.parquet"))
        plan, key = str(here / "plan.json"), str(here / "key.json")
        assert main(["plan", str(here / "policy.toml"), "--out", plan, "--key", key]) == 0, mechanism
        assert main(["release", plan, "--key", key, "--out", str(here / "out")]) == 0, mechanism
    return made


def cells(path: Path) -> list[list[str]]:
    """Return what a spreadsheet reads."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) is not None


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_cell_of_a_bundle_runs(releases, mechanism):
    public = releases[mechanism] / "out" / "public"
    files = sorted(public.rglob("*.csv"))
    assert files
    found = 0
    for path in files:
        for row in cells(path):
            assert not [cell for cell in row if cell.startswith(RUN) and not is_number(cell)], path
            found += sum(cell.startswith("'") for cell in row)
    assert found
    numbers = {cell for path in files for row in cells(path) for cell in row if is_number(cell)}
    assert ("-5" in numbers) == (mechanism != "tp")  # of the column of numbers that all others carry


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_verifies_at_every_level(releases, mechanism, capsys):
    here = releases[mechanism]
    source, key = ["--source", str(here.parent / "people.parquet")], ["--key", str(here / "key.json")]
    for level, inputs in (("public", []), ("audit", []), ("source", source), ("key", [*source, *key, "--strict"])):
        assert main(["verify", str(here / "out"), "--level", level, *inputs]) == 0, capsys.readouterr().out
    assert "byte for byte" in capsys.readouterr().out


def as_parquet(public: Path, folder: Path) -> Path:
    """Write the same release as Parquet: read by Python's own csv, with one apostrophe taken off of text."""
    shutil.copytree(public, folder)
    document = load(folder / "release.json")
    for described in document["tables"]:
        data = document["data"]["tables"][described["name"]]
        _, *rows = cells(folder / data["files"][0])
        typed = {}
        for i, column in enumerate(described["columns"]):
            values: list[Any] = [row[i] for row in rows]
            if column["kind"] == "set":
                values = [json.loads(v) for v in values]
            elif column["type"] == "VARCHAR":
                values = [v.removeprefix("'") for v in values]
            else:
                values = [int(v) if v else None for v in values]
            typed[column["name"]] = values
        (folder / data["files"][0]).unlink()
        data["files"] = [name.replace(".csv", ".parquet") for name in data["files"]]
        pq.write_table(pa.table(typed), folder / data["files"][0])
    document["data"]["format"] = "parquet"
    (folder / "release.json").write_text(json.dumps(document))
    return folder


def same(one, other):
    """Compare results: labels and types to the letter, sums of floats as far as their order leaves them alike."""
    found, expected = one.columns(), other.columns()
    assert list(found) == list(expected)
    for name, column in expected.items():
        for a, b in zip(found[name], column, strict=True):
            assert type(a) is type(b)
            assert a == (pytest.approx(b, rel=1e-12, abs=1e-12, nan_ok=True) if isinstance(b, float) else b)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_estimates_are_those_of_the_same_release_in_parquet(releases, mechanism, tmp_path):
    public = releases[mechanism] / "out" / "public"
    one = rrpolicy.open_release(public)
    other = rrpolicy.open_release(as_parquet(public, tmp_path / "public"), verify=False)
    for by in (["q"], ["s"], ["q", "s"]):
        same(one.crosstab(by), other.crosstab(by))
    column = "note" if mechanism == "anatomy" else "s"
    for condition in ("= '=cmd'", "= '-5'", "IN ('=HYPERLINK(1)', '''', '=cmd')"):
        query = f"SELECT r, count(*) FROM release WHERE {column} {condition} GROUP BY r"
        try:
            expected = other.query(query)
        except PolicyError as error:
            with pytest.raises(PolicyError, match=re.escape(error.problems[0].message[:30])):
                one.query(query)
        else:
            same(one.query(query), expected)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_readme_s_sql_reads_the_values(releases, mechanism, monkeypatch):
    public = releases[mechanism] / "out" / "public"
    monkeypatch.chdir(public)
    release = rrpolicy.open_release(public)
    readme = Path("README.md").read_text()
    assert "one more apostrophe before it" in readme
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text())
        for kind, code in BLOCK.findall(readme):
            if kind == "sql":
                connection.execute(code).fetchall()
        views = "SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'estimate_%' ORDER BY len(view_name)"
        (view,) = connection.execute(views).fetchone() or ("counted",)  # none where nothing was changed
        columns, rows = {"estimate_s": ["s"], "estimate_q": ["q"]}.get(view, ["q", "r"]), []
        number = "records" if (view, mechanism) == ("estimate_s", "anatomy") else "estimate"
        if view == "counted":
            connection.execute("CREATE VIEW counted AS SELECT q, r, count(*) AS estimate FROM release GROUP BY ALL")
        rows = connection.execute(f'SELECT {", ".join(columns)}, {number} FROM "{view}"').fetchall()
    found = {tuple(values): count for *values, count in rows}
    expected = release.crosstab(columns)
    labels = [tuple(row.group.values()) for row in expected.rows]
    assert set(found) <= set(labels)
    np.testing.assert_allclose([found.get(v, 0) for v in labels], np.ravel(expected.estimate), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("mechanism", ["pram", "anatomy"])
def test_the_readme_s_r_reads_the_values(releases, mechanism, locale, tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    public = tmp_path / "public"
    shutil.copytree(releases[mechanism] / "out" / "public", public)
    code, *_ = [code for kind, code in BLOCK.findall((public / "README.md").read_text()) if kind == "r"]
    kept = {
        "pram": "data.frame(name = names(estimate), estimate = as.vector(estimate))",
        "anatomy": "data.frame(name = colnames(estimate), estimate = as.vector(colSums(estimate, na.rm = TRUE)))",
    }[mechanism]
    script = f"options(warn = 2, digits = 15)\n{code}\nwrite.csv({kept}, 'found.csv', row.names = FALSE)"
    (public / "example.R").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "--vanilla", "example.R"],
        cwd=public, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "LC_ALL": locale},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    column = "q" if mechanism == "pram" else "s"
    release = rrpolicy.open_release(public)
    found = {name: float(value) for name, value in cells(public / "found.csv")[1:]}
    expected = {r.group[column]: r.estimate for r in release.crosstab(column).rows}
    assert found == pytest.approx({k: v for k, v in expected.items() if k in found}, rel=1e-6)
    assert set(found) == {k for k, v in expected.items() if v or mechanism != "anatomy"}


def test_they_are_valid_data_packages(releases):
    packages = [here / "out" / "public" / "datapackage.json" for here in releases.values()]
    found = validated(*packages)
    assert [found[str(path)][2] for path in packages if not found[str(path)][0]] == []


def test_the_descriptions_say_it_and_hold_the_values_themselves(releases):
    public = releases["pram"] / "out" / "public"
    document, package = load(public / "release.json"), load(public / "datapackage.json")
    assert document["data"]["csv_formulas"] == "escape"
    (columns,) = (t["columns"] for t in document["tables"])
    assert {c["name"]: set(c["labels"]) for c in columns if c["name"] in KNOWN} == {k: set(v) for k, v in KNOWN.items()}
    fields = {f["name"]: f for f in package["resources"][0]["schema"]["fields"]}
    assert set(fields["q"]["constraints"]["enum"]) == {"'=1+1", "'+", "'-x", "plain"}
    assert set(fields["q"]["rrpolicy"]["labels"]) == set(KNOWN["q"])
    assert all("apostrophe" in fields[name]["description"] for name in ("q", "note"))
    assert "description" not in fields["hours"]


@pytest.mark.parametrize("mechanism", ["pram", "anatomy", "full-domain"])
def test_a_file_in_which_text_is_not_escaped_is_not_verified(releases, mechanism, tmp_path, capsys):
    """Whoever takes an apostrophe off finds the very same values: only what a spreadsheet reads differs."""
    bundle = tmp_path / "out"
    shutil.copytree(releases[mechanism] / "out", bundle)
    for path in (bundle / "public").glob("*.csv"):
        path.write_bytes(re.sub(rb"\"'([=+@-])", rb'"\1', path.read_bytes()))
    package = bundle / "public" / "datapackage.json"
    document = load(package)
    from rrpolicy.canonical_json import file_digest, pretty

    for resource in document["resources"]:
        path = bundle / "public" / resource["path"]
        resource |= {"hash": file_digest(path), "bytes": path.stat().st_size}
    package.write_bytes(pretty(document))
    reseal_public(bundle)
    reseal_audit(bundle)
    assert main(["verify", str(bundle), "--level", "public"]) == 1
    said = capsys.readouterr().out
    assert "would run as a formula" in said
    assert "RR117" not in said


def test_a_bundle_s_csv_is_measured_by_its_values(releases, capsys):
    here = releases["full-domain"]
    data = str(here / "out" / "public" / "data.csv")
    text = (here / "policy.toml").read_text() + '\n[[privacy]]\nmodel = "t-closeness"\nt = 1\n'
    text += '[[privacy]]\nmodel = "k-anonymity"\nk = 2\nwhere = { q = "=1+1" }\n'
    (here / "asked.toml").write_text(text)
    assert main(["check-table", data, "--policy", str(here / "asked.toml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {f["verdict"] for f in found} == {"satisfied"}


@pytest.mark.parametrize("name", ["=x", "+x", "-x", "@x"])
def test_a_column_name_that_runs_is_refused_where_text_is_escaped(tmp_path, name, capsys):
    columns = {a: {"domain": ["a", "b"]} for a in (*KNOWN, "s")}
    text = policy({"attributes": columns}, "pram", "people.parquet")
    renamed = text.replace('"q" = { "role"', f'"q" = {{ "release_as" = "{name}", "role"')
    for content, status in (
        (renamed, 2),
        (renamed.replace('"format" = "csv"', '"format" = "parquet"'), 0),
        (renamed.replace('"format" = "csv"', '"format" = "csv"\n"csv_formulas" = "keep"'), 0),
        (text.replace('"q" = {', f'"{name}" = {{ "release_as" = "q",'), 0),
    ):
        (tmp_path / "policy.toml").write_text(content)
        assert main(["check", str(tmp_path / "policy.toml")]) == status
        said = capsys.readouterr()
        assert ("RR253" in said.err) == (status == 2)
        assert ("may run it as a formula" in said.out) == ("csv_formulas" in content)


def test_what_is_kept_is_warned_of_and_verified(releases, tmp_path, capsys):
    shutil.copy(releases["pram"].parent / "people.parquet", tmp_path)
    attributes = {name: {"domain": list(values)} for name, values in {**KNOWN, "s": SENSITIVE}.items()}
    text = policy({"attributes": attributes}, "pram", "people.parquet", "keep")
    (tmp_path / "policy.toml").write_text(text)
    warned = "text of 'q', 'r', 's', 'note' may begin with =, +"
    assert main(["check", str(tmp_path / "policy.toml")]) == 0
    assert "warning: text of 'q', 'r', 's', 'note', 'hours' may begin with =, +" in capsys.readouterr().out
    assert main(["check", "--json", str(tmp_path / "policy.toml")]) == 0
    assert len(json.loads(capsys.readouterr().out)["policies"][0]["warnings"]) == 1
    plan, key, out = (str(tmp_path / name) for name in ("plan.json", "key.json", "out"))
    assert main(["plan", str(tmp_path / "policy.toml"), "--out", plan, "--key", key]) == 0
    said = capsys.readouterr().out
    assert warned in said[said.index("what needs judgement") : said.index("\nrequirements")]
    assert main(["release", plan, "--key", key, "--out", out]) == 0
    assert warned in (tmp_path / "out" / "audit" / "report.json").read_text().replace("\\u0027", "'")
    source = str(tmp_path / "people.parquet")
    assert main(["verify", out, "--source", source, "--key", key, "--strict"]) == 0
    found = [cell for row in cells(tmp_path / "out" / "public" / "data.csv") for cell in row]
    assert {"=1+1", "'quoted", "@a", "=cmd", "'"} <= set(found)
    assert not {"'=1+1", "''quoted"} & set(found)
    assert "may run it as a" in (tmp_path / "out" / "public" / "README.md").read_text()
    table = rrpolicy.open_release(out).crosstab("q")
    assert {row.group["q"] for row in table.rows} == set(KNOWN["q"])


def test_without_such_text_nothing_is_said_and_nothing_taken_off(tmp_path):
    spec = TableSpec("data", (Column("a", "category", ("x", "y=1"), "VARCHAR", "a"),), ("a",))
    assert not spec.columns[0].escapable
    assert "CASE" not in CsvFormat().sql("data.csv", spec.columns, "escape")


BEGUN = st.builds(
    lambda first, rest: first + (rest or ""), st.sampled_from([*RUN, "'", "''", '"', '"=']), st.text("=+-'\"\t\r\na")
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), BEGUN, st.text("=+-@'\"ab\t\r\n,", max_size=4)), min_size=1),
    listed=st.booleans(),
)
def test_what_is_escaped_is_read_back(tmp_path_factory, values, listed):
    values = [v for v in values if v is not None] if listed else values
    if not values:
        return
    labels = tuple(dict.fromkeys(v for v in values if v is not None)) if listed else ()
    column = Column("a", "category" if listed else "carried", labels, "VARCHAR", "a")
    spec = TableSpec("data", (column, Column("n", "carried", (), "BIGINT", "n")), ("a", "n"))
    folder = tmp_path_factory.mktemp("texts")
    path = folder / "data.csv"
    writer = CsvTableWriter(path, spec, "escape")
    batch = pa.RecordBatch.from_pydict({"a": pa.array(values, pa.string()), "n": pa.array(range(len(values)))})
    writer.write(batch, np.ones(len(values), dtype=np.int64))
    writer.close()

    assert not [row for row in cells(path)[1:] if row[0].startswith(RUN)]
    assert [row[0].removeprefix("'") for row in cells(path)[1:]] == [v or "" for v in values]
    with open_released_table([path], "csv", spec, folder) as read:
        rows = read.connection.sql(f"SELECT a FROM {read.relation} ORDER BY n").fetchall()
        assert [v for (v,) in rows] == values
        assert read.bare() == ()
    rows = duckdb.sql(f"SELECT a FROM {CsvFormat().sql(str(path), spec.columns, 'escape')} ORDER BY n").fetchall()
    assert [v for (v,) in rows] == values
