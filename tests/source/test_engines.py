"""Each engine gives the same original for the same table."""

from __future__ import annotations

import gzip
import itertools
import math
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.engine.errors import translate_error
from rrpolicy.engine.quoting import literal
from rrpolicy.errors import DataError
from rrpolicy.formats.column_types import arrow_type
from rrpolicy.policy.model import Bins
from rrpolicy.source.duckdb.snapshot import TableSnapshot

from .conftest import carried, distinct, dropped, qi

COLUMNS = {
    "id": [f"p{i}" for i in range(60)],
    "sex": ["f", "m", "f"] * 20,
    "age": [5, 20, 39, 40, 64, 100] * 10,
    "size": [1, 2, 3, 2, 1] * 12,
    "yes": [True, False] * 30,
    "hours": [1.5, 2.0, 40.0] * 20,
}
ATTRIBUTES = (
    dropped("id"),
    qi("sex", "m", "f"),
    qi("age", "young", "middle", "old", bins=Bins((0, 20, 40, float("inf")), ("young", "middle", "old"))),
    qi("size", 1, 2, 3),
    qi("yes", *(True, False)),
    carried("hours"),
)


def _parquet(kind: str, folder: Path) -> str:
    table = pa.table(COLUMNS)
    if kind == "parquet":
        pq.write_table(table, folder / "t.parquet")
        return "t.parquet"
    if kind == "parquet dictionary":
        coded = table.set_column(1, "sex", table["sex"].dictionary_encode())
        pq.write_table(coded, folder / "d.parquet", row_group_size=7)
        return str(folder / "d.parquet")
    if kind == "parquet without an ending":
        pq.write_table(table, folder / "plain")
        return "parquet:plain"
    (folder / "parts").mkdir()
    for start in range(0, 60, 13):
        pq.write_table(table.slice(start, 13), folder / "parts" / f"{start:02}.parquet")
    return "parts/*.parquet"


def _database(folder: Path) -> str:
    with duckdb.connect(str(folder / "w.duckdb")) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE other (a INT)")
        connection.register("given", pa.table(COLUMNS))
        connection.execute("CREATE TABLE people AS SELECT * FROM given; CREATE TABLE s.people AS SELECT * FROM given")
        connection.execute("CREATE VIEW seen AS SELECT * FROM people")
    return "w.duckdb"


def _csv(kind: str, folder: Path) -> str:
    text = ",".join(COLUMNS) + "\n"
    text += "".join(",".join(str(v).lower() for v in row) + "\n" for row in zip(*COLUMNS.values(), strict=True))
    name = {"tsv": "t.tsv", "csv gz": "t.csv.gz"}.get(kind, "t.csv")
    content = {
        "csv crlf bom": b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        "csv gz": gzip.compress(text.encode()),
        "tsv": text.replace(",", "\t").encode(),
    }.get(kind, text.encode())
    (folder / name).write_bytes(content)
    return name


def _written(kind: str, folder: Path) -> tuple[str, str | None]:
    """Write the table in one way; return its uri and table."""
    if kind in {"table", "view", "schema"}:
        return _database(folder), {"table": "people", "view": "seen", "schema": "s.people"}[kind]
    return (_csv if "sv" in kind else _parquet)(kind, folder), None


