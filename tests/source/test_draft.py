"""`rrpolicy init`: a draft that `check` refuses until a person has decided what only a person can."""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from collections import Counter
from decimal import Decimal
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.drafting.demo.source import survey
from rrpolicy.drafting.profile import ColumnProfile, QuantileCut
from rrpolicy.drafting.role_guessing import bin_edges_toml
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original
from tests.survey import WAIVED


def drafted(path, table=None):
    return tomllib.loads(rrpolicy.init(str(path), table=table).text)


def test_roles_are_guessed_from_names_and_what_is_unclear_is_excluded(parquet):
    attributes = drafted(parquet(survey(3000)))["attributes"]

    assert {n: a["role"] for n, a in attributes.items()} == {
        "person_id": "identifier",
        "sex": "quasi-identifier",
        "age": "quasi-identifier",
        "education": "quasi-identifier",
        "region": "quasi-identifier",
        "occupation": "quasi-identifier",
        "disease": "sensitive",
        "income_band": "sensitive",
        "hours": "excluded",
    }
    assert attributes["education"]["nulls"] == "unknown"
    assert attributes["hours"] == {"role": "excluded"}


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("age", "quasi-identifier"),
        ("AgeGroup", "quasi-identifier"),
        ("age2", "quasi-identifier"),
        ("country_of_birth", "quasi-identifier"),
        ("maritalStatus", "quasi-identifier"),
        ("diagnosis", "sensitive"),
        ("HIV", "sensitive"),
        ("wage", "sensitive"),
        ("package", "excluded"),
        ("estate", "excluded"),
        ("terrace", "excluded"),
        ("x1", "excluded"),
        ("edad", "excluded"),
    ],
)
def test_words_of_a_name_are_told_apart(parquet, name, role):
    assert drafted(parquet({name: ["a", "b"] * 20, "other": ["x", "y"] * 20}))["attributes"][name]["role"] == role


def test_no_draft_releases_a_column_as_it_is(parquet):
    rng = np.random.default_rng(5)
    columns = {
        "latitude": rng.uniform(40, 60, 500),
        "hours": rng.integers(0, 60, 500),
        "wage": rng.lognormal(7, 1, 500),
        "amount": pa.array([Decimal(int(x)) / 100 for x in rng.integers(0, 10**6, 500)]),
        "flag": rng.integers(0, 2, 500) == 1,
    }
    attributes = drafted(parquet(columns))["attributes"]

    assert {n: a["role"] for n, a in attributes.items()} == {
        "latitude": "excluded",
        "hours": "excluded",
        "wage": "sensitive",
        "amount": "excluded",
        "flag": "excluded",
    }


def test_odd_columns_get_roles_that_read_back(parquet):
    count = 40
    path = parquet(
        {
            "constant": ["x"] * count,
            "empty": pa.array([None] * count, pa.string()),
            "list": [[1]] * count,
            "day_of_birth": [dt.date(2020, 1, 1 + i % 5) for i in range(count)],
            'sex "b" \\ \n c': ["tab\t", 'quo"te', "new\nline", "\x7f\x01"] * 10,
            "age": [1, 2, 3, None] * 10,
            "school": ["unknown", "missing", None, "x"] * 10,
            "income": [i * 0.37 - 5 for i in range(count)],
            "child": [True, False] * 20,
            "many": [f"v{i % 60}" for i in range(count)],
            "counter": range(7, 7 + count),
        }
    )
    attributes = drafted(path)["attributes"]

    assert [attributes[n]["role"] for n in ("constant", "empty", "list")] == ["excluded"] * 3
    assert attributes["day_of_birth"]["domain"] == [dt.date(2020, 1, 1 + i) for i in range(5)]
    assert attributes['sex "b" \\ \n c']["domain"] == ["new\nline", 'quo"te', "tab\t", "\x7f\x01"]
    assert attributes["age"] == {"role": "quasi-identifier", "domain": [1, 2, 3], "nulls": "unknown"}
    assert attributes["school"]["nulls"] == "no value"
    assert attributes["income"]["bins"][0] == -math.inf
    assert attributes["child"]["domain"] == [False, True]
    assert [attributes[n]["role"] for n in ("many", "counter")] == ["identifier"] * 2


