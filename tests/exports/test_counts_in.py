"""A table of distinct rows with counts is a source like any other, and gives the release that its records give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.privacy.units import UNDECIDED

from .conftest import (
    Case,
    counts_of,
    people,
    public_bytes,
)

EPSILON = '[[privacy]]\nmodel = "local-dp"\nepsilon = 6\nscope = "attribute"\n'
DIVERSE = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2\n'
MECHANISMS = {
    "pram": EPSILON + '[mechanism]\nname = "pram"',
    "rr": '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "4/5"\n[mechanism]\nname = "rr-both"',
    "addition": DIVERSE + '[mechanism]\nname = "sensitive-addition"',
    "anatomy": DIVERSE + '[mechanism]\nname = "anatomy"',
    "full-domain": '[[privacy]]\nmodel = "k-anonymity"\nk = 3\n[mechanism]\nname = "l-diversity"\n'
    'algorithm = "full-domain"\nsuppression = "1/2"',
    "tp": DIVERSE.replace("l = 2", 'l = "3/2"') + '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"',
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "carried"),
    [
        *(("pram", False), ("pram", True), ("rr", False), ("addition", True)),
        *(("anatomy", False), ("anatomy", True), ("full-domain", True), ("tp", False)),
    ],
)
def test_a_release_is_the_same_from_records_and_from_counts(case: Case, mechanism: str, *, carried: bool) -> None:
    policy = case.policy(MECHANISMS[mechanism], carried=carried)
    counts = rrpolicy.counted(case.path("hours.parquet" if carried else "counts.parquet"))
    of_rows = rrpolicy.release(policy, case.path("rows"), key=case.path("key"))

    of_counts = rrpolicy.release(policy, case.path("cells"), source=counts, key=case.path("key"))

    assert public_bytes(of_counts.bundle) == public_bytes(of_rows.bundle)
    tested = [json.loads((b.audit / "findings.json").read_text())["tested"] for b in (of_rows, of_counts)]
    assert tested == [True, False]
    for bundle in (of_rows.bundle, of_counts.bundle):
        tables = case.path("people.parquet"), counts
        one, other = (rrpolicy.verify(bundle, key=case.path("key"), source=table) for table in tables)
        assert (one.passed, one.problems, one.reproduced == other.reproduced) == (True, (), True)
        assert (other.passed, other.problems) == (True, ())
        assert [u for u in one.undecided if u != UNDECIDED] == [u for u in other.undecided if u != UNDECIDED]
        assert (UNDECIDED in other.undecided, UNDECIDED in one.undecided) == (True, False)


def test_a_policy_may_say_itself_that_its_table_holds_counts(case: Case) -> None:
    rows = case.policy(MECHANISMS["pram"])
    counts = case.policy(MECHANISMS["pram"], source='multiplicity = "n"', name="counts.toml")
    counts.write_text(counts.read_text().replace("people.parquet", "counts.parquet"))

    assert rrpolicy.load_policy(rows).digest() == rrpolicy.load_policy(counts).digest()
    of_rows = rrpolicy.release(rows, case.path("rows"), key=case.path("key"))
    of_counts = rrpolicy.release(counts, case.path("cells"), key=case.path("key"))
    assert public_bytes(of_rows.bundle) == public_bytes(of_counts.bundle)
    again = rrpolicy.release(counts, case.path("again"), source=case.path("people.parquet"), key=case.path("key"))
    assert public_bytes(again.bundle) == public_bytes(of_counts.bundle)
    planned = rrpolicy.plan(counts, out=case.path("plan.json"))
    assert rrpolicy.release(case.path("plan.json"), case.path("planned")).digest
    assert planned.plan.records == 700


def forms(folder: Path, counts: pa.Table) -> dict[str, Any]:
    """Return counts in every form in which a table may be handed over."""
    pq.write_table(counts, folder / "form.parquet")
    pa.csv.write_csv(counts, folder / "form.csv")
    with duckdb.connect(str(folder / "form.duckdb")) as connection:
        connection.register("given", counts)
        connection.execute("CREATE TABLE form AS SELECT * REPLACE (n::HUGEINT AS n) FROM given")
    return {
        **{ending: rrpolicy.counted(folder / f"form.{ending}") for ending in ("parquet", "csv", "duckdb")},
        "uri": f"counts:n:{folder / 'form.parquet'}",
        "pandas": rrpolicy.counted(counts.to_pandas()),
        "arrow": rrpolicy.counted(counts.rename_columns([*counts.column_names[:-1], "how: many %"]), "how: many %"),
    }


@pytest.mark.slow
def test_counts_may_come_in_every_form_in_parts_and_with_zeros(case: Case) -> None:
    counts = pq.read_table(case.path("counts.parquet"))
    once = counts.set_column(4, "n", pa.array([1] * counts.num_rows))
    rest = counts.set_column(4, "n", pa.array([n - 1 for n in counts["n"].to_pylist()]))
    strange = pa.table({"sex": ["X"], "age": [5], "grade": [1], "region": ["north"], "n": [0]}, schema=counts.schema)
    policy = case.policy(MECHANISMS["pram"])
    expected = public_bytes(rrpolicy.release(policy, case.path("rows"), key=case.path("key")).bundle)

    for name, form in forms(case.folder, pa.concat_tables([rest, strange, once])).items():
        made = rrpolicy.release(policy, case.path(name), source=form, key=case.path("key"))
        assert public_bytes(made.bundle) == expected, name
        told = json.loads((made.audit / "audit.json").read_text())["source_given_as"]
        assert told == {"pandas": "pandas DataFrame, counts", "arrow": "Arrow table, counts"}.get(name, "uri, counts")


@pytest.mark.parametrize(
    ("column", "code", "said"),
    [
        (pa.array([1, None, None]), "RR348", "2 rows have no count (null, or NaN) in 'n'"),
        (pa.array([1, 2, -5]), "RR348", "1 row has a count below 0 in 'n'"),
        (pa.array([1.0, 2.5, 3.0]), "RR348", "1 row has a count that is not whole in 'n'"),
        (pa.array([1.0, float("nan"), 3.0]), "RR348", "1 row has no count"),
        (pa.array([1.0, float("inf"), 3.0]), "RR348", "1 row has a count beyond 10^10 in 'n'"),
        (pa.array([1, 10**10 + 1, 3]), "RR348", "1 row has a count beyond 10^10 in 'n'"),
        (pa.array([2**62, 2**62, 2**62]), "RR348", "3 rows have a count beyond 10^10"),
        (pa.array([10**10, 1, 1]), "RR342", "10,000,000,002 records"),
        (pa.array(["1", "2", "3"]), "RR348", "the column of counts 'n' is VARCHAR"),
        (pa.array([True, True, False]), "RR348", "the column of counts 'n' is BOOLEAN"),
        (pa.array([0, 0, 0]), "RR317", "the table has no records"),
    ],
)
@pytest.mark.parametrize("form", ["file", "memory"])
def test_what_counts_nothing_is_refused(case: Case, column: pa.Array, code: str, said: str, form: str) -> None:
    counts = pq.read_table(case.path("counts.parquet")).slice(0, 3).set_column(4, "n", column)
    pq.write_table(counts, case.path("bad.parquet"))

    table = rrpolicy.counted(case.path("bad.parquet") if form == "file" else counts)
    with pytest.raises(rrpolicy.DataError) as caught:
        rrpolicy.release(case.policy(MECHANISMS["pram"]), case.path("bundle"), source=table)

    (problem,) = caught.value.problems
    assert problem.code == code
    assert said in problem.message
    assert not case.path("bundle").exists()


def test_numbers_that_are_whole_count_whatever_their_type(case: Case) -> None:
    counts = pq.read_table(case.path("counts.parquet"))
    policy = case.policy(MECHANISMS["pram"])
    for kind in (pa.float64(), pa.decimal128(21, 2), pa.uint8(), pa.int16()):
        table = counts.set_column(4, "n", counts["n"].cast(kind))
        assert rrpolicy.plan(policy, rrpolicy.counted(table)).plan.records == 700


def test_a_column_of_counts_has_to_be_there_and_to_be_read(case: Case, tmp_path: Path) -> None:
    policy = case.policy(MECHANISMS["pram"])
    with pytest.raises(rrpolicy.DataError, match=r"RR347.*there is no column 'm'"):
        rrpolicy.plan(policy, rrpolicy.counted(case.path("counts.parquet"), "m"))
    with pytest.raises(rrpolicy.DataError, match=r"RR347.*there is no column 'n'"):
        rrpolicy.plan(policy, rrpolicy.counted(case.path("people.parquet")))
    with pytest.raises(rrpolicy.DataError, match="RR310.*'n'"):
        rrpolicy.plan(policy, case.path("counts.parquet"))  # a table of records, as far as anybody said
    named = case.policy(MECHANISMS["pram"], source='multiplicity = "m"', name="named.toml")
    named.write_text(named.read_text().replace("people.parquet", "counts.parquet"))
    with pytest.raises(rrpolicy.DataError, match="RR347"):
        rrpolicy.plan(named)


def test_an_engine_that_reads_no_counts_is_told_apart(case: Case) -> None:
    from contextlib import contextmanager

    from rrpolicy.errors import DataError
    from rrpolicy.policy.model import PLAIN
    from rrpolicy.source.duckdb.source import DuckDBSource
    from rrpolicy.source.opening import engine_for_uri, open_table_snapshot

    class Older:
        """An engine of before there were counts: what it does not know, it does not look at."""

        schemes = (".older",)

        @contextmanager
        def open(self, uri: str, table: str | None, scratch: Path, reading: Any = PLAIN) -> Any:
            with DuckDBSource().open(f"parquet:{case.path('counts.parquet')}", table, scratch) as snapshot:
                yield snapshot

    source, uri = engine_for_uri("counts:n:some.older", {".older": Older()}, case.folder)
    with (
        pytest.raises(DataError, match="RR347.*reads records alone"),
        open_table_snapshot(source, uri, None, case.folder, PLAIN),
    ):
        pass


def test_dropped_columns_may_be_missing_in_counts_and_released_ones_may_not(case: Case) -> None:
    policy = case.policy(MECHANISMS["pram"])
    with pytest.raises(rrpolicy.DataError, match="RR311.*'sex'"):
        rrpolicy.plan(policy, rrpolicy.counted(counts_of(people(), "age", "grade", "region")))
    with pytest.raises(rrpolicy.DataError, match="RR311.*'person_id'"):
        rrpolicy.plan(policy, people().drop_columns(["person_id"]))


def test_counts_by_person_are_held_against_how_many_records_one_may_have(case: Case) -> None:
    policy = case.policy(MECHANISMS["pram"])
    table = people()
    twice = pa.concat_tables([table, table.slice(0, 5)])
    by_person = ["person_id", "sex", "age", "grade", "region"]

    found = rrpolicy.plan(policy, rrpolicy.counted(counts_of(table, *by_person)))
    assert found.outlook.assessment.tested
    with pytest.raises(rrpolicy.DataError, match=r"RR323.*distinguishes 700 units in 705 records: 5 exceed 1 a unit"):
        rrpolicy.plan(policy, rrpolicy.counted(counts_of(twice, *by_person)))


def test_a_series_needs_to_know_whose_each_record_is(case: Case) -> None:
    rest = MECHANISMS["pram"] + '\n[release]\nseries = "panel"\n[ledger]\nfile = "releases.ledger"\n'
    policy = case.policy(rest, source='population = "people"')
    rrpolicy.init_ledger(case.path("releases.ledger"))

    with pytest.raises(rrpolicy.DataError, match=r"RR349.*the counts do not contain 'person_id'"):
        rrpolicy.release(policy, case.path("bundle"), source=rrpolicy.counted(case.path("counts.parquet")))
    by_person = rrpolicy.counted(counts_of(people(), "person_id", "sex", "age", "grade", "region"))
    assert rrpolicy.plan(policy, by_person).outlook.assessment.tested


def test_what_measures_and_drafts_says_the_same_of_records_and_of_counts(case: Case) -> None:
    rows, counts = people().drop_columns(["person_id", "note", "hours"]), pq.read_table(case.path("counts.parquet"))

    def measured(table: Any) -> dict[str, Any]:
        found = rrpolicy.check_table(table, qi=["sex", "age"], sensitive=["region"]).to_json()
        return {key: value for key, value in found.items() if key != "table"}

    def drafted(table: Any) -> list[str]:
        return [
            line for line in rrpolicy.init(table).text.splitlines() if not line.startswith(("uri", "name", "multi"))
        ]

    assert measured(rrpolicy.counted(counts)) == measured(rows)
    assert drafted(rrpolicy.counted(counts)) == drafted(rows)
    draft = rrpolicy.init(rrpolicy.counted(case.path("counts.parquet"))).text
    assert 'counts.parquet"' in draft
    assert 'multiplicity = "n"' in draft
    one, other = (rrpolicy.what_holds(t, ["sex", "region"]).to_dict() for t in (rows, rrpolicy.counted(counts)))
    assert json.dumps(one).replace("Arrow table", "") == json.dumps(other).replace("Arrow table", "")


@pytest.mark.slow
def test_attacks_and_comparisons_take_counts(case: Case) -> None:
    policy, counts = case.policy(MECHANISMS["pram"]), rrpolicy.counted(case.path("counts.parquet"))
    made = rrpolicy.release(policy, case.path("bundle"))

    of_counts, of_rows = (rrpolicy.attack(made.bundle, source=t) for t in (counts, case.path("people.parquet")))
    assert of_counts.to_json() == of_rows.to_json()
    plans = [
        rrpolicy.compare(policy, mechanisms=["pram"], source=t).to_json() for t in (counts, case.path("people.parquet"))
    ]
    assert plans[0]["candidates"] == plans[1]["candidates"]
