"""Files that cannot be read as they should: refused with a code, never half read, never quoted in messages."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.errors import DataError, RRPolicyError
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.opening import engine_for_uri

from .conftest import carried, qi

CANARY = "Xanthippe-7731"


def code_of(opened, uri, *attributes, **keys) -> str:
    with pytest.raises(RRPolicyError) as caught, opened(uri, *attributes, **keys):
        pass
    for problem in caught.value.problems:
        assert CANARY not in f"{problem}"
    assert caught.value.__cause__ is None
    return caught.value.problems[0].code


A, B = qi("a"), qi("b")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (f"a,b\n1,{CANARY}\n{CANARY}\n", "RR303"),
        (f"a,b\n1,2\n{CANARY},3,4\n", "RR303"),
        ("a,b\n" + "1,2\n" * 200_000 + f"{CANARY}\n", "RR303"),
        (f'a,b\n1,"{CANARY}\n', "RR303"),
        (f"a;b\n1;{CANARY}\n", "RR303"),
        (f"a,b\n1,{CANARY}é\n".encode("latin-1"), "RR304"),
        (b"a,b\n" + b"1,2\n" * 100_000 + f"{CANARY}é,2\n".encode("latin-1"), "RR304"),
        ("größe,b\n1,2\n".encode("latin-1"), "RR304"),
        ("a,b\n1,2\n".encode("utf-16"), "RR304"),
        ("", "RR308"),
        ("a,a\n1,2\n", "RR308"),
        ("a,A\n1,2\n", "RR308"),
        ("a,\n1,2\n", "RR308"),
        (",\n1,2\n", "RR308"),
        (",column 1\n1,2\n", "RR308"),
        ('"a\nx",b\n1,2\n', "RR308"),
        ("a,b", "RR317"),
        ("a,b\n", "RR317"),
        ("\ufeffa,b\r\n", "RR317"),
    ],
)
def test_malformed_csv_is_refused(content, code, opened, tmp_path):
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())

    assert code_of(opened, tmp_path / "t.csv", A, B) == code


def test_the_line_is_named(opened, tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n1,2\n3,{CANARY},5\n")
    with (
        pytest.raises(DataError, match="line 3: 3 fields in a row, the header has 2"),
        opened(tmp_path / "t.csv", A, B),
    ):
        pass


@pytest.mark.parametrize(("cut", "hint"), [("1", "not copied whole"), ("1,2,3", "quote fields")])
def test_a_file_that_was_not_copied_whole_is_told_from_commas_that_nobody_quoted(cut, hint, opened, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n" + cut)
    with pytest.raises(DataError) as caught, opened(tmp_path / "t.csv", A, B):
        pass

    assert "line 3" in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("header", ['a;"b,c', '"a;b"",c', ';"', '"a",b;"c', 'a,"b\nc;d",e'])
def test_a_header_that_another_delimiter_would_open_quotes_in_reads_nothing_further(header, opened, tmp_path):
    """What follows is longer than what is read at once, and no UTF-8."""
    rows = b"1,2\n" * 50_000 + f'{CANARY}é","\n'.encode("latin-1")
    (tmp_path / "t.csv").write_bytes(f"{header}\n".encode() + rows)

    assert code_of(opened, tmp_path / "t.csv", A, B)[:3] == "RR3"


def test_damaged_gzip_is_refused(opened, tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    for content in (b"a,b\n1,2\n", whole[: len(whole) // 2], b""):
        (tmp_path / "t.csv.gz").write_bytes(content)

        assert code_of(opened, tmp_path / "t.csv.gz", A, B) in {"RR302", "RR303", "RR308"}


def test_quoted_line_breaks_commas_and_quotes_are_values(opened, tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"x, ""y""\nz",1\nplain,2\n')
    with opened(tmp_path / "t.csv", A, B) as original:
        assert original.policy.attributes["a"].domain == ("plain", 'x, "y"\nz')


def test_csv_takes_every_empty_field_for_null_and_parquet_does_not(opened, tmp_path, parquet):
    (tmp_path / "t.csv").write_text('a,b\n"",1\n,2\nx,3\n')
    with opened(tmp_path / "t.csv", qi("a", "x", "none", nulls="none"), B) as original:
        assert original.counts("a").n.tolist() == [1, 2]
    with opened(parquet({"a": ["", None, "x"]}), qi("a", "x", "none", "", nulls="none")) as original:
        assert original.counts("a").n.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("spelled", "kind"),
    [
        ("1,2,3", "BIGINT"),
        ("-1,0,3", "BIGINT"),
        ("01,2,3", "VARCHAR"),
        ("+1,2,3", "VARCHAR"),
        ("1.5,2,-0.25", "DOUBLE"),
        ("1e3,2,3", "VARCHAR"),
        (".5,2,-.25", "DOUBLE"),
        ("1e-05,2.5E+10,-.1e-2", "DOUBLE"),
        ("1e+05,1,2", "DOUBLE"),
        (".,1,2", "VARCHAR"),
        ("1.,1,2", "VARCHAR"),
        ("99999999999999999999,2,3", "DOUBLE"),
        ("true,false,true", "BOOLEAN"),
        ("True,False,True", "VARCHAR"),
        ("1,nan,inf", "DOUBLE"),
        ("1,x,3", "VARCHAR"),
        (",,", "VARCHAR"),
    ],
)
def test_csv_columns_have_the_type_that_all_values_are_spelled_in(spelled, kind, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{v},x\n" for v in spelled.split(",")))
    with DuckDBSource().open(str(tmp_path / "t.csv"), None, tmp_path) as snapshot:
        assert snapshot.columns() == {"a": kind, "b": "VARCHAR"}
        assert snapshot.records() == 3


def test_a_domain_of_text_reads_numbers_of_csv_as_text(opened, tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n2\n2\n")
    with opened(tmp_path / "t.csv", qi("a", "2", "1")) as original:
        assert original.counts("a").n.tolist() == [2, 1]
        assert original.types == {"a": "VARCHAR"}
    with opened(tmp_path / "t.csv", qi("a", 2, 1)) as original:
        assert original.counts("a").n.tolist() == [2, 1]
        assert original.types == {"a": "BIGINT"}


def test_files_that_are_not_what_they_are_called(opened, tmp_path, parquet):
    whole = parquet({"a": [CANARY] * 1000}).read_bytes()
    for name, content in {
        "text.parquet": CANARY.encode(),
        "short.parquet": whole[:-20],
        "empty.parquet": b"",
        "text.duckdb": CANARY.encode() * 1000,
    }.items():
        (tmp_path / name).write_bytes(content)

        assert code_of(opened, tmp_path / name, A) in {"RR302", "RR300"}, name


def test_damage_inside_a_parquet_file_is_found_while_reading(opened, tmp_path, parquet):
    path = parquet(pa.table({"a": [f"{CANARY}{i}" for i in range(50_000)]}))
    content = bytearray(path.read_bytes())
    content[1000:3000] = bytes(2000)
    path.write_bytes(bytes(content))

    assert code_of(opened, path, A) in {"RR302", "RR312"}


def test_missing_files_and_folders(opened, tmp_path):
    (tmp_path / "folder.parquet").mkdir()

    assert code_of(opened, tmp_path / "none.parquet", A) == "RR300"
    assert code_of(opened, tmp_path / "none-*.parquet", A) == "RR300"
    assert code_of(opened, tmp_path / "folder.parquet", A) == "RR300"
    assert code_of(opened, "relative.parquet", A, folder=str(tmp_path)) == "RR300"


def test_addresses_and_unknown_endings_are_refused(opened, tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"")
    for uri in (
        "https://example.org/t.parquet",
        "s3://bucket/t.parquet",
        "http://x/t.csv",
        "t.xlsx",
        "table",
        "sqlite:x",
    ):
        assert code_of(opened, uri, A, folder=str(tmp_path)) == "RR301", uri


def test_the_engine_is_found_by_scheme_or_ending(tmp_path):
    csv, demo = SimpleNamespace(), SimpleNamespace(paths=False)
    sources = {"csv": csv, ".csv": csv, ".csv.gz": demo, "demo": demo}

    assert engine_for_uri("a.csv", sources, tmp_path) == (csv, str(tmp_path / "a.csv"))
    assert engine_for_uri("A.CSV", sources, tmp_path) == (csv, str(tmp_path / "A.CSV"))
    assert engine_for_uri("a.csv.gz", sources, tmp_path) == (demo, str(tmp_path / "a.csv.gz"))
    assert engine_for_uri("csv:/x/data", sources, tmp_path) == (csv, "csv:/x/data")
    assert engine_for_uri("csv:data", sources, tmp_path) == (csv, f"csv:{tmp_path}/data")
    assert engine_for_uri("demo:survey", sources, tmp_path) == (demo, "demo:survey")
    assert engine_for_uri("a:b.csv", sources, tmp_path) == (csv, str(tmp_path / "a:b.csv"))


def test_files_of_a_glob_must_agree(opened, tmp_path, parquet):
    parquet({"a": ["x"], "b": [1]}, "p1.parquet")
    for columns in ({"a": ["x"]}, {"a": ["x"], "b": [1], "c": [1]}, {"b": [1], "a": ["x"]}, {"a": ["x"], "b": [1.0]}):
        parquet(columns, "p2.parquet")
        assert code_of(opened, tmp_path / "p*.parquet", A, B) == "RR307"
    parquet({"a": ["y"], "b": [2]}, "p2.parquet")
    with opened(tmp_path / "p*.parquet", A, B) as original:
        assert original.records == 2


def test_a_glob_of_csv_and_a_table_of_a_file_are_refused(opened, tmp_path):
    for name in ("c1.csv", "c2.csv"):
        (tmp_path / name).write_text("a\nx\n")

    assert code_of(opened, tmp_path / "c*.csv", A) == "RR301"
    assert code_of(opened, tmp_path / "c1.csv", A, table="t") == "RR306"


def test_columns_that_differ_in_case_only_are_refused(opened, parquet):
    assert code_of(opened, parquet({"a": ["x"], "A": ["x"]}), A) == "RR308"


def test_a_database_needs_a_table_unless_it_has_one(opened, database):
    one = database("CREATE TABLE t AS SELECT 'x' AS a")
    two = database("CREATE TABLE t AS SELECT 'x' AS a", "CREATE VIEW v AS SELECT * FROM t", name="two.duckdb")
    with opened(one, A) as original:
        assert original.records == 1
    assert code_of(opened, two, A) == "RR306"


def test_a_view_may_not_leave_its_database(opened, tmp_path, parquet, database):
    secret = parquet({"a": [CANARY]})
    path = database(f"CREATE VIEW v AS SELECT * FROM read_parquet('{secret}')")

    assert code_of(opened, path, A) == "RR309"


def test_a_database_locked_by_a_writer_is_refused(opened, database):
    path = database("CREATE TABLE t AS SELECT 'x' AS a")
    script = "import sys, duckdb; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        try:
            assert code_of(opened, path, A) == "RR305"
        finally:
            writer.communicate("")
    with opened(path, A) as original:
        assert original.records == 1


def test_nothing_is_written_beside_the_table(opened, tmp_path, database):
    path = database("CREATE TABLE t AS SELECT (i % 7)::VARCHAR AS a, i % 50 AS c FROM range(1000) r(i)")
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    with opened(path, A, carried("c")) as original:
        original.content()

    after = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir() if p.name != "scratch"}
    assert after == before
    assert (tmp_path / "scratch").stat().st_mode & 0o777 == 0o700


def test_the_engine_sees_no_other_file(tmp_path, parquet):
    parquet({"a": [CANARY]}, "secret.parquet")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with DuckDBSource().open(str(parquet({"a": ["x"]})), None, scratch) as snapshot:
        for sql in (
            f"SELECT * FROM read_parquet('{tmp_path}/secret.parquet')",
            "SELECT * FROM read_csv('/etc/passwd')",
            f"ATTACH '{tmp_path}/new.db'",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            "SET enable_external_access = true",
            "SET memory_limit = '100GB'",
            "INSTALL httpfs",
        ):
            with pytest.raises(Exception, match=r"(?i)permission|disabled|locked|cannot"):
                snapshot.connection.execute(sql)
    assert not Path(tmp_path / "out.csv").exists()


def test_sorting_more_than_memory_spills_into_the_scratch_folder(tmp_path, opened, monkeypatch):
    monkeypatch.setattr("rrpolicy.source.duckdb.source.MEMORY", "40MiB")
    path = tmp_path / "t.parquet"
    count = 8_000_000
    values = pa.array([(i * 7919) % count for i in range(count)])
    pq.write_table(pa.table({"a": pa.array(["x", "y"] * (count // 2)), "c": values}), path)
    seen: set[str] = set()
    with opened(path, qi("a", "x", "y"), carried("c", assume_unlinkable="test")) as original:
        records = 0
        for batch in original.rows("a", "c"):
            records += batch.num_rows
            seen |= {p.name for p in (tmp_path / "scratch" / "duckdb").glob("*")}
        assert records == count
    assert seen
    assert not list(Path.cwd().glob(".tmp*"))


@pytest.mark.parametrize("header", ["sex,ill,", "sex,ill,more", "sex"])
def test_a_header_with_another_number_of_fields_than_its_records_is_refused(header, tmp_path, capsys):
    from rrpolicy.cli.main import main

    path = tmp_path / "people.csv"
    path.write_text(f"{header}\n" + "f,no\nm,flu\nf,flu\n" * 20)
    fields = header.count(",") + 1

    for call in (["init", str(path)], ["check-table", str(path), "--qi", "sex", "--k", "2"]):
        assert main(call) == 3
        printed = capsys.readouterr()
        assert f"RR308 'people.csv': the header has {fields} field" in printed.err
        assert "the first record 2" in printed.err
        assert not printed.out


def test_lines_above_a_header_are_no_header(tmp_path, capsys):
    from rrpolicy.cli.main import main

    path = tmp_path / "people.csv"
    path.write_text("Survey of 2024, wave 1, weighted\n\nsex,age,ill,town\n" + "f,31,no,A\nm,44,flu,B\n" * 20)
    assert main(["init", str(path)]) == 0
    assert "skip = 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    ["sex,ill\nf,no\n".encode("utf-16-le"), b"sex,i\0ll\nf,no\n", b"sex,ill\nf\0,no\n" * 3],
    ids=["UTF-16 without a mark", "in the header", "in values"],
)
def test_nul_bytes_are_refused_or_read_and_never_a_bug(content, tmp_path, capsys):
    from rrpolicy.cli.main import main

    path = tmp_path / "people.csv"
    path.write_bytes(content)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'schema = 1\n[policy]\nname = "p"\nversion = "1.0.0"\n[source]\nuri = "people.csv"\nother_columns = "excluded"\n'
        '[attributes]\nsex = { role = "sensitive", domain = "observed" }\n'
        '[[privacy]]\nmodel = "local-dp"\nepsilon = 4\n[mechanism]\nname = "pram"\n'
    )
    for call in (["init", str(path)], ["check-table", str(path), "--qi", "sex", "--k", "2"], ["plan", str(policy)]):
        assert main(call) in {0, 1, 3}, capsys.readouterr().err
    assert "RR304" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["pipe", "csv:pipe"])
def test_pipes_are_refused_by_name_and_not_waited_for(named, tmp_path, capsys, monkeypatch):
    import os

    from rrpolicy.cli.main import main

    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for call in (["init", named], ["check-table", named, "--qi", "sex", "--k", "2"]):
        assert main(call) == 3
        assert "pipes and devices are not read" in capsys.readouterr().err
    assert main(["init", "/dev/null"]) == 3
    assert "write the table into a file first" in capsys.readouterr().err


def test_the_index_that_pandas_wrote_is_no_column_unless_it_is_named(opened, tmp_path, capsys):
    import pandas as pd

    from rrpolicy.cli.main import main

    frame = pd.DataFrame({"a": ["x", "y"] * 30}, index=range(7, 67))
    frame.sample(frac=1, random_state=1).to_parquet(tmp_path / "t.parquet")

    with opened(tmp_path / "t.parquet", qi("a", "x", "y")) as table:
        assert table.records == 60
    assert main(["init", str(tmp_path / "t.parquet")]) == 0
    assert '__index_level_0__ = { role = "excluded" } # the index that pandas wrote' in capsys.readouterr().out


def test_codes_with_leading_zeros_are_hinted_at_as_text(opened, tmp_path):
    (tmp_path / "t.csv").write_text("zip\n" + "02116\n01001\n94107\n" * 9)

    with pytest.raises(DataError) as caught, opened(tmp_path / "t.csv", qi("zip", 1001, 2116, 94107)):
        pass
    (problem,) = caught.value.problems
    assert problem.code == "RR312"
    assert problem.hint == 'write the domain as text if these are codes that begin with a 0: domain = ["01001", …]'


@pytest.fixture
def versioned(tmp_path):
    """Return a function that writes the folder of a table of versions, with a file that the present one lacks."""

    def write(kind: str) -> Path:
        table = tmp_path / "people"
        data = table / ("country=SE" if kind == "delta" else "data")
        data.mkdir(parents=True)
        for name in ("removed", "present"):
            pq.write_table(pa.table({"a": ["x", "y"]}), data / f"{name}.parquet")
        log = table / ("_delta_log/00000000000000000001.json" if kind == "delta" else "metadata/v2.metadata.json")
        log.parent.mkdir()
        actions = [{"remove": {"path": "country=SE/removed.parquet"}}, {"add": {"path": "country=SE/present.parquet"}}]
        log.write_text("\n".join(map(json.dumps, actions)) if kind == "delta" else '{"format-version": 2}')
        return data

    return write


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("named", ["{data}/*.parquet", "{table}/*/*.parquet", "{table}", "parquet:{table}"])
def test_the_files_of_a_table_of_versions_are_not_read_as_the_table(versioned, tmp_path, kind, named):
    data = versioned(kind)
    uri = named.format(data=data, table=data.parent)

    def read() -> None:
        source, resolved = engine_for_uri(uri, dict.fromkeys(DuckDBSource.schemes, DuckDBSource()), Path())
        with source.open(resolved, None, tmp_path / "scratch"):
            pass

    with pytest.raises(DataError) as caught:
        read()

    (problem,) = caught.value.problems
    assert problem.code == "RR358"
    assert f"the files of the {kind.capitalize()} table 'people' hold removed rows as well" in problem.message
    assert f"COPY (FROM {kind}_scan('people'))" in problem.hint


def test_one_file_of_a_table_of_versions_is_read_by_its_name(versioned, tmp_path):
    data = versioned("delta")

    with DuckDBSource().open(str(data / "present.parquet"), None, tmp_path) as snapshot:
        assert snapshot.records() == 2
