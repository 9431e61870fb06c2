"""What the policy does not foresee is refused: how many records and which column, never a value."""

from __future__ import annotations

import math
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rrpolicy.declarations import Role
from rrpolicy.errors import DataError, Place
from rrpolicy.policy.model import Bins
from rrpolicy.source import cells

from .conftest import carried, distinct, dropped, qi

CANARY = "Xanthippe-7731"
INF = float("inf")


def problems_of(opened, uri, *attributes, **keys):
    with pytest.raises(DataError) as caught, opened(uri, *attributes, **keys):
        pass
    assert CANARY not in str(caught.value)
    return caught.value.problems


def codes_of(opened, uri, *attributes, **keys):
    return [p.code for p in problems_of(opened, uri, *attributes, **keys)]


def bins(*edges: float, **keys):
    labels = tuple(f"b{i}" for i in range(len(edges) - 1))
    synthetic = tuple(v for v in (keys.get("outside"), keys.get("nulls")) if v is not None)
    return qi("a", *labels, *synthetic, bins=Bins(edges, labels), **keys)


def test_all_extra_and_missing_columns_are_told_at_once_with_what_was_meant(opened, parquet):
    path = parquet({"person": ["x"], "Sexx": ["f"], "income": [1]})
    place = Place("p.toml", 3, 1)
    found = problems_of(opened, path, dropped("person"), qi("sex", "f", place=place), qi("wage", 1))

    assert [(p.code, p.message.split("'")[1]) for p in found] == [
        ("RR310", "Sexx"),
        ("RR310", "income"),
        ("RR311", "sex"),
        ("RR311", "wage"),
    ]
    assert found[0].hint == "did you mean it by 'sex'?"
    assert found[2].hint == "did you mean 'Sexx'?"
    assert found[2].place is place


@pytest.mark.parametrize(
    ("extra", "counts"), [({"n": [3]}, True), ({"n": ["x"]}, False), ({"n": [3], "m": [4]}, False)]
)
def test_a_column_that_may_say_how_often_a_row_stands_is_offered_as_such(extra, counts, opened, parquet):
    found = problems_of(opened, parquet({"sex": ["f"], **extra}), qi("sex", "f"))

    assert {p.code for p in found} == {"RR310"}
    assert ('`multiplicity = "n"`' in found[0].hint and "counts:n:" in found[0].hint) is counts


def test_a_column_that_the_policy_names_already_is_not_suggested_for_one_that_is_missing(opened, parquet):
    (found,) = problems_of(opened, parquet({"age": [1]}), qi("age", 1), qi("wage", 1))

    assert (found.code, found.hint) == ("RR311", "take the attribute out, or open another table")


@pytest.mark.parametrize(
    ("values", "domain", "named"),
    [
        (["1", "2"], (1, 2), "VARCHAR (text), its domain contains a whole number"),
        (["1", "2"], (True,), "VARCHAR (text), its domain contains true or false"),
        ([1, 2], ("1", "2"), "BIGINT (whole numbers), its domain contains text"),
        ([1.5], ("1.5",), "DOUBLE (numbers), its domain contains text"),
        ([True], (1,), "BOOLEAN (true or false), its domain contains a whole number"),
        ([1], (True,), "BIGINT (whole numbers), its domain contains true or false"),
        ([[1]], ("x",), "BIGINT[] (values that no release can carry), its domain contains text"),
        (pa.array([0], pa.date32()), ("new year",), "DATE (dates or times), its domain contains text"),
        (pa.array([0], pa.date32()), (1970,), "DATE (dates or times), its domain contains a whole number"),
        ([b"x"], (), "BLOB (values that no release can carry), its domain contains text"),
    ],
)
def test_a_domain_of_another_type_is_refused_and_the_type_named(values, domain, named, opened, parquet):
    (found,) = problems_of(opened, parquet({"a": values}), qi("a", *domain))

    assert found.code == "RR312"
    assert named in found.message


