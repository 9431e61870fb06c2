"""Releases cut into files of so many rows: the same rows in the same order, read as one table, and held to their cut."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.bundle.tables.writer import FolderSink
from rrpolicy.verification.verify import verify

from .conftest import Made, run, write_case
from .forging import fill_again, fill_public, reseal_public
from .test_data_clients import validated
from .test_formats import MIXED, category, mixed, spec_of
from .test_metadata import dataset
from .village import POLICY, people, planned

ROWS = 700
FILES = ["data/part-00000.parquet", "data/part-00001.parquet", "data/part-00002.parquet"]
TWO_TABLES = """
schema = 1
[policy]
name = "groups"
version = "1.0.0"
[source]
uri = "people.csv"
[attributes]
person_id = { role = "identifier" }
note = { role = "excluded" }
level = { role = "excluded" }
hours = { role = "excluded" }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
age = { role = "sensitive", domain = [25, 30, 35, 50, 70] }
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
[mechanism]
name = "anatomy"
[release]
rows_per_file = 700
"""


def by_hours(row):
    """Return a row's values in the order of sorting: what is released as it is comes first."""
    return [row["hours"], *(value for name, value in row.items() if name != "hours")]


def codes(found):
    return {p.code for p in found.problems}


@pytest.fixture(scope="module")
def cut(tmp_path_factory) -> Made:
    """Return a release of 2,000 records in three files, with its key."""
    case = write_case(tmp_path_factory.mktemp("cut"))
    case.policy.write_text(case.policy.read_text() + f"rows_per_file = {ROWS}\n")
    made = Made(case, case.folder / "bundle", case.folder / "release.key")
    assert run("release", case.policy, "--out", made.bundle, "--key", made.key) == 0
    return made


@pytest.fixture
def copied(cut, tmp_path) -> Made:
    shutil.copytree(cut.bundle, tmp_path / "bundle")
    return Made(cut.case, tmp_path / "bundle", cut.key)


def test_a_release_lies_in_files_of_so_many_rows_and_holds_at_every_level(cut, capsys):
    public = cut.bundle / "public"
    document = json.loads((public / "release.json").read_text())
    assert document["data"]["rows_per_file"] == ROWS
    assert document["data"]["tables"]["data"]["files"] == FILES
    assert [pq.read_metadata(public / name).num_rows for name in FILES] == [700, 700, 600]
    assert set(FILES) <= set(document["files"])
    assert not (public / "data.parquet").exists()

    rows = [r for name in FILES for r in pq.read_table(public / name).to_pylist()]
    assert rows == sorted(rows, key=lambda row: [v.encode() if isinstance(v, str) else v for v in by_hours(row)])
    assert len(rows) == 2000

    capsys.readouterr()
    for more in ([], ["--source", cut.case.table], ["--source", cut.case.table, "--key", cut.key, "--strict"]):
        assert run("verify", cut.bundle, *more) == 0
    assert "byte for byte" in capsys.readouterr().out
    assert run("verify", public) == 0


def test_all_that_reads_a_release_reads_its_files_as_one(cut, tmp_path, capsys, monkeypatch):
    public, source = cut.bundle / "public", cut.case.table
    release = rrpolicy.open_release(cut.bundle)
    assert float(release.crosstab(by=["sex"]).to_frame()["estimate"].sum()) == pytest.approx(2000)
    for hours in (10, 20, 30):
        told = f"SELECT count(*) FROM '{public}/data/*.parquet' WHERE hours = {hours}"
        ((n,),) = duckdb.sql(told).fetchall()
        capsys.readouterr()
        assert (
            run(
                "estimate",
                "query",
                cut.bundle,
                f"SELECT count(*) FROM release WHERE hours = {hours}",
                "--format",
                "csv",
            )
            == 0
        )
        assert str(n) in capsys.readouterr().out
    for command in (
        ["estimate", cut.bundle, "--by", "age_group"],
        ["report", cut.bundle, "--format", "json"],
        ["report", public, "--format", "json"],
        ["report", "evidence", cut.bundle, "--for", "dpia"],
        ["attack", cut.bundle, "--source", source],
        ["compare", cut.case.policy, cut.bundle],
        ["check-table", f"{public}/data/*.parquet", "--qi", "sex,level"],
    ):
        assert run(*command) == 0, (command, capsys.readouterr().err)
    capsys.readouterr()

    monkeypatch.chdir(public)
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text()).fetchall()
        assert connection.sql("SELECT count(*) FROM release").fetchall() == [(2000,)]
    assert "lapply(list.files('data', full.names = TRUE)" in Path("README.md").read_text().replace('"', "'")

    package = json.loads(Path("datapackage.json").read_text())
    assert [resource["path"] for resource in package["resources"]] == FILES
    assert "licenses" not in package, "nobody said under which"
    described = json.loads(Path("croissant.json").read_text())["distribution"]
    assert [d["@type"] for d in described] == ["cr:FileObject"] * 3 + ["cr:FileSet"]
    listed = json.loads((cut.bundle / "audit" / "report.json").read_text())
    assert "data/part-00002.parquet" in (public / "report.html").read_text()
    assert listed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # in the client itself
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_clients_of_both_descriptions_read_the_records(cut):
    public = cut.bundle / "public"
    package = public / "datapackage.json"
    assert validated(package)[str(package)][:2] == [True, [700, 700, 600]]
    assert sum(1 for _ in dataset(public).records("data")) == 2000