@pytest.mark.parametrize(("different", "by"), [(21, "domain"), (30, "domain"), (31, "bins")])
def test_a_few_whole_numbers_are_offered_by_their_values(parquet, different, by):
    ages = [16 + i % different for i in range(1000)]
    found = drafted(parquet({"age": ages}))["attributes"]["age"]

    assert ({"domain", "bins"} & set(found)) == {by}
    assert found["scale"] == "ordinal"
    assert found.get("domain", sorted(set(ages))) == sorted(set(ages))


def test_bins_hold_about_equally_many_people_and_have_round_edges(parquet):
    rng = np.random.default_rng(3)
    days = [dt.date(1930, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 32_000, 4000)]
    columns = {"wage": rng.lognormal(10, 1.2, 4000).round(2), "age": rng.integers(18, 90, 4000), "birth": days}
    attributes = drafted(parquet(columns))["attributes"]

    for name, values in columns.items():
        inner = attributes[name]["bins"][1:-1]
        shares = np.diff([0, *(np.mean(np.array(values) < edge) for edge in inner), 1])
        assert len(inner) == 4
        assert all(0.1 <= share <= 0.3 for share in shares), (name, inner)
    assert all(edge % 1000 == 0 for edge in attributes["wage"]["bins"][1:-1]), attributes["wage"]
    assert all(edge % 5 == 0 for edge in attributes["age"]["bins"][1:-1])
    assert all((edge.month, edge.day, edge.year % 5) == (1, 1, 0) for edge in attributes["birth"]["bins"][1:-1])
    assert (attributes["birth"]["bins"][0], attributes["birth"]["bins"][-1]) == (-math.inf, math.inf)


def test_many_equal_values_make_fewer_bins_and_never_none(parquet):
    values = [0] * 900 + list(range(1, 101))
    assert drafted(parquet({"income": values}))["attributes"]["income"]["bins"] == [0, 1, math.inf]
    skewed = [*range(100), *[10**6] * 900]
    assert len(drafted(parquet({"income": skewed}))["attributes"]["income"]["bins"]) == 3


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.integers(-(10**9), 10**9), st.integers(-20, 20)), min_size=2, max_size=300),
    st.sampled_from(["number", "date", "moment"]),
)
def test_edges_increase_and_part_the_values(values, kind):
    if kind == "date":
        values = [dt.date(2000, 1, 1) + dt.timedelta(days=v % 40_000) for v in values]
    if kind == "moment":
        values = [dt.datetime(2000, 1, 1) + dt.timedelta(seconds=v) for v in values]  # noqa: DTZ001
    counted = sorted(Counter(values).items())
    if len(counted) < 2:
        return
    below = np.cumsum([0, *(n for _, n in counted)])
    cuts = tuple(QuantileCut(v, int(b)) for (v, _), b in zip(counted, below, strict=False))
    column = ColumnProfile("x", "BIGINT", len(values), 0, len(counted), 0, counted[0][0], counted[-1][0], (), cuts)
    first, *inner, last = bin_edges_toml(column)
    found = tomllib.loads(f"inner = [{', '.join(inner)}]")["inner"]

    assert (first, last) == ("0" if kind == "number" and counted[0][0] >= 0 else "-inf", "inf")
    assert found
    assert all(a < b for a, b in pairwise(found))
    assert all(counted[0][0] < edge <= counted[-1][0] for edge in found)