def test_bins_need_numbers(opened, parquet):
    (found,) = problems_of(opened, parquet({"a": ["1"]}), bins(0, 1))

    assert found.code == "RR312"


@pytest.mark.parametrize(
    ("values", "told", "hint"),
    [
        (
            pa.array([0], pa.date32()),
            "an edge of 'a' is not a value of its column, which is DATE",
            "such as 2024-01-31",
        ),
        (
            pa.array([0], pa.time64("us")),
            "an edge of 'a' is not a value of its column, which is TIME",
            "such as 12:30:00",
        ),
        (pa.array([0], pa.timestamp("us", "UTC")), "is TIMESTAMP WITH TIME ZONE", "`\"a\" AT TIME ZONE 'UTC'`"),
        (["1"], "is VARCHAR (text)", "give a `domain`"),
    ],
)
def test_bins_of_times_that_the_column_cannot_hold_say_what_would_fit(values, told, hint, opened, parquet):
    (found,) = problems_of(opened, parquet({"a": values}), bins("1970-01-01 00:00:00", "1970-01-01 12:30:00"))

    assert found.code == "RR312"
    assert told in found.message
    assert hint in (found.hint or "")


def test_a_cluster_is_asked_of_every_record(opened, parquet):
    for made in (qi("a", "x", design="cluster"), carried("a", design="stratum")):
        found = problems_of(opened, parquet({"a": ["x", None]}), made)

        assert ["correct the table" in p.hint for p in found if p.code == "RR314"] == [True]


@pytest.mark.parametrize(("values", "other"), [(["1"], True), (pa.array([0], pa.timestamp("us", "UTC")), False)])
def test_a_domain_in_place_of_bins_is_offered_where_the_column_can_have_one(values, other, opened, parquet):
    (found,) = problems_of(opened, parquet({"a": values}), bins(0, 1))

    assert ("`domain`" in (found.hint or "")) is other


@pytest.mark.parametrize("values", [[[1]], [b"x"], [{"f": 1}], pa.array([0], pa.timestamp("us", "UTC"))])
def test_types_that_no_release_can_carry(values, opened, parquet):
    assert codes_of(opened, parquet({"a": values}), carried("a")) == ["RR321"]


def test_numbers_are_compared_as_numbers(opened, parquet):
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(12, 2)):
        values = pa.array([1, 2, 2], pa.int32()).cast(kind)
        for domain in ((1, 2), (1.0, 2.0), (2, 1, 500)):
            with opened(parquet({"a": values}), qi("a", *domain)) as original:
                table = original.counts("a")
                assert {domain[c]: int(n) for (c,), n in zip(table.codes, table.n, strict=True)} == {1: 1, 2: 2}


def test_single_precision_is_compared_in_single_precision(opened, parquet):
    values = pa.array([0.1, 0.2, 0.2], pa.float32())
    with opened(parquet({"a": values}), qi("a", 0.1, 0.2)) as original:
        assert original.counts("a").n.tolist() == [1, 2]
    with opened(parquet({"a": values}), qi("a")) as original:
        assert original.counts("a").n.tolist() == [1, 2]


def test_values_outside_and_nulls_are_counted_never_shown(opened, parquet):
    columns = {"a": ["x", CANARY, CANARY, None], "b": [1, 2, None, 3], "c": ["y"] * 4}
    found = problems_of(opened, parquet(columns), qi("a", "x"), qi("b", 1), qi("c", "y"))

    assert [(p.code, p.message.split(" ")[0]) for p in found] == [
        ("RR313", "2"),
        ("RR314", "1"),
        ("RR313", "2"),
        ("RR314", "1"),
    ]


def test_outside_and_nulls_become_categories_also_of_another_type(opened, parquet):
    path = parquet({"a": [1, 7, None, 2]})
    with opened(path, qi("a", 1, "other", 2, "unknown", outside="other", nulls="unknown")) as original:
        assert original.counts("a").n.tolist() == [1, 1, 1, 1]
        assert original.types == {"a": "VARCHAR"}
    with opened(path, qi("a", 1, 2, outside=2, nulls=1)) as original:
        assert original.counts("a").n.tolist() == [2, 2]