def test_both_tables_of_groups_are_cut(tmp_path, capsys):
    case = write_case(tmp_path)
    case.policy.write_text(TWO_TABLES)
    bundle, key = tmp_path / "bundle", tmp_path / "release.key"
    assert run("release", case.policy, "--out", bundle, "--key", key) == 0
    tables = json.loads((bundle / "public" / "release.json").read_text())["data"]["tables"]
    assert all(table["files"][0] == f"{name}/part-00000.parquet" for name, table in tables.items())
    assert len(tables["qit"]["files"]) == 3
    assert run("verify", bundle, "--source", case.table, "--key", key, "--strict") == 0
    assert run("estimate", bundle, "--by", "sex,age") == 0


def test_collected_records_are_cut(tmp_path):
    planned(tmp_path, POLICY + "[release]\nrows_per_file = 100\n", rows=300)
    asked = rrpolicy.open_questionnaire(tmp_path / "plan.questionnaire.json")
    sent = [json.dumps(rrpolicy.randomize(asked, person)) for person in people(300)]
    (tmp_path / "sent.jsonl").write_text("\n".join(sent))
    rrpolicy.collect(tmp_path / "plan.json", tmp_path / "sent.jsonl", tmp_path / "bundle")
    assert len(list((tmp_path / "bundle/public/data").iterdir())) == 3
    assert verify(tmp_path / "bundle").passed


def test_a_missing_swapped_added_or_cut_short_file_is_found(copied):
    data = copied.bundle / "public" / "data"
    first, second, third = (data / Path(name).name for name in FILES)
    held = first.read_bytes()

    first.unlink()
    assert {"RR112"} <= codes(verify(copied.bundle))
    with pytest.raises(rrpolicy.PolicyError, match="RR269"):
        rrpolicy.open_release(copied.bundle)
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)
    assert codes(verify(copied.bundle)) == {"RR111", "RR120"}
    with pytest.raises(rrpolicy.PolicyError, match="RR284"):
        rrpolicy.open_release(copied.bundle)
    second.write_bytes(first.read_bytes())
    first.write_bytes(held)
    assert verify(copied.bundle).passed

    (data / "part-00003.parquet").write_bytes(third.read_bytes())
    assert codes(verify(copied.bundle)) == {"RR113"}
    (data / "part-00003.parquet").unlink()
    third.write_bytes(third.read_bytes()[:-9])
    assert {"RR111", "RR115"} <= codes(verify(copied.bundle))


def change(files: dict[str, pa.Table], data: Path) -> None:
    for path in data.iterdir():
        path.unlink()
    for name, table in files.items():
        pq.write_table(table, data / name, compression="zstd", store_schema=False)


