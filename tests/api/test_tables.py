"""Tables in memory are read as their files would be, told apart by what they hold, and cannot change while they are read."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.discovery import load_registry
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.memory.input_table import input_table
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.table_risk.measure import class_models
from rrpolicy.verb_options import ClassLimits

from .conftest import FORMS, POLICY, people


def opened(table: Any, scratch: Path) -> dict[str, tuple[str, list[Any]]]:
    """Return each column's type and its values with how often each stands, as the engine reads a table."""
    found = input_table(table)
    assert found.uri is not None
    source = next(iter(found.engines.values()), DuckDBSource())
    scratch.mkdir(exist_ok=True)
    with source.open(found.uri, None, scratch) as snapshot:
        kinds = snapshot.columns()
        nested = {name for name, kind in kinds.items() if kind.startswith("STRUCT")}  # which no release carries
        values = {name: snapshot.tally([], [name]).read_all().to_pylist() for name in kinds if name not in nested}
        return {name: (kind, values.get(name, [])) for name, kind in kinds.items()}


@pytest.mark.parametrize("form", [pytest.param(FORMS[0], marks=pytest.mark.slow), *FORMS[1:]])
def test_every_form_of_a_table_verifies_the_release_of_every_other(
    folder: Path, held: Callable[[str], Any], form: str
) -> None:
    """What verifies is a digest of content under the key: to agree with one form, both ways, is to agree with all."""
    released = rrpolicy.release(folder / "policy.toml", folder / "bundle", source=held(form), key=folder / "key")

    for other in FORMS if form == FORMS[0] else (FORMS[0], form):
        verified = rrpolicy.verify(released.bundle, source=held(other), key=released.key)
        assert verified.passed, (other, verified.problems)
    record = (released.audit / "audit.json").read_text()
    assert json.loads(record)["source_given_as"] == ("uri" if form == "path" else form)
    everything = b"".join(p.read_bytes() for p in released.bundle.rglob("*") if p.is_file())
    assert b"SECRET" not in everything
    assert str(folder).encode() not in everything
    assert b" at 0x" not in everything


@pytest.mark.parametrize("form", FORMS)
def test_drafts_and_measures_are_those_of_the_file(folder: Path, held: Callable[[str], Any], form: str) -> None:
    def measured(table: Any) -> dict[str, object]:
        found = rrpolicy.check_table(table, qi=["sex", "age"], sensitive=["region"]).to_json()
        return {key: value for key, value in found.items() if key != "table"}

    def drafted(table: Any) -> list[str]:
        lines = rrpolicy.init(table).text.splitlines()
        return [line for line in lines if not line.startswith(("uri =", "name ="))]

    assert measured(held(form)) == measured(held("uri"))
    assert drafted(held(form)) == drafted(held("uri"))


def test_an_index_with_a_name_is_a_column_as_in_the_files_that_pandas_writes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]})
    for indexed in (
        frame.set_index("b"),
        frame.set_index(["b", "a"]),
        frame.set_index(["b", "a"]).set_index("c", append=True),
    ):
        indexed.to_parquet(tmp_path / "t.parquet")
        of_file, of_frame = (opened(t, tmp_path / "scratch") for t in (str(tmp_path / "t.parquet"), indexed))
        assert of_frame == of_file
        assert set(of_frame) == {"a", "b", "c"}
        assert indexed.index.names[0] == "b"  # the caller's frame is as it was
    with pytest.raises(rrpolicy.DataError, match="RR308"):
        opened(frame.set_index(pd.Index([5, 6], name="A")), tmp_path / "scratch")
    assert set(opened(frame, tmp_path / "scratch")) == {"a", "b", "c"}