def test_values_that_differ_in_spelling_alone_are_flagged(parquet, capsys):
    path = parquet({"sex": ["F", " F ", "f", "M"] * 10, "city": [" Rome", "Oslo"] * 20, "wage": range(0, 120, 3)})
    assert main(["init", str(path)]) == 0
    printed = capsys.readouterr()

    assert "warning: sex: 3 of its values differ from another in capitals or white space alone" in printed.err
    assert "warning: city: 1 of its values begin or end with white space" in printed.err
    assert "3 of its values differ" in next(line for line in printed.out.splitlines() if line.startswith("sex"))


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*range(18)] * 20 + [98, 99], [98, 99]),
        ([1, 2, 3, 4, 5] * 9 + [8, 9, 9], [8, 9]),
        ([*range(11)] * 9 + [77, 88, 99], [77, 88, 99]),
        ([0, 1] * 9 + [666], [666]),  # of a public table of loans
        ([*range(11)] * 9 + [-9, 88], [-9, 88]),
        ([*range(1, 8)] * 9 + [-1], [-1]),
        ([*range(200)] * 2 + [-99, 998, 999], [-99, 998, 999]),
        ([*range(3000)] * 2 + [9998] * 7 + [9999], [9998, 9999]),
        ([0.0, 1.5, 2.5] * 4 + [99.0], [99.0]),
        ([0, 1] * 20, None),
        ([-1, 0, 1] * 20, None),
        ([-3, -2, -1, 0, 1, 2, 3] * 9, None),
        ([*range(18, 100)] * 3, None),
        ([*range(101)] * 3, None),
        ([*range(1990, 2000)] * 9, None),
        ([12_500, 30_000, 47_300, 99_999] * 9, [99_999]),
        ([12_500, 30_000, 47_300, 57_999] * 9, None),
        ([1.0, 2.0, 3.0] * 9 + [math.inf], None),
        ([-math.inf, 1.0, 2.0] * 9 + [99.0], None),
        ([*range(100)], None),
        ([*range(90)] * 2 + [99], None),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 3, None),
        ([97, 98, 99] * 4, None),
    ],
)
def test_numbers_that_look_like_codes_of_missing_values_are_proposed_as_such(parquet, capsys, values, codes):
    path = parquet({"schooling": values})
    assert main(["init", str(path)]) == 0
    said = capsys.readouterr().err
    assert ("codes of missing values, which is a guess" in said) is (codes is not None)
    found = drafted(path)["attributes"]["schooling"]
    assert found.get("missing") == codes
    assert codes is None or found["nulls"] == "unknown"
    assert not set(codes or ()) & set(found.get("domain", ()))