def test_an_empty_text_is_a_value(opened, parquet):
    path = parquet({"a": ["", "x"]})
    assert codes_of(opened, path, qi("a", "x")) == ["RR313"]
    with opened(path, qi("a")) as original:
        assert original.policy.attributes["a"].domain == ("", "x")


@pytest.mark.parametrize(
    ("value", "edges", "code"),
    [
        (0.0, (0, 10), 0),
        (-0.0, (0, 10), 0),
        (10.0, (0, 10), 0),
        (5.0, (0, 5, 10), 1),
        (math.nextafter(5.0, 0), (0, 5, 10), 0),
        (INF, (0, 10, INF), 1),
        (-INF, (-INF, 10, INF), 0),
        (1e300, (0, 10, INF), 1),
        (-1e-300, (0, 10), "RR313"),
        (math.nextafter(10.0, 11), (0, 10), "RR313"),
        (INF, (0, 10), "RR313"),
        (-INF, (0, 10, INF), "RR313"),
        (math.nan, (-INF, INF), "RR314"),
        (None, (-INF, INF), "RR314"),
    ],
)
def test_bins_are_closed_below_and_the_last_one_above(value, edges, code, opened, parquet):
    path = parquet({"a": pa.array([value], pa.float64())})
    if isinstance(code, str):
        assert codes_of(opened, path, bins(*edges)) == [code]
        with opened(path, bins(*edges, outside="out", nulls="null")) as original:
            assert original.counts("a").n.tolist() == [1]
    else:
        with opened(path, bins(*edges)) as original:
            assert original.counts("a").codes.tolist() == [[code]]


def test_whole_numbers_are_binned_at_their_edges(opened, parquet):
    with opened(parquet({"a": [0, 19, 20, 39, 40, 2**60]}), bins(0, 20, 40, INF)) as original:
        assert original.counts("a").n.tolist() == [2, 2, 2]


def test_observed_domains_are_sorted_and_their_surprises_refused(opened, parquet):
    with opened(parquet({"a": ["b", "B", "ä", "a", "b"]}), qi("a")) as original:
        assert original.policy.attributes["a"].domain == ("B", "a", "b", "ä")
    with opened(parquet({"a": [3, -1, None, 3]}), qi("a", nulls="unknown")) as original:
        assert original.policy.attributes["a"].domain == (-1, 3, "unknown")
        assert original.counts("a").n.tolist() == [1, 2, 1]
    assert codes_of(opened, parquet({"a": ["x", None]}), qi("a")) == ["RR314"]
    assert codes_of(opened, parquet({"a": [1.0, math.nan]}), qi("a")) == ["RR314"]
    assert codes_of(opened, parquet({"a": [1.0, INF]}), qi("a")) == ["RR315"]
    assert codes_of(opened, parquet({"a": [1, None]}), qi("a", nulls="1")) == ["RR320"]
    assert codes_of(opened, parquet({"a": pa.array([None], pa.string())}), qi("a", "x")) == ["RR314"]


def test_an_attribute_of_one_category(opened, parquet):
    with opened(parquet({"a": ["x"] * 5, "b": [None] * 5}), qi("a"), qi("b", "none", nulls="none")) as original:
        assert original.counts("a", "b").shape == (1, 1)
        assert original.counts("a", "b").n.tolist() == [5]


def test_a_million_distinct_values_are_refused(opened, parquet):
    path = parquet({"a": list(range(1_000_000))})
    (found,) = problems_of(opened, path, qi("a"))
    assert found.code == "RR316"
    assert "100,000" in found.message
    assert "bins" in (found.hint or "")
    with opened(path, bins(0, 500_000, INF)) as original:
        assert original.counts("a").n.tolist() == [500_000, 500_000]