def cut_again(table: pa.Table, rows: int) -> dict[str, pa.Table]:
    parts = range(-(-len(table) // rows))
    return {f"part-{i:05d}.parquet": table.slice(i * rows, rows) for i in parts}


def forge(made: Made, files: dict[str, pa.Table], rows: int = ROWS) -> None:
    """Put other files in place of a release's, and make and seal everything again that follows from them."""
    change(files, made.bundle / "public" / "data")

    def stated(document):
        document["data"]["rows_per_file"] = rows
        document["data"]["tables"]["data"]["files"] = [f"data/{name}" for name in files]

    reseal_public(made.bundle, stated)
    fill_public(made.bundle)
    fill_again(made.bundle)


@pytest.mark.slow
def test_who_cuts_a_release_otherwise_and_seals_everything_again_is_found(copied):
    public, source = copied.bundle / "public", str(copied.case.table)
    whole = pa.concat_tables([pq.read_table(public / name) for name in FILES])

    uneven = {"part-00000.parquet": whole.slice(0, 699), "part-00001.parquet": whole.slice(699, 701)}
    forge(copied, uneven | {"part-00002.parquet": whole.slice(1400)})
    assert codes(verify(public)) == {"RR115"}
    forge(copied, cut_again(whole, 500))
    assert "RR115" in codes(verify(public))
    forge(copied, cut_again(whole, 500), 500)  # a release that another policy would give
    assert verify(public).passed
    assert "RR122" in codes(verify(copied.bundle))
    assert "RR127" in codes(verify(copied.bundle, source=source, key=copied.key))
    turned = whole.slice(0, 700), whole.slice(700, 700), whole.slice(1400)
    forge(copied, dict(zip(cut_again(whole, ROWS), (turned[1], turned[0], turned[2]), strict=True)))
    assert "RR127" in codes(verify(copied.bundle, source=source, key=copied.key))


def test_a_manifest_of_absurd_numbers_costs_nothing(copied):
    def absurd(document):
        document["data"]["rows_per_file"] = 1
        document["data"]["tables"]["data"]["rows"] = 10**15

    reseal_public(copied.bundle, absurd)
    assert "RR115" in codes(verify(copied.bundle / "public"))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=40),
    rows_per_file=st.integers(1, 50),
    batch=st.integers(1, 40),
)
def test_files_hold_the_rows_one_after_the_other(tmp_path_factory, counts, rows_per_file, batch):
    folder = tmp_path_factory.mktemp("parts")
    spec = spec_of(category("value", tuple(range(len(counts)))))
    values, n = pa.array(range(len(counts))), np.array(counts)
    sink = FolderSink([spec], folder, "parquet", folder, rows_per_file=rows_per_file)
    for low in range(0, len(counts), batch):
        part = slice(low, low + batch)
        sink.write("data", pa.record_batch([values[part]], names=["value"]), n[part], in_order=True)
    written = sink.finish()["data"]

    rows = [v for name in written.files for v in pq.read_table(folder / name).column("value").to_pylist()]
    assert rows == np.repeat(np.arange(len(counts)), n).tolist()
    sizes = [pq.read_metadata(folder / name).num_rows for name in written.files]
    assert all(size == rows_per_file for size in sizes[:-1])
    assert 0 < sizes[-1] <= rows_per_file
    assert written.rows == sum(counts)


def test_the_digest_is_that_of_the_rows_and_not_of_their_cut(tmp_path):
    table = mixed(2000, 3)
    found = []
    for rows_per_file in (None, 1, 333, 2000, 5000):
        folder = tmp_path / str(rows_per_file)
        (folder / "scratch").mkdir(parents=True)
        limited = table.slice(0, 50) if rows_per_file == 1 else table
        sink = FolderSink([MIXED], folder, "parquet", folder / "scratch", rows_per_file=rows_per_file)
        sink.write("data", limited.combine_chunks().to_batches()[0])
        found.append(sink.finish()["data"])
    assert len({w.digest for w in found if w.rows == 2000}) == 1
    assert [len(w.files) for w in found] == [1, 50, 7, 1, 1]


def test_what_cannot_be_cut_is_refused_where_it_stands(case, capsys):
    text = case.policy.read_text()
    case.policy.write_text(text.replace('format = "parquet"', 'format = "csv"\nrows_per_file = 500'))
    assert run("check", case.policy) == 2
    said = capsys.readouterr().err
    line = case.policy.read_text().splitlines().index("rows_per_file = 500") + 1
    assert "RR350" in said
    assert f"policy.toml:{line}:" in said

    case.policy.write_text(text + "rows_per_file = 0\n")
    assert run("check", case.policy) == 2
    assert "rows_per_file" in capsys.readouterr().err

    case.policy.write_text(text + "rows_per_file = 10\n")
    assert run("plan", case.policy, "--expected-rows", "1000001") == 2
    said = capsys.readouterr().err
    assert "RR351" in said
    assert "rows_per_file = 11 or more" in said