KINDS = (
    *("parquet", "parquet dictionary", "parquet without an ending", "glob"),
    *("csv", "csv crlf bom", "csv gz", "tsv", "table", "view", "schema"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_engine_reads_the_same_original(kind, opened, tmp_path):
    uri, table = _written(kind, tmp_path)
    codes = [
        (
            "mf".index(s),
            0 if a < 20 else 1 if a < 40 else 2,
            z - 1,
            0 if y else 1,
        )
        for s, a, z, y in zip(COLUMNS["sex"], COLUMNS["age"], COLUMNS["size"], COLUMNS["yes"], strict=True)
    ]

    with opened(uri, *ATTRIBUTES, table=table, folder=str(tmp_path)) as original:
        joint = original.counts("sex", "age", "size", "yes")
        rows = [tuple(r.values()) for b in original.rows("hours", "age", "sex") for r in b.to_pylist()]

        assert original.records == 60
        assert original.types == {
            "sex": "VARCHAR",
            "age": "VARCHAR",
            "size": "BIGINT",
            "yes": "BOOLEAN",
            "hours": "DOUBLE",
        }
        assert {tuple(map(int, c)): int(n) for c, n in zip(joint.codes, joint.n, strict=True)} == Counter(codes)
        assert rows == sorted(
            ((h, c[1], c[0]) for h, c in zip(COLUMNS["hours"], codes, strict=True)),
            key=lambda r: (r[1], r[2], r[0]),
        )
        assert distinct(original) == len({(*c, h) for c, h in zip(codes, COLUMNS["hours"], strict=True)})
        content = original.content()
    pq.write_table(pa.table(COLUMNS), tmp_path / "again.parquet", compression="none", row_group_size=11)
    with opened(tmp_path / "again.parquet", *ATTRIBUTES) as original:
        assert original.content() == content


def test_content_changes_with_a_value_and_with_an_observed_category(opened, parquet):
    tables = {
        "base": {"a": ["x", "y", "y"], "c": [1, 1, 1]},
        "order": {"a": ["y", "x", "y"], "c": [1, 1, 1]},
        "count": {"a": ["x", "x", "y"], "c": [1, 1, 1]},
        "carried": {"a": ["x", "y", "y"], "c": [1, 1, 2]},
        "category": {"a": ["x", "z", "z"], "c": [1, 1, 1]},
    }
    content = {}
    for name, columns in tables.items():
        with opened(parquet(columns, f"{name}.parquet"), qi("a"), carried("c", assume_unlinkable="test")) as original:
            content[name] = original.content()

    assert content["base"] == content["order"]
    assert len(set(content.values())) == 4


def test_marginals_are_rolled_up_and_the_engine_is_asked_once(opened, parquet, monkeypatch):
    path = parquet({"a": ["x", "y"] * 5, "b": [1, 2, 3, 4, 5] * 2})
    with opened(path, qi("a", "x", "y"), qi("b", 1, 2, 3, 4, 5)) as original:
        monkeypatch.setattr(type(original.snapshot), "tally", None)

        assert original.counts("b").n.tolist() == [2] * 5
        assert original.counts("b", "a").shape == (5, 2)
        assert original.counts().n.tolist() == [10]
        assert sum(b.num_rows for b in original.rows("b", "a")) == 10
        with pytest.raises(ValueError, match="distinct"):
            original.counts("a", "a")
        with pytest.raises(ValueError, match="distinct"):
            original.counts("person")
        with pytest.raises(ValueError, match="released"):
            next(original.rows("person"))


def test_a_wide_joint_is_counted_only_as_far_as_asked(opened, parquet, monkeypatch):
    random = np.random.default_rng(5)
    columns = {f"a{i}": random.integers(0, 4, 500) for i in range(6)}
    monkeypatch.setattr("rrpolicy.source.original.JOINT_CELLS", 100)
    with opened(parquet(columns), *(qi(name, 0, 1, 2, 3) for name in columns)) as original:
        pair = original.counts("a5", "a0")

        assert {len(names) for names in original._tables} == {1, 2}
        assert pair.dense().tolist() == [
            [int(((columns["a5"] == u) & (columns["a0"] == v)).sum()) for v in range(4)] for u in range(4)
        ]
        rows = [tuple(r.values()) for b in original.rows("a1", "a2", "a3") for r in b.to_pylist()]
        assert rows == sorted(zip(*(columns[f"a{i}"].tolist() for i in (1, 2, 3)), strict=True))
        assert distinct(original) == len(set(zip(*(c.tolist() for c in columns.values()), strict=True)))


def test_a_domain_too_large_for_a_list_is_joined(opened, parquet):
    domain = tuple(f"v{i:05}" for i in range(3000))
    values = [domain[i * 7 % 3000] for i in range(5000)]
    with opened(parquet({"a": values, "b": ["x"] * 5000}), qi("a", *domain[::-1]), qi("b", "x")) as original:
        expected = Counter(2999 - domain.index(v) for v in values)

        table = original.counts("a")
        assert dict(zip(table.codes[:, 0].tolist(), table.n.tolist(), strict=True)) == expected
        assert sum(b.num_rows for b in original.rows("b", "a")) == 5000


def test_an_identifier_is_read_only_for_how_many_records_a_person_has(opened, parquet, monkeypatch):
    path = parquet({"id": ["a", "b"], "sex": ["f", "m"]})
    asked: list[str] = []
    plain = TableSnapshot._stream

    def stream(self, sql, query):
        asked.append(sql)
        return plain(self, sql, query)

    monkeypatch.setattr(TableSnapshot, "_stream", stream)
    with opened(path, dropped("id"), qi("sex")) as original:
        original.content()
        list(original.rows("sex"))

    of_it = [sql for sql in asked if '"id"' in sql]
    assert len(asked) > len(of_it) == 1
    assert of_it[0].startswith("SELECT missing, records, count(*)")


@pytest.mark.parametrize("mixed", [True, False])
def test_nulls_and_outside_values_are_told_apart_in_the_same_group(mixed, opened, parquet):
    columns = {"a": ["x", "z", None if mixed else "w", "x"], "b": ["p", "p", "p", None]}
    a = qi("a", "x", "other", "unknown", outside="other", nulls="unknown")
    with opened(parquet(columns), a, qi("b", "p", "unknown", nulls="unknown")) as original:
        joint = original.counts("a", "b")

        assert (original.snapshot._swiftly(list(original.policy.released)) is None) is mixed
        assert [(*c, n) for c, n in zip(joint.codes.tolist(), joint.n.tolist(), strict=True)] == [
            (0, 0, 1),
            (0, 1, 1),
            *([(1, 0, 1), (2, 0, 1)] if mixed else [(1, 0, 2)]),
        ]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)])