@pytest.mark.parametrize(
    ("domain", "codes"), [("[0, 1, 2, 3, 88, 99]", "88 and 99"), ("[1, 2, 3, -9]", "-9"), ("[0, 1, 2]", None)]
)
def test_a_domain_with_such_numbers_is_a_warning_until_they_are_named(tmp_path, domain, codes):
    policy = tmp_path / "policy.toml"
    text = f"""schema = 1
[policy]
name = "p"
version = "1.0.0"
[source]
uri = "t.parquet"
[attributes]
q = {{ role = "sensitive", domain = {domain} }}
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""
    policy.write_text(text)
    warned = [remark.text for remark in rrpolicy.check(policy).warnings]
    assert [codes in text for text in warned] == ([] if codes is None else [True])


@pytest.mark.parametrize(
    ("spelling", "cast"),
    [
        ("{0:%d.%m.%Y}", "strptime(birth, '%d.%m.%Y')::DATE"),
        ("{0.day}.{0.month}.{0.year}", "strptime(birth, '%d.%m.%Y')::DATE"),
        ("{0:%d.%m.%Y %H:%M}", "strptime(birth, '%d.%m.%Y %H:%M')"),
        ("{0:%d.%m.%Y %H:%M:%S}", "strptime(birth, '%d.%m.%Y %H:%M:%S')"),
        ("{0:%d/%m/%Y}", "strptime(birth, '%d/%m/%Y')::DATE"),
        ("{0.month}/{0.day}/{0.year}", "strptime(birth, '%m/%d/%Y')::DATE"),
        ("{0:%d-%m-%Y}", "strptime(birth, '%d-%m-%Y')::DATE"),
        ("{0:%Y/%m/%d}", "strptime(birth, '%Y/%m/%d')::DATE"),
        ("{0:%Y%m%d}", "strptime(birth::VARCHAR, '%Y%m%d')::DATE"),
        ("{0:%Y-%m-%dT%H:%M:%SZ}", "strptime(birth, '%Y-%m-%dT%H:%M:%SZ')"),
    ],
)
def test_dates_of_another_spelling_are_told_from_text_and_the_cast_reads_them(tmp_path, capsys, spelling, cast):
    days = [dt.datetime(1950, 1, 2, 8, 30, tzinfo=dt.UTC) + dt.timedelta(days=41 * i) for i in range(200)]
    path = tmp_path / "people.csv"
    path.write_text("sex,birth\n" + "".join(f"{'fm'[i % 2]},{spelling.format(day)}\n" for i, day in enumerate(days)))

    assert main(["init", str(path)]) == 0
    text = capsys.readouterr().out
    assert tomllib.loads(text)["attributes"]["birth"] == {"role": "excluded"}
    assert f"write the table again with {cast.replace('birth', chr(34) + 'birth' + chr(34), 1)};" in text
    read = duckdb.sql(f"SELECT {cast} FROM read_csv('{path}', types = {{'birth': 'VARCHAR'}})").fetchall()
    assert [str(value)[:10] for (value,) in read] == [str(day)[:10] for day in days]


@pytest.mark.parametrize(
    "values", [("31.02.1999", "01.02.1999"), ("v1.2.3", "v1.2.4"), ("10011231", "20211301"), ("", "1")]
)
def test_codes_that_are_no_dates_are_not_called_so(tmp_path, capsys, values):
    (tmp_path / "t.csv").write_text("sex,code\n" + "".join(f"f,{value}\n" for value in values * 50))
    assert main(["init", str(tmp_path / "t.csv")]) == 0
    assert "contains dates as text" not in capsys.readouterr().out


def test_dates_that_are_text_in_a_typed_table_are_told(parquet, capsys):
    assert main(["init", str(parquet({"seen": [f"2020-01-{1 + i % 28:02}" for i in range(60)]}))]) == 0
    assert "strptime(\"seen\", '%Y-%m-%d')::DATE" in capsys.readouterr().out


def test_a_row_number_is_flagged(parquet):
    text = rrpolicy.init(str(parquet({"pos": range(40), "sex": ["F", "M"] * 20}))).text

    assert 'pos = { role = "identifier" } # a row number' in text


@pytest.mark.parametrize(("name", "role"), [("totexp", "excluded"), ("person_id", "identifier")])
def test_amounts_that_hardly_repeat_are_no_unit_unless_their_name_says_so(parquet, name, role):
    amounts = [200_000 + 7919 * i % 1_000_003 for i in range(990)]
    path = parquet({"pos": range(1000), name: [*amounts, *amounts[:10]], "sex": ["F", "M"] * 500})
    found = drafted(path)
    assert found["attributes"][name]["role"] == role
    assert found["source"].get("unit") == (name if role == "identifier" else None)
    if role == "excluded":
        text = rrpolicy.init(str(path)).text
        assert "980 of 1,000 records have a value that no other record has: if it identifies people" in text


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([f"p{i}" for i in [0, 0, 0, *range(3, 100)]], "2 of 100 records repeat the value of another one"),
        ([None, *(f"p{i}" for i in range(99))], "1 of 100 records have no value"),
        ([i // 4 for i in range(1000)], "750 of 1,000 records repeat the value of another one"),
    ],
)
def test_an_identifier_with_duplicates_or_gaps_is_flagged_and_what_is_said_helps(parquet, tmp_path, capsys, ids, told):
    path = parquet({"person_id": ids, "sex": ["F", "M"] * (len(ids) // 2)}, "people.parquet")
    assert main(["init", str(path)]) == 0
    printed = capsys.readouterr()
    assert f"warning: person_id: {told}" in printed.err
    line = next(line for line in printed.out.splitlines() if line.startswith("person_id = "))
    assert 'role = "identifier"' in line
    assert told in line
    admitted = re.search(r"`(max_records = \d+)` under \[source\]", line)
    if admitted is None:
        return
    policy = tmp_path / "policy.toml"
    policy.write_text(fill(printed.out))
    assert main(["plan", str(policy)]) == 3
    assert "RR323" in capsys.readouterr().err
    policy.write_text(fill(printed.out).replace("\n[source]\n", f"\n[source]\n{admitted[1]}\n") + WAIVED)
    assert main(["plan", str(policy)]) == 0


def test_of_several_identifiers_the_draft_check_and_plan_ask_which_tells_people_apart(parquet, tmp_path, capsys):
    count = range(40)
    columns = {"row": count, "person_id": [f"p{i}" for i in count], "email": [f"{i}@x" for i in count]}
    path = parquet({**columns, "sex": ["F", "M"] * 20}, "people.parquet")
    assert main(["init", str(path)]) == 0
    printed = capsys.readouterr()
    assert "warning: person_id, email: name the one that identifies people as `unit` under [source]" in printed.err
    line = next(line for line in printed.out.splitlines() if line.startswith("# unit = "))
    assert line.startswith('# unit = "person_id" # or email')
    policy = tmp_path / "policy.toml"
    policy.write_text(fill(printed.out))
    for command in ("check", "plan"):
        assert main([command, str(policy)]) == 0
        assert "'row', 'person_id', 'email' are identifiers" in capsys.readouterr().out
    policy.write_text(fill(printed.out).replace("# unit", "unit"))
    for command in ("check", "plan"):
        assert main([command, str(policy)]) == 0
        assert "are identifiers" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["pid", "hh", "patient_id", "householdId"])
def test_a_repeated_column_that_looks_like_a_key_is_the_unit(parquet, tmp_path, capsys, name):
    people = [f"p{i // 6:02}" for i in range(180)]
    path = parquet({name: people, "sex": [["F", "M"][i // 6 % 2] for i in range(180)]}, "diary.parquet")
    assert main(["init", str(path)]) == 0
    draft = capsys.readouterr().out
    assert f'\nunit = "{name}" # 30 values; ' in draft
    assert "\nmax_records = 6 # derived from the data" in draft
    assert "p07" not in draft  # no value of it is written
    policy = tmp_path / "policy.toml"

    policy.write_text(re.sub("(?m)^(unit|max_records) = .*\n", "", fill(draft)))
    for command in (["plan", str(policy)], ["check", str(policy), "--source"], ["release", str(policy), "--out", "o"]):
        assert main(command) == 3
        said = " ".join(capsys.readouterr().err.split())
        assert f"RR329 '{name}' (excluded) repeats: 30 people in 180 rows" in said
        assert f'write `unit = "{name}"` and `max_records = 6` under [source]' in said
    policy.write_text(fill(draft) + WAIVED)
    assert main(["plan", str(policy)]) == 0
    assert "on 180 records, at most 6 a person" in capsys.readouterr().out


def test_a_number_of_rows_is_never_proposed_as_unit(parquet, tmp_path, capsys):
    visits = range(180)
    path = parquet({"row": visits, "patient_id": [i // 6 for i in visits], "sex": ["F", "M"] * 90}, "visits.parquet")
    text = f"""\