def test_empty_and_small_tables(opened, parquet):
    assert codes_of(opened, parquet({"a": pa.array([], pa.string())}), qi("a")) == ["RR317"]
    assert codes_of(opened, parquet({"a": ["x"] * 9}), qi("a"), min_rows=10) == ["RR318"]
    with opened(parquet({"a": ["x"] * 10}), qi("a"), min_rows=10) as original:
        assert original.records == 10


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_nan_beside_zeros_is_a_null(form, kind, opened, parquet, tmp_path):
    """The statistics of a Parquet file leave NaN out, and an engine may conclude from them that there is none."""
    table = pa.table({"a": pa.array([0.0, math.nan, 1.0, math.nan] * 20, kind), "b": ["x"] * 80})
    path = parquet(table) if form == "parquet" else tmp_path / "t.duckdb"
    if form == "duckdb":
        with duckdb.connect(str(path)) as made:
            made.register("given", table)
            made.execute("CREATE TABLE t AS SELECT * FROM given")
    attributes = [qi("a", 0, 1), bins(0.0, 2.0), qi("a"), carried("a")]
    for attribute in attributes:
        (found,) = problems_of(opened, path, attribute, qi("b", "x"))
        assert found.code == "RR314", attribute
    with opened(path, qi("a", 0, 1, "none", nulls="none"), qi("b", "x")) as original:
        assert original.counts("a").n.tolist() == [20, 20, 40]


def test_one_kind_of_surprise_hides_no_other(opened, parquet):
    count = 40
    path = parquet(
        {
            "id": [str(i // 2) for i in range(count)],
            "a": ["x"] * (count - 1) + [None],
            "b": [1.0, math.inf, None, 2.0] * 10,
            "c": [None, *range(count - 1)],
            "d": ["t"] * count,
            "e": ["t", "other"] * 20,
        }
    )
    attributes = [qi("a", "x"), qi("b"), carried("c"), qi("d", 1), qi("e", "t")]
    found = problems_of(opened, path, dropped("id"), *attributes)

    assert sorted(p.code for p in found) == ["RR312", "RR313", "RR314", "RR314", "RR314", "RR315", "RR319", "RR323"]


def test_carried_nulls_and_infinities(opened, parquet):
    path = parquet({"a": ["x"] * 40, "c": [1.0, None, math.nan, 2.0] * 10, "d": ["t", None] * 20})
    found = problems_of(opened, path, qi("a"), carried("c"), carried("d"))
    assert [(p.code, p.message.split(" ")[0]) for p in found] == [("RR314", "20"), ("RR314", "20")]
    with opened(path, qi("a"), carried("c", nulls="keep"), carried("d", nulls="keep")) as original:
        values = [r["c"] for b in original.rows("a", "c") for r in b.to_pylist()]
        assert values == [1.0] * 10 + [2.0] * 10 + [None] * 20
        assert distinct(original) == 4
    for nulls in (None, "keep"):
        path = parquet({"a": ["x"] * 40, "c": [1.0, -INF] * 20})
        assert codes_of(opened, path, qi("a"), carried("c", nulls=nulls, assume_unlinkable="test")) == ["RR315"]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string(), pa.date32()])
def test_a_carried_column_of_unique_values_is_refused_without_a_reason(kind, opened, parquet):
    values = pa.array([i if i < 6 else 50 + i % 2 for i in range(100)], pa.int32()).cast(kind)
    path = parquet({"a": ["x"] * 100, "c": values})
    (found,) = problems_of(opened, path, qi("a"), carried("c"))
    assert found.code == "RR319"
    assert "6 %" in found.message
    with opened(path, qi("a"), carried("c", assume_unlinkable="a reason")) as original:
        assert distinct(original) == 8
    values = pa.array([i if i < 5 else 50 + i % 2 for i in range(100)], pa.int32()).cast(kind)
    with opened(parquet({"a": ["x"] * 100, "c": values}), qi("a"), carried("c")) as original:
        assert distinct(original) == 7