def test_a_large_domain_of_numbers_is_joined(kind, opened, parquet):
    values = [0, 5, 5, 99]
    with opened(parquet({"a": pa.array(values, pa.int8()).cast(kind, safe=False)}), qi("a", *range(100))) as original:
        assert original.counts("a").codes[:, 0].tolist() == [0, 5, 99]
        assert original.counts("a").n.tolist() == [1, 2, 1]


def test_many_attributes_need_more_than_one_packed_number(opened, parquet):
    random = np.random.default_rng(9)
    sizes = (30_000, 2, 40_000, 50_000, 3, 60_000, 1)
    columns = {f"a{i}": random.integers(0, size, 300) for i, size in enumerate(sizes)}
    attributes = [qi(f"a{i}", *range(size)) for i, size in enumerate(sizes)]
    with opened(parquet(columns), *attributes) as original:
        joint = original.counts(*columns)

        assert sorted(map(tuple, joint.codes.tolist())) == sorted(
            set(zip(*(c.tolist() for c in columns.values()), strict=True))
        )


def test_rows_in_batches_keep_one_order(opened, parquet):
    random = np.random.default_rng(3)
    columns = {"a": random.integers(0, 3, 300_000), "c": random.integers(0, 1000, 300_000)}
    with opened(parquet(columns), qi("a", 0, 1, 2), carried("c")) as original:
        batches = list(original.rows("a", "c"))
        rows = [pair for b in batches for pair in zip(b[0].to_pylist(), b[1].to_pylist(), strict=True)]

        assert len(batches) > 1
        assert all(x <= y for x, y in itertools.pairwise(rows))
        assert Counter(rows) == Counter(zip(columns["a"].tolist(), columns["c"].tolist(), strict=True))


def test_wide_integers_decimals_and_dates_are_carried(opened, database):
    path = database(
        "CREATE TABLE t AS SELECT i % 2 AS a, (i % 3)::UBIGINT * 6000000000000000000 AS u, (i % 3)::HUGEINT AS h,"
        " (i % 3)::DECIMAL(9, 2) / 4 AS d, DATE '2020-01-01' + (i % 3)::INT AS day FROM range(30) r(i)"
    )
    with opened(path, qi("a", 0, 1), *(carried(n) for n in ("u", "h", "d", "day"))) as original:
        assert original.types["u"] == "DECIMAL(20,0)"
        assert original.types["h"] == "DECIMAL(38,0)"
        assert distinct(original) == 6
        assert len(original.content()) == 32


def test_a_collation_does_not_merge_categories(opened, database):
    path = database(
        "CREATE TABLE t (a VARCHAR COLLATE NOCASE, c VARCHAR COLLATE NOCASE)",
        "INSERT INTO t VALUES ('x', 'p'), ('X', 'P'), ('x', 'p'), ('X', 'P')",
    )
    with opened(path, qi("a"), carried("c")) as original:
        assert original.policy.attributes["a"].domain == ("X", "x")
        assert original.counts("a").n.tolist() == [2, 2]
        assert distinct(original) == 2
        assert [r["c"] for b in original.rows("a", "c") for r in b.to_pylist()] == ["P", "P", "p", "p"]


@pytest.mark.adult
def test_adult_is_read_as_it_is(adult_csv, opened):
    race = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
    used = {"education", "marital_status", "sex", "race", "workclass"}
    names = gzip.decompress(adult_csv.read_bytes()).decode().partition("\n")[0].split(",")
    attributes = [
        dropped(n)
        if n not in used
        else qi(n, *race)
        if n == "race"
        else qi(n, "Male", "Female")
        if n == "sex"
        else qi(n)
        for n in names
    ]
    with opened(adult_csv, *attributes) as original:
        assert original.records == 45_222
        assert original.counts("sex").n.tolist() == [30_527, 14_695]
        assert [
            len(original.policy.attributes[n].domain or ()) for n in ("education", "marital_status", "workclass")
        ] == [
            16,
            7,
            7,
        ]


@pytest.mark.parametrize("name", ["INTERVAL", "BLOB", "NONSENSE", "INTEGER) AS x; DROP TABLE t; --"])
def test_a_column_of_a_type_that_no_release_has_is_refused(name):
    with pytest.raises(DataError, match="RR339: a released column cannot be of type"):
        arrow_type(name)


def test_values_are_spelled_as_the_engine_reads_them():
    values = [None, True, 3, 0.1, math.inf, "it's"]
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {', '.join(map(literal, values))}").fetchone()
    assert list(found or ()) == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CSV Error on Line: 7\nValue with unterminated quote found.", "'t', line 7: a quoted field does not end"),
        ("CSV Error on Line: 7\nnothing known", "'t', line 7: the row cannot be read as CSV"),
    ],
)
def test_a_row_that_is_no_csv_is_named_by_its_line(text, said):
    (problem,) = translate_error("'t'", duckdb.InvalidInputException(text)).problems
    assert (problem.code, problem.message) == ("RR303", said)