schema = 1
[policy]
name = "visits"
version = "1.0.0"
owner = "o"
[source]
uri = "{path.name}"
UNIT
[attributes]
row = {{ role = "identifier" }}
patient_id = {{ role = "identifier" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""
    policy = path.parent / "policy.toml"
    policy.write_text(text.replace("UNIT", ""))
    assert main(["check", str(policy)]) == 0
    told = capsys.readouterr().out
    assert 'unit = "patient_id"' in told
    assert 'unit = "row"' not in told

    policy.write_text(text.replace("UNIT", 'unit = "row"'))
    assert main(["plan", str(policy)]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "RR329 'patient_id' (identifier) repeats: 30 people in 180 rows" in said
    assert 'unit = "row"' not in said
    policy.write_text(text.replace("UNIT", 'unit = "patient_id"\nmax_records = 6') + WAIVED)
    assert main(["plan", str(policy)]) == 0


def test_beside_a_row_number_the_only_identifier_tells_people_apart(parquet):
    count = range(40)
    attributes = drafted(parquet({"row": count, "email": [f"{i}@x" for i in count], "sex": ["F", "M"] * 20}))
    assert attributes["source"]["unit"] == "email"
    attributes = drafted(parquet({"person_id": count, "sex": ["F", "M"] * 20}))
    assert "unit" not in attributes["source"]


def fill(text):
    """Do what a person does with a draft: decide what is left open."""
    text = text.replace("fill in: who", "office").replace("fill in: what", "tables").replace('"fill in: bound', '4 # "')
    return "\n".join(line for line in text.splitlines())


def test_an_unedited_draft_is_refused_and_each_open_line_is_named(parquet, tmp_path, capsys):
    path = parquet(survey(3000), "people.parquet")
    assert main(["init", str(path)]) == 0
    printed = capsys.readouterr()
    assert "reveals them" in printed.err
    assert "WARNING: the domains and bins below are taken from the data" in printed.out
    policy = tmp_path / "policy.toml"
    policy.write_text(printed.out)

    assert main(["check", str(policy)]) == 2
    told = capsys.readouterr().err
    open_lines = [i for i, line in enumerate(printed.out.splitlines(), 1) if '= "fill in:' in line]
    assert len(open_lines) == 3
    assert [int(n) for n in re.findall(r"policy.toml:(\d+):\d+: RR281", told)] == open_lines
    assert set(re.findall(r"RR\d+", told)) == {"RR281"}
    for command in (["plan", str(policy)], ["check", "--json", str(policy)]):
        assert main(command) == 2
    capsys.readouterr()

    policy.write_text(fill(printed.out))
    assert main(["check", str(policy)]) == 0, capsys.readouterr().err
    opened = open_policy(policy)
    with open_original(opened.policy, opened.registry.sources, tmp_path / "scratch") as original:
        assert original.records == 3000


def test_a_draft_that_releases_nothing_is_refused_for_that_too(parquet, tmp_path, capsys):
    assert main(["init", str(parquet({"x": ["a", "b"] * 20}))]) == 0
    printed = capsys.readouterr()
    assert "no column is released" in printed.err
    (tmp_path / "policy.toml").write_text(printed.out)

    assert main(["check", str(tmp_path / "policy.toml")]) == 2
    assert {"RR281", "RR220"} == set(re.findall(r"RR\d+", capsys.readouterr().err))


def test_how_a_csv_file_is_spelled_and_its_codes_are_written(tmp_path, capsys):
    rows = [
        f"{'FM'[i % 2]};{'s/d' if i % 9 == 0 else f'{i % 40},5'};{('none', 'NA', 'flu')[i % 3]}" for i in range(400)
    ]
    path = tmp_path / "people.csv"
    path.write_bytes("\n".join(["a title", "sex;wage;diagnosis \u00e9", *rows, ""]).encode("latin-1"))
    assert main(["init", str(path)]) == 0
    text = capsys.readouterr().out
    read = tomllib.loads(text)

    assert read["source"]["csv"] == {"delimiter": ";", "encoding": "latin-1", "decimal": ",", "skip": 1}
    assert read["source"]["missing"] == ["s/d", "NA"]
    assert read["attributes"]["wage"]["bins"][0] == 0
    assert read["attributes"]["wage"]["nulls"] == "unknown"
    assert read["attributes"]["diagnosis \u00e9"] == {
        "role": "sensitive",
        "domain": ["flu", "none"],
        "nulls": "unknown",
    }
    (tmp_path / "policy.toml").write_text(fill(text))
    assert main(["check", str(tmp_path / "policy.toml")]) == 0
    opened = open_policy(tmp_path / "policy.toml")
    with open_original(opened.policy, opened.registry.sources, tmp_path / "scratch") as original:
        assert original.records == 400


def test_shares_without_a_zero_before_the_point_are_numbers_and_cut_as_such(tmp_path):
    shares = [f"{i % 70 / 70:.8f}".removeprefix("0") for i in range(1, 401)]
    path = tmp_path / "people.csv"
    path.write_text(
        "\n".join(["rate,age", *(f"{'NA' if i % 9 == 0 else x},{i % 60}" for i, x in enumerate(shares)), ""])
    )
    assert drafted(path)["source"]["missing"] == ["NA"]
    line = re.search(r"# rate = .*bins = \[(.*?)\]", rrpolicy.init(str(path)).text)
    assert line is not None
    assert [float(edge) for edge in line[1].split(", ")] == [0, 0.2, 0.4, 0.6, 0.8, math.inf]


def test_numbers_of_rows_in_a_column_without_a_name_are_an_identifier(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('"","sex"\n' + "".join(f'"{i + 1}","{"FM"[i % 2]}"\n' for i in range(400)))
    read = drafted(path)

    assert {n: a["role"] for n, a in read["attributes"].items()} == {
        "column 1": "identifier",
        "sex": "quasi-identifier",
    }


def test_a_word_that_begins_with_the_name_of_a_region_is_none(parquet):
    table = {"state": list("abcd") * 50, "statement": list("abcd") * 50, "home_states": list("abcd") * 50}
    roles = {n: a["role"] for n, a in drafted(parquet(table))["attributes"].items()}

    assert roles == {"state": "quasi-identifier", "statement": "excluded", "home_states": "quasi-identifier"}


def test_a_word_that_may_be_a_category_is_a_code_of_its_own_column_alone(tmp_path):
    rows = [f"{i % 90 if i % 10 else 'none'},{('none', 'flu')[i % 2]}" for i in range(400)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["wage,disease", *rows, ""]))
    read = drafted(path)

    assert "missing" not in read["source"]
    assert read["attributes"]["wage"]["missing"] == ["none"]
    assert read["attributes"]["disease"]["domain"] == ["flu", "none"]


def test_a_text_that_tells_a_number_is_a_category_and_another_word_a_code_of_its_own_column(tmp_path, capsys):
    rows = [
        f"{('5+', '<1', 'none at all', '2', '3', '4', '2')[i % 7]},{('9', '10', '11', '12', 'other')[i % 5]},"
        f"{('rented', 'other', '-')[i % 3]}"
        for i in range(420)
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["child_hours,school,state", *rows, ""]))
    assert main(["init", str(path)]) == 0
    text, said = capsys.readouterr()
    read = tomllib.loads(text)

    assert read["source"]["missing"] == ["-"]
    assert read["attributes"]["child_hours"]["domain"] == ["2", "3", "4", "5+", "<1", "none at all"]
    assert read["attributes"]["school"]["missing"] == ["other"]
    assert read["attributes"]["state"]["domain"] == ["other", "rented"]
    told = (
        'warning: school: "other" occurs among numbers and is read as missing: if it is a category, remove it from '
        "`missing`, and write each value of the domain in quotes"
    )
    assert told in said.splitlines()
    line = 'school = { role = "quasi-identifier", domain = ["9", "10", "11", "12", "other"] }'
    (tmp_path / "policy.toml").write_text(fill(re.sub("(?m)^school = .*$", line, text)))
    assert main(["plan", str(tmp_path / "policy.toml")]) == 0


def test_a_table_of_a_database_is_named_in_the_draft(database):
    path = database("CREATE TABLE t AS SELECT i % 3 AS a FROM range(30) r(i)", "CREATE TABLE u AS SELECT 1 AS a")

    assert drafted(path, "t")["source"] == {"uri": str(path), "table": "t", "min_rows": 27}


@pytest.mark.parametrize(
    ("records", "least"), [(0, 1), (1, 1), (2, 1), (7, 6), (19, 17), (100, 90), (3_010, 2_700), (50_000, 45_000)]
)
def test_a_table_that_came_in_half_is_below_what_is_drafted(records, least):
    from rrpolicy.drafting.draft import _rounded_record_floor

    assert _rounded_record_floor(records) == least
    assert records < 2 or records // 2 <= least <= records
    assert records < 3 or records // 2 < least


@pytest.mark.parametrize(
    ("arguments", "status"), [(["missing.parquet"], 3), (["https://example.org/x.csv"], 3), ([], 2)]
)
def test_what_cannot_be_opened_is_told(arguments, status, capsys):
    assert main(["init", *arguments]) == status
    assert capsys.readouterr().out == ""


def test_an_empty_table_has_no_draft(parquet, capsys):
    assert main(["init", str(parquet({"a": pa.array([], pa.string())}))]) == 3
    assert "RR317" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("weight", "weight"),
        ("pweight", "weight"),
        ("finalWgt", "weight"),
        ("WTMEC2YR", "weight"),
        ("strata", "stratum"),
        ("SDMVSTRA", "stratum"),
        ("stratid", "stratum"),
        ("psu", "cluster"),
        ("SDMVPSU", "cluster"),
    ],
)
def test_a_survey_design_is_guessed_and_left_to_a_person(parquet, name, part):
    sizes = [0.5 + i % 7 / 4 for i in range(40)] if part == "weight" else [i % 8 for i in range(40)]
    text = rrpolicy.init(str(parquet({"sex": ["F", "M"] * 20, name: sizes}))).text

    assert tomllib.loads(text)["attributes"][name] == {"role": "excluded"}
    released = next(line for line in text.splitlines() if line.startswith(f"# {name} = "))
    line = tomllib.loads(released.removeprefix("# ").partition(" # ")[0])[name]
    assert line["role"] == "insensitive"
    assert line["design"] == part
    assert line["assume_unlinkable"].startswith("fill in")


