"""One record of each unit: the same as by an enumeration in Python, in any order of rows and from any engine."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.declarations import Role
from rrpolicy.errors import DataError
from rrpolicy.frozen import replace
from rrpolicy.policy.model import PLAIN, Policy, Reading, Selection, SourceSettings
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.memory.copied_records import MemorySource
from rrpolicy.source.opening import CountsSource, open_original, open_table_snapshot
from rrpolicy.testing import policy_of

from .conftest import carried, dropped

UNITS = st.sampled_from(["a", "b", "A", "c"])
WHOLE = st.integers(-2, 2)
ORDERS = {
    "integers": (pa.int64(), WHOLE),
    "doubles": (pa.float64(), st.sampled_from([-1.5, 0.0, -0.0, 2.0, float("inf")])),
    "dates": (pa.date32(), st.sampled_from([dt.date(2026, 1, d) for d in (2, 10, 11)])),
    "texts": (pa.string(), st.sampled_from(["9", "10", "010", "x", "X", "", "ä"])),
    "booleans": (pa.bool_(), st.booleans()),
}
TEXTS = st.none() | st.sampled_from(["9", "10", "9.0", "z", "Z", ""])


def key(value: Any) -> tuple[Any, ...]:
    """Return a key that orders values: numbers that texts spell, then texts by code points; None last."""
    if value is None:
        return (2, 0.0, "")
    if isinstance(value, dt.date):
        return (0, value.toordinal(), "")
    if not isinstance(value, str):
        return (0, value, "")
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)


def enumerated(rows: Sequence[Mapping[str, Any]], *, last: bool) -> list[tuple[Any, ...]]:
    """Return one row of each unit by comparing all of them."""
    found = []
    for unit in sorted({row["unit"] for row in rows}):
        own = [row for row in rows if row["unit"] == unit]
        keys = [key(row["by"]) for row in own]
        best = max(keys) if last else min(keys)
        tied = [row for row, k in zip(own, keys, strict=True) if k == best]
        found.append(min(tied, key=lambda row: (key(row["n"]), key(row["t"]))))
    return sorted((tuple(row[c] for c in ("unit", "by", "n", "t")) for row in found), key=repr)


@pytest.mark.parametrize("kind", ORDERS)
@given(data=st.data(), last=st.booleans())
def test_the_selection_is_that_of_an_enumeration(kind: str, data: st.DataObject, *, last: bool) -> None:
    stored, values = ORDERS[kind]
    row = st.fixed_dictionaries({"unit": UNITS, "by": values, "n": st.none() | WHOLE, "t": TEXTS})
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    schema = pa.schema([("t", pa.string()), ("by", stored), ("unit", pa.string()), ("n", pa.int64())])
    table = pa.Table.from_pylist(rows, schema)
    reading = Reading(selection=Selection("unit", "by", last=last))

    with (
        TemporaryDirectory() as scratch,
        MemorySource(table, "Arrow table").open("", None, Path(scratch), reading) as s,
    ):
        assert (s.records(), s.selected_from) == (len({r["unit"] for r in rows}), len(rows))
        columns = ["unit", "by", "n", "t"]
        read = s.rows([], columns).read_all().to_pylist()
    assert sorted((tuple(r[c] for c in columns) for r in read), key=repr) == sorted(
        (
            tuple(0.0 if v == 0 and kind == "doubles" and i == 1 else v for i, v in enumerate(r))
            for r in enumerated(rows, last=last)
        ),
        key=repr,
    )


def visits(seed: int = 0) -> pa.Table:
    rng = random.Random(1)
    rows = [
        {
            "who": f"p{rng.randrange(60)}",
            "seen": dt.date(2026, 1, rng.randint(1, 6)),
            "ward": rng.choice(["9", "10", "2b"]),
            "dose": rng.choice([0.5, 1.0, 1.5, None]),
            "sign": rng.choice(["x", "y", None]),
        }
        for _ in range(300)
    ]
    random.Random(seed).shuffle(rows)
    names = list(rows[0])
    random.Random(seed).shuffle(names)
    schema = {"who": pa.string(), "seen": pa.date32(), "ward": pa.string(), "dose": pa.float64(), "sign": pa.string()}
    return pa.Table.from_pylist(rows, pa.schema([(n, schema[n]) for n in names]))


def people(uri: str, **keys: Any) -> Policy:
    source = SourceSettings(uri, **({"one_record_per_unit": "first by seen"} | keys))
    return policy_of(
        [
            dropped("who"),
            dropped("seen", Role.EXCLUDED),
            carried("ward", assume_unlinkable="a test"),
            carried("dose", nulls="keep"),
            carried("sign", nulls="keep"),
        ],
        source=source,
    )


def content(policy: Policy, scratch: Path, table: pa.Table | None = None) -> tuple[bytes, int, Any]:
    source = DuckDBSource()
    engines: dict[str, Any] = dict.fromkeys(source.schemes, source)
    engines["memory"] = MemorySource(table, "Arrow table")
    with open_original(policy, engines, scratch) as original:
        return original.content(), original.records, original.units


@pytest.mark.parametrize("which", ["first by seen", "last by seen", "first by dose2"])
def test_every_engine_and_order_of_rows_gives_the_same_records(tmp_path: Path, which: str) -> None:
    found = set()
    for seed in range(4):
        table = visits(seed)
        filled = table.append_column("dose2", table.column("dose").fill_null(0.0))
        pq.write_table(filled, tmp_path / f"{seed}.parquet")
        pacsv.write_csv(filled, tmp_path / f"{seed}.csv")
        with duckdb.connect(str(tmp_path / f"{seed}.duckdb")) as base:
            base.execute("CREATE TABLE visits AS SELECT * FROM filled")
        for uri in (f"{tmp_path}/{seed}.parquet", f"{tmp_path}/{seed}.csv", f"{tmp_path}/{seed}.duckdb", "memory:x"):
            policy = people(uri, one_record_per_unit=which, other_columns="excluded")
            digest, records, units = content(policy, tmp_path / "scratch", filled)
            found.add((digest, records, tuple(units.sizes.items())))
    ((_, records, sizes),) = found
    assert sizes == ((1, records),)


def refusal(policy: Policy, tmp_path: Path, table: pa.Table) -> Any:
    with pytest.raises(DataError) as caught:
        content(policy, tmp_path / "scratch", table)
    (problem,) = caught.value.problems
    return problem


def test_records_that_cannot_be_ordered_or_told_apart_are_refused_with_how_many(tmp_path: Path) -> None:
    table = visits()
    found = refusal(people("memory:x", one_record_per_unit="first by sign"), tmp_path, table)
    missing = table.column("sign").null_count
    assert (found.code, f"{missing} records have no 'sign'" in found.message) == ("RR330", True)
    found = refusal(people("memory:x", one_record_per_unit="first by sen"), tmp_path, table)
    assert (found.code, found.hint) == ("RR311", "did you mean 'seen'?")
    found = refusal(people("memory:x", unit="whom", other_columns="excluded"), tmp_path, table)
    assert (found.code, found.hint) == ("RR325", "did you mean 'who'?")
    nobody = table.set_column(
        table.schema.get_field_index("who"), "who", pa.array([None, None, *table.column("who").to_pylist()[2:]])
    )
    found = refusal(people("memory:x"), tmp_path, nobody)
    assert (found.code, found.message.startswith("2 records have no 'who'")) == ("RR324", True)
    assert refusal(people("memory:x", min_rows=100), tmp_path, table).code == "RR318"


def test_codes_of_missing_values_order_nothing(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,seen,ward,dose,sign\na,3,x,1,y\na,-9,z,1,y\nb,1,x,1,y\n")
    assert content(people(str(path)), tmp_path / "scratch")[1] == 2
    found = refusal(people(str(path), missing=(-9,)), tmp_path, visits())
    assert (found.code, "1 record has no 'seen'" in found.message) == ("RR330", True)


def test_counts_and_engines_that_read_every_record_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    pq.write_table(visits().append_column("n", pa.array([1] * 300)), path)
    reading = Reading(selection=Selection("who", "seen"))
    with (
        pytest.raises(DataError, match="RR330"),
        CountsSource(DuckDBSource(), "n").open(str(path), None, tmp_path, reading),
    ):
        pass

    class Deaf:
        schemes = (".parquet",)

        def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Any:
            return DuckDBSource().open(uri, table, scratch, replace(reading, selection=None))

    with pytest.raises(DataError, match="RR330"), open_table_snapshot(Deaf(), str(path), None, tmp_path, reading):
        pass