def test_negative_zero_and_zero_are_one_carried_value(opened, parquet):
    with opened(parquet({"a": ["x"] * 4, "c": [0.0, -0.0, 0.0, -0.0]}), qi("a"), carried("c")) as original:
        assert distinct(original) == 1


def test_a_policy_may_release_carried_columns_alone_and_dropped_ones_may_hold_anything(opened, parquet):
    columns = {
        "c": [1, 1, 2, 2],
        "id": [b"x", b"w", b"y", b"z"],
        "old": [b"x", None, b"y", b"x"],
        "e": [math.nan, INF, None, 1.0],
    }
    with opened(
        parquet(columns), carried("c"), dropped("id"), *(dropped(n, Role.EXCLUDED) for n in ("e", "old"))
    ) as original:
        assert distinct(original) == 2
        assert original.counts().n.tolist() == [4]
        assert original.types == {"c": "BIGINT"}


WEIGHT = {"design": "weight", "assume_unlinkable": "so"}


@pytest.mark.parametrize("sizes", [[0.5, -0.25, 0.0], [1.0, INF, 2.0], [-1, 2, 3]])
def test_a_weight_is_neither_negative_nor_infinite(opened, parquet, sizes):
    (found,) = problems_of(opened, parquet({"w": sizes, "a": ["x"] * 3}), carried("w", **WEIGHT), qi("a", "x", "y"))

    assert (found.code, found.message[:12]) == ("RR144", "1 record has")


def test_a_weight_may_be_nothing_or_a_decimal(opened, parquet):
    sizes = pa.array(["0.00", "1.25", "3.50"]).cast(pa.decimal128(8, 2))
    with opened(parquet({"w": sizes, "a": ["x"] * 3}), carried("w", **WEIGHT), qi("a", "x", "y")) as original:
        assert original.records == 3


@pytest.mark.parametrize(
    "attribute", [carried("w", **WEIGHT), qi("w", design="weight"), qi("w", "a", "b", design="weight")]
)
def test_a_weight_is_a_number(opened, parquet, attribute):
    assert codes_of(opened, parquet({"w": ["a", "b", "b"], "x": ["x"] * 3}), attribute, qi("x", "x", "y")) == ["RR144"]


def test_an_observed_weight_is_not_negative(opened, parquet):
    assert codes_of(opened, parquet({"w": [-1, 2, 2]}), qi("w", design="weight")) == ["RR144"]
    with opened(parquet({"w": [1, 2, 2]}), qi("w", design="weight")) as original:
        assert original.policy.attributes["w"].domain == (1, 2)


ONE = st.sampled_from([0.0, 1.5, -2.0, math.inf, -math.inf, math.nan, None, 2.0**60, 1e-310])
RECORD = st.tuples(st.sampled_from(["x", "y", "other", None]), ONE, ONE, st.sampled_from(["t", None]))


@given(rows=st.lists(RECORD, min_size=1, max_size=12), foreseen=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_surprises_are_the_same_whether_rows_pass_or_the_engine_counts_them(rows, foreseen, opened, parquet):
    """Also the tables of what is no surprise; numbers of one and of two words are looked at alike."""
    a, w, c, t = zip(*rows, strict=True)
    single = pa.array([None if x is None else np.float32(x) for x in c], pa.float32())
    path = parquet({"a": pa.array(a, pa.string()), "w": pa.array(w, pa.float64()), "c": single, "t": t})
    known = {"nulls": "n", "outside": "o"} if foreseen else {}
    attributes = [
        qi("a", "x", "y", *known.values(), **known),
        carried("w", design="weight", assume_unlinkable="test"),
        carried("c", nulls="keep", assume_unlinkable="test"),
        carried("t", assume_unlinkable="test"),
    ]

    def found() -> tuple[object, ...]:
        try:
            with opened(path, *attributes) as original:
                counts = original.counts("a")
                return tuple(zip(counts.codes.ravel().tolist(), counts.n.tolist(), strict=True))
        except DataError as error:
            return error.problems

    passing = found()
    with patch.object(cells, "MOST", 0):
        assert found() == passing