def test_codes_that_are_numbers_are_told_beside_those_of_the_table_and_such_a_line_reads(tmp_path, capsys):
    rows = "\n".join(f"{i % 18},{'a' if i % 2 else 'b'}" for i in range(60))
    path = tmp_path / "people.csv"
    path.write_text(f"schooling,sex\n{rows}\nNA,a\n98,b\n99,a\n")
    assert main(["init", str(path)]) == 0
    assert "98 and 99 lie apart from the other numbers" in capsys.readouterr().err
    found = drafted(path)["attributes"]["schooling"]
    assert found["missing"] == ["NA", 98, 99]
    assert found["nulls"] == "unknown"


def test_texts_of_few_records_and_long_ones_are_nowhere_in_a_draft(parquet, capsys):
    """Drafts go to version control: no remark, name or rare diagnosis of anybody stands in one."""
    rare = ["HIV since 2019", "asked for Kim", "in prison"]
    count = 400
    remark = [rare[i] if i < len(rare) else "none" for i in range(count)]
    letter = ["a sentence of more than forty characters that many records have"] * 50 + ["short"] * (count - 50)
    disease = [("Kuru" if i == 0 else "flu" if i % 2 else "none") for i in range(count)]
    path = parquet({"sex": ["f", "m"] * (count // 2), "remark": remark, "letter": letter, "disease": disease})

    assert main(["init", str(path)]) == 0
    printed = capsys.readouterr()

    for secret in (*rare, "sentence", "Kuru", 'none", "short'):
        assert secret not in printed.out + printed.err
    found = drafted(path)["attributes"]
    assert found["sex"] == {"role": "quasi-identifier", "domain": ["f", "m"]}
    assert found["disease"] == {"role": "sensitive", "domain": ["flu", "none"], "outside": "other"}
    assert "1 values of few records, or long, are `outside`" in printed.out
    assert found["remark"] == {"role": "excluded"}
    assert (
        '# remark = { role = "quasi-identifier", domain = "fill in: its 4 values that may be shown, or observed" }'
        in printed.out
    )


def test_a_wide_csv_is_parsed_a_few_times_whatever_the_number_of_its_columns(tmp_path, monkeypatch, capsys):
    """Each column used to be read by a pass over the whole file."""
    from rrpolicy.source.duckdb import delimited

    parsed = []
    real = delimited.csv_scan_sql
    monkeypatch.setattr(delimited, "csv_scan_sql", lambda *args: parsed.append(1) or real(*args))
    for columns in (5, 60):
        names = [f"q{i}" for i in range(columns)]
        rows = "\n".join(",".join(str((i * j) % 5) for j in range(columns)) for i in range(50))
        (tmp_path / "wide.csv").write_text(",".join(names) + f"\n{rows}\n")
        parsed.clear()
        shown = []
        rrpolicy.init(tmp_path / "wide.csv", progress=lambda _, share, shares=shown: shares.append(share))
        assert len(parsed) <= 3
        assert shown == sorted(shown)


def test_columns_that_a_policy_does_not_read_are_not_looked_at(tmp_path, monkeypatch):
    from rrpolicy.source.duckdb import delimited

    tested = []
    real = delimited._type_test_sql
    monkeypatch.setattr(delimited, "_type_test_sql", lambda sql, **how: tested.append(sql) or real(sql, **how))
    (tmp_path / "t.csv").write_text("sex,ill,a,b,c\n" + "f,no,1,x,2\nm,flu,2,y,3\n" * 30)
    text = """schema = 1
[policy]
name = "p"
version = "1.0.0"
[source]
uri = "t.csv"
other_columns = "excluded"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
ill = { role = "sensitive", domain = ["no", "flu"] }
c = { role = "excluded" }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""
    (tmp_path / "p.toml").write_text(text)
    rrpolicy.plan(tmp_path / "p.toml").require()
    assert set(tested) == {'"sex"', '"ill"'}