@pytest.mark.parametrize(
    "uri", ["people.parquet", "parts/*.parquet", "counts:n:counted.parquet", "parquet:people.data"]
)
def test_a_loaded_policy_reads_its_own_table_wherever_it_is_released_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    """Another table of the same name lies in the working directory."""
    for folder, frame in (("there", people()), ("here", people()[:50])):
        (tmp_path / folder / "parts").mkdir(parents=True)
        frame.to_parquet(tmp_path / folder / "people.parquet", index=False)
        frame.to_parquet(tmp_path / folder / "parts" / "a.parquet", index=False)
        frame.to_parquet(tmp_path / folder / "people.data", index=False)
        frame.assign(n=1).to_parquet(tmp_path / folder / "counted.parquet", index=False)
    policy = Path("..") / "there" / "policy.toml"
    monkeypatch.chdir(tmp_path / "here")
    policy.write_text(POLICY.replace("people.parquet", uri))
    loaded = rrpolicy.load_policy(policy)
    planned = rrpolicy.plan(loaded)

    for made, what in enumerate((policy, loaded, planned, rrpolicy.plan(policy))):
        released = rrpolicy.release(what, f"bundle{made}")
        assert json.loads((released.public / "release.json").read_text())["records"] == len(people())
        assert rrpolicy.verify(released.bundle, source=tmp_path / "there" / "people.parquet").passed
    assert rrpolicy.check(loaded, source=True).records == len(people())
    for made, other in enumerate(("people.parquet", "parquet:people.data", "counts:n:parquet:counted.parquet")):
        drift = rrpolicy.release(loaded, f"other{made}", source=other)
        assert json.loads((drift.public / "release.json").read_text())["records"] == 50


def test_another_table_fails(folder: Path) -> None:
    released = rrpolicy.release(folder / "policy.toml", folder / "bundle", source=people(), key=folder / "key")
    swapped = people().assign(sex=people()["sex"].to_numpy()[::-1])
    found = {p.code for p in rrpolicy.verify(released.bundle, source=swapped, key=released.key).problems}
    assert found >= {"RR120", "RR126"}  # how columns go together in it is not what the report says either
    assert "RR124" in {p.code for p in rrpolicy.verify(released.bundle, source=people()[1:]).problems}
    men = people().assign(sex="M")
    assert not rrpolicy.verify(released.bundle, source=men).passed


def test_a_frame_that_changed_after_the_plan_is_noticed(folder: Path) -> None:
    frame = people()
    planned = rrpolicy.plan(folder / "policy.toml", frame, out=folder / "plan.json")
    frame.loc[frame.index[7], "age"] += 45.0
    for what in (planned, folder / "plan.json"):
        with pytest.raises(rrpolicy.RefusedError, match=r"RR401.*table has changed"):
            rrpolicy.release(what, folder / "bundle", source=frame)
    assert not (folder / "bundle").exists()
    assert rrpolicy.release(planned, folder / "bundle", source=people()).digest


@pytest.mark.parametrize("kind", ["numpy", "view"])
def test_a_frame_that_changes_during_a_release_is_released_as_it_was(folder: Path, kind: str) -> None:
    frame = people()
    if kind == "view":  # Arrow over numpy's memory, which its owner can still write to
        ages = frame["age"].to_numpy().copy()
        table: Any = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.set_column(table.schema.get_field_index("age"), "age", pa.array(ages))
    else:
        table = frame

    def meanwhile(_what: str, share: float) -> None:
        if share > 0:
            if kind == "view":
                ages[:] = 70.0
            else:
                frame["age"] = 70.0

    released = rrpolicy.release(
        folder / "policy.toml", folder / "bundle", source=table, key=folder / "key", progress=meanwhile
    )

    assert rrpolicy.verify(released.bundle, source=people(), key=released.key).passed


def test_a_table_in_memory_does_not_go_through_the_disk(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(2_000_000) % 1000, "y": [str(i % 5000) for i in range(2_000_000)]})
    found = input_table(table)
    with next(iter(found.engines.values())).open(found.uri or "", None, tmp_path) as snapshot:
        assert snapshot.records() == 2_000_000
        assert sum(batch.num_rows for batch in snapshot.tally([], ["x"])) == 1000
        assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


DAY = dt.date(2026, 1, 31)
NOON = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001
TYPES: dict[str, pa.Array] = {
    "null": pa.nulls(3),
    "bool": pa.array([True, False, None]),
    "int8": pa.array([1, 2, None], pa.int8()),
    "uint64": pa.array([1, 2**63, None], pa.uint64()),
    "half": pa.array([1.5, 2, None], pa.float16()),
    "float": pa.array([1.5, 2, None], pa.float32()),
    "double": pa.array([1.5, float("nan"), None]),
    "decimal": pa.array([decimal.Decimal("1.25"), None, None]),
    "text": pa.array(["a", "b", None]),
    "large text": pa.array(["a", "b", None], pa.large_string()),
    "text view": pa.array(["a", "b", None], pa.string_view()),
    "dictionary of text": pa.array(["b", "a", None]).dictionary_encode(),
    "dictionary of numbers": pa.array([30, 4, None]).dictionary_encode(),
    "date": pa.array([DAY, None, None]),
    "date64": pa.array([DAY, None, None], pa.date64()),
    "time": pa.array([NOON.time(), None, None]),
    "seconds": pa.array([NOON, None, None], pa.timestamp("s")),
    "milliseconds": pa.array([NOON, None, None], pa.timestamp("ms")),
    "microseconds": pa.array([NOON, None, None], pa.timestamp("us")),
    "nanoseconds": pa.array([NOON, None, None], pa.timestamp("ns")),
    "zoned": pa.array([NOON, None, None], pa.timestamp("us", "UTC")),
    "binary": pa.array([b"a", b"b", None]),
    "list": pa.array([[1, 2], [], None]),
    "struct": pa.array([{"a": 1}, {"a": 2}, None]),
    "uuid": pa.array([b"a" * 16, b"b" * 16, None], pa.uuid()),
}


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_read_as_parquet_of_it_is(tmp_path: Path, kind: str) -> None:
    table = pa.table({"x": TYPES[kind]})
    pq.write_table(table, tmp_path / "table.parquet")
    assert opened(table, tmp_path / "scratch") == opened(tmp_path / "table.parquet", tmp_path / "scratch")


@pytest.mark.parametrize(
    "dtype", ["category", "object", "string", "Int64", "float64", "boolean", "datetime64[ns]", "datetime64[s]"]
)
def test_missing_values_of_pandas_are_missing(tmp_path: Path, dtype: str) -> None:
    values: dict[str, list[Any]] = {"boolean": [True, None, False], "Int64": [1, None, 2], "float64": [1.5, np.nan, 2]}
    moments = [pd.Timestamp("2026-01-31"), pd.NaT, pd.Timestamp("2026-02-28")]
    frame = pd.DataFrame(
        {"x": pd.Series(moments if "time" in dtype else values.get(dtype, ["b", np.nan, "a"])).astype(dtype)}
    )
    frame.to_parquet(tmp_path / "table.parquet")
    found = opened(frame, tmp_path / "scratch")
    assert found == opened(tmp_path / "table.parquet", tmp_path / "scratch")
    assert [row for row in found["x"][1] if row["x"] is None] == [{"x": None, MULTIPLICITY: 1}]


def test_categories_of_polars_are_their_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"x": ["b", "a", None], "y": ["a", "b", "a"]}, schema={"x": pl.Categorical, "y": pl.Enum(["a", "b", "c"])}
    )
    frame.write_csv(tmp_path / "table.csv")
    found = opened(frame, tmp_path / "scratch")
    assert found == opened(tmp_path / "table.csv", tmp_path / "scratch")


REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "values of several kinds": (lambda: pd.DataFrame({"fine": [1, 2], "odd": [1, "SECRET"]}), "RR344", "'odd'"),
    "a type of pandas": (
        lambda: pd.DataFrame({"odd": pd.period_range("2020-01", periods=2, freq="M")}),
        "RR344",
        "'odd'",
    ),
    "Python objects": (lambda: pl.DataFrame({"odd": [object()]}, schema={"odd": pl.Object}), "RR344", "'odd'"),
    "long decimals": (
        lambda: pa.table({"odd": pa.array([decimal.Decimal(1)], pa.decimal256(50, 2))}),
        "RR344",
        "'odd'",
    ),
    "no columns": (pd.DataFrame, "RR344", "no columns"),
    "a name twice": (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "RR308", "one name"),
    "a name in capitals": (lambda: pa.table({"a": [1], "A": [2]}), "RR308", "one name"),
    "no name": (lambda: pl.DataFrame({"": [1]}), "RR308", "without a name"),
    "a stream": (lambda: pa.table({"x": [1]}).to_reader(), "RR345", "only once"),
    "a series": (lambda: pl.Series([1, 2]), "RR344", "cannot be read"),
    "a query to come": (lambda: pl.LazyFrame({"x": [1]}), "RR250", "collect()"),
    "a list": (lambda: [["SECRET"]], "RR250", "list is not a table"),
    "a number": (lambda: 7, "RR250", "int is not a table"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_read_is_refused_by_name_and_without_values(folder: Path, what: str) -> None:
    make, code, told = REFUSED[what]
    calls: list[Callable[[Any], Any]] = [
        lambda table: rrpolicy.plan(folder / "policy.toml", table),
        lambda table: rrpolicy.release(folder / "policy.toml", folder / "bundle", source=table),
        lambda table: rrpolicy.check_table(table, qi=["x"]),
        rrpolicy.init,
    ]
    for call in calls:
        with pytest.raises(rrpolicy.RRPolicyError) as raised:
            call(make())
        (problem,) = raised.value.problems
        assert problem.code == code
        assert told in f"{problem.message} {problem.hint}"
        assert "SECRET" not in str(raised.value) + repr(raised.value.__cause__)
        assert raised.value.exit_status == int(code[2])
    assert not (folder / "bundle").exists()


def test_relations_that_fail_are_refused_without_values(folder: Path) -> None:
    connection = duckdb.connect()
    failing = connection.sql("SELECT CAST(x AS INTEGER) AS x FROM (VALUES ('1'), ('SECRET')) t(x)")
    for close in (False, True):
        if close:
            connection.close()
        with pytest.raises(rrpolicy.DataError, match="RR344") as raised:
            rrpolicy.plan(folder / "policy.toml", failing)
        assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("column", ["region", "hours"])
def test_nested_columns_are_refused_where_they_would_be_released(folder: Path, column: str) -> None:
    frame = people().assign(**{column: [["a", "b"]] * len(people())})
    with pytest.raises(rrpolicy.DataError, match=column) as raised:
        rrpolicy.plan(folder / "policy.toml", frame)
    assert {p.code for p in raised.value.problems} <= {"RR312", "RR321"}
    dropped = people().assign(person_id=[{"a": i} for i in range(len(people()))])
    assert rrpolicy.plan(folder / "policy.toml", dropped).passed


def test_a_policy_for_tables_in_memory_asks_for_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rrpolicy.cli.main import main

    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace("people.parquet", "memory:"))
    assert rrpolicy.check(policy).passed
    assert rrpolicy.plan(policy, people()).passed
    with pytest.raises(rrpolicy.PolicyError, match="RR294"):
        rrpolicy.plan(policy)
    assert main(["plan", str(policy)]) == 2
    assert "policy.toml:9:" in capsys.readouterr().err


def test_a_policy_that_names_a_database_takes_a_table_in_memory(folder: Path) -> None:
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace('"people.parquet"', '"people.duckdb"\ntable = "people"'))
    released = rrpolicy.release(policy, folder / "bundle", source=people())
    assert rrpolicy.verify(released.bundle, source=people()).passed


def test_the_table_that_parameters_are_chosen_on_may_be_in_memory(folder: Path) -> None:
    other = people().assign(region="north")
    other.to_parquet(folder / "other.parquet", index=False)
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace('name = "pram"', 'name = "pram"\nplan_on = "other.parquet"'))
    released = rrpolicy.release(policy, folder / "bundle", source=people(), key=folder / "key")
    verified = rrpolicy.verify(released.bundle, source=people(), key=released.key, plan_on=other)
    assert verified.passed
    assert not verified.undecided
    assert "RR135" in {p.code for p in rrpolicy.verify(released.bundle, source=people(), plan_on=people()[5:]).problems}


def test_the_thresholds_of_check_table_are_the_options_that_class_models_declare():
    registry = load_registry()
    declared = {
        model.called.get(option, option)
        for name, model in class_models(registry).items()
        if model.asks
        for option in registry.privacy_models[name].options.model_fields
    }

    assert {*ClassLimits.__annotations__, "sampling_fraction"} == declared - {"sensitive"}
