"""`rrpolicy check-table`: any table that somebody else anonymised, with values worked out by hand."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

Rows = list[tuple[Any, ...]]


def write(folder: Path, rows: Rows, form: str = "parquet", names: tuple[str, ...] = ("age", "zip", "disease")) -> Path:
    path = folder / f"table.{form}"
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    if form == "parquet":
        pq.write_table(pa.table(columns), path)
    elif form == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("given", pa.table(columns))
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
    else:
        lines = [",".join("" if v is None else str(v) for v in row) for row in [names, *rows]]
        text = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)
    return path


def measured(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> dict[str, Any]:
    """Run with --json and return the document, its findings by name."""
    assert main(["check-table", *map(str, arguments), "--json"]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    document["by_name"] = {f["code"]: f for f in document["findings"]}
    return document


def achieved(document: dict[str, Any], name: str) -> float:
    return float(document["by_name"][name]["achieved"]["value"])


TABLE: Rows = [
    *[("20-39", "1*", d) for d in ("flu", "flu", "flu", "flu", "flu", "flu", "cold", "cold", "cold", "HIV")],
    *[("40-64", "1*", d) for d in ("flu", "flu", "cold", "cold", "HIV", "HIV")],
    *[("40-64", "2*", d) for d in ("flu", "cold", "HIV", "flu")],
]
FORMS = ("parquet", "csv", "csv.gz", "duckdb")


@pytest.mark.parametrize("form", FORMS)
def test_every_model_and_kind_is_measured(form, tmp_path, capsys):
    found = measured(capsys, write(tmp_path, TABLE, form), "--qi", "age,zip", "--sensitive", "disease")

    assert (found["records"], found["classes"], found["suppressed"]) == (20, 3, 0)
    assert list(found["by_name"]) == [
        "k-anonymity",
        "l-diversity/distinct",
        "l-diversity/frequency",
        "l-diversity/entropy",
        "l-diversity/recursive",
        "t-closeness/variational",
        "alpha-k-anonymity",
        "beta-likeness/basic",
        "beta-likeness/enhanced",
        "delta-disclosure/all",
        "delta-disclosure/occurring",
    ]
    assert achieved(found, "k-anonymity") == 4
    assert achieved(found, "l-diversity/distinct") == 3
    assert achieved(found, "l-diversity/frequency") == pytest.approx(10 / 6)
    entropy = -sum(p * math.log(p) for p in (0.6, 0.3, 0.1))
    assert achieved(found, "l-diversity/entropy") == pytest.approx(math.exp(entropy))
    assert achieved(found, "l-diversity/recursive") == 6.0
    whole = Counter(row[2] for row in TABLE)
    third = {"flu": 2, "cold": 2, "HIV": 2}
    distance = max(
        sum(abs(Fraction(counts.get(v, 0), sum(counts.values())) - Fraction(n, 20)) for v, n in whole.items()) / 2
        for counts in ({"flu": 6, "cold": 3, "HIV": 1}, third, {"flu": 2, "cold": 1, "HIV": 1})
    )
    assert achieved(found, "t-closeness/variational") == pytest.approx(float(distance))
    assert all(f["verdict"] is None and f["limit"] is None for f in found["findings"])


def test_recursive_diversity_of_six_three_one(tmp_path, capsys):
    path = write(tmp_path, TABLE[:10])
    call = (path, "--qi", "age,zip", "--sensitive", "disease")

    found = measured(capsys, *call)["by_name"]["l-diversity/recursive"]
    assert found["requirement"] == "recursive c at l = 3 of disease"
    assert found["achieved"]["value"] == 6.0
    beside = {c["name"]: c["measure"]["value"] for c in found["companions"]}
    assert beside["c at l = 1"] == pytest.approx(0.6)
    assert beside["c at l = 2"] == 1.5

    recursive = ("--kind", "recursive")
    measured(capsys, *call, *recursive, "--l", 2, "--c", "3/2", status=1)
    measured(capsys, *call, *recursive, "--l", 2, "--c", "1.51")
    measured(capsys, *call, *recursive, "--l", 3, "--c", 6, status=1)
    measured(capsys, *call, *recursive, "--l", 4, "--c", 1000, status=1)


@pytest.mark.parametrize("values", [2, 3, 5, 6, 7, 10])
def test_entropy_of_uniform_groups_reaches_their_number(values, tmp_path, capsys):
    rows: Rows = [(f"class {g}", "*", f"v{v}") for g in range(3) for v in range(values) for _ in range(g + 1)]
    call = (write(tmp_path, rows), "--qi", "age,zip", "--sensitive", "disease")

    assert achieved(measured(capsys, *call), "l-diversity/entropy") == float(values)
    measured(capsys, *call, "--kind", "entropy", "--l", values)
    measured(capsys, *call, "--kind", "entropy", "--l", f"{values}.000000000001", status=1)


def test_missing_quasi_identifiers_agree_with_each_other(tmp_path, capsys):
    """Three people lack the age: a class of three, neither dropped nor three classes of one."""
    rows: Rows = [(None, "1*", "flu"), (None, "1*", "cold"), (None, "1*", None), ("40-64", "1*", "flu")] + [
        ("40-64", "1*", "cold")
    ] * 3
    for form in FORMS:
        found = measured(capsys, write(tmp_path, rows, form), "--qi", "age,zip", "--sensitive", "disease")

        assert (found["records"], found["classes"]) == (7, 2)
        assert achieved(found, "k-anonymity") == 3
        assert achieved(found, "l-diversity/distinct") == 2
        assert achieved(found, "l-diversity/frequency") == pytest.approx(4 / 3)
        assert any("missing" in text for text in found["findings"][0]["assumptions"])


def test_a_shuffled_index_changes_nothing(tmp_path, capsys):
    frame = pd.DataFrame(TABLE, columns=["age", "zip", "disease"])
    frame.to_parquet(tmp_path / "a.parquet")
    frame.sample(frac=1, random_state=5).to_parquet(tmp_path / "b.parquet")
    frame.sample(frac=1, random_state=6).reset_index(drop=True).to_csv(tmp_path / "c.csv", index=False)

    call = ("--qi", "age,zip", "--sensitive", "disease")
    one, two, three = (measured(capsys, tmp_path / name, *call) for name in ("a.parquet", "b.parquet", "c.csv"))

    assert one["findings"] == two["findings"] == three["findings"]
    assert any("__index_level_0__" in remark for remark in two["remarks"])


def test_thresholds_decide_the_exit_status(tmp_path, capsys):
    call = (write(tmp_path, TABLE), "--qi", "age,zip", "--sensitive", "disease")

    good = measured(capsys, *call, "--k", 4, "--l", 3, "--t", "0.2")
    assert [(f["code"], f["verdict"]) for f in good["findings"]] == [
        ("k-anonymity", "satisfied"),
        ("l-diversity/distinct", "satisfied"),
        ("t-closeness/variational", "satisfied"),
    ]
    bad = measured(capsys, *call, "--k", 5, "--l", 3, "--kind", "entropy", "--t", "0.05", status=1)
    assert [f["verdict"] for f in bad["findings"]] == ["failed"] * 3
    assert bad["findings"][0]["groups_over"] == 1
    assert bad["findings"][0]["people_over"] == 4
    assert bad["findings"][0]["limit_exact"] == "5"
    assert bad["exit_status"] == 1

    assert main(["check-table", *map(str, call), "--k", "5"]) == 1
    told = capsys.readouterr().out
    assert "NOT MET" in told
    assert "fails in 1 of the classes, with 4 records" in told


def test_suppressed_records_are_a_class_unless_told_otherwise(tmp_path, capsys):
    rows: Rows = [
        ("20-39", "1*", "flu"),
        ("20-39", "1*", "cold"),
        ("*", "*", "flu"),
        ("*", "1*", "flu"),
        ("*", "1*", "x"),
    ]
    call = (write(tmp_path, rows), "--qi", "age,zip", "--sensitive", "disease", "--k", 2)

    told = measured(capsys, *call, status=1)
    assert (told["classes"], told["suppressed"]) == (3, 0)
    assert any("--suppressed" in remark for remark in told["remarks"])

    found = measured(capsys, *call, "--suppressed", "*")
    assert (found["records"], found["classes"], found["suppressed"]) == (5, 2, 1)
    assert any("suppressed" in text for text in found["findings"][0]["assumptions"])
    assert {c["name"]: c["measure"]["value"] for c in found["findings"][0]["companions"]}["suppressed records"] == 1


SUPPRESSING = policy_text(
    """\
[attributes]
town = { role = "quasi-identifier", domain = ["Aalen", "Bonn", "Celle"] }
ill = { role = "sensitive", domain = ["flu", "cold", "hiv"] }
[[privacy]]
model = "t-closeness"
t = "7/20"
[[privacy]]
model = "beta-likeness"
beta = "7/8"
[[privacy]]
model = "delta-disclosure"
delta = 1
values = "occurring"
[mechanism]
name = "l-diversity"
suppression = "1/5"
[release]
format = "csv"
""",
    "patients.csv",
    "Suppressing",
)


def test_classes_are_compared_with_the_suppressed_records_too(tmp_path, capsys):
    """Of 10 released records 4 have the flu, and 3 of the 4 of each class; of the 8 that are kept 4 have it."""
    classes = {"Aalen": ("flu", "flu", "flu", "cold"), "Bonn": ("cold", "cold", "cold", "flu"), "Celle": ("hiv",) * 2}
    rows = [(town, ill) for town, values in classes.items() for ill in values]
    (tmp_path / "patients.csv").write_text("town,ill\n" + "".join(f"{town},{ill}\n" for town, ill in rows))
    (tmp_path / "policy.toml").write_text(SUPPRESSING)
    bundle, data = tmp_path / "bundle", tmp_path / "bundle/public/data.csv"
    expected = {"t-closeness": 7 / 20, "beta-likeness": 7 / 8, "delta-disclosure": math.log2(15 / 8)}

    def found(*call: object) -> dict[str, float]:
        assert main([*map(str, call), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        return {f["model"].partition("/")[0]: f["achieved"]["value"] for f in told["findings"]}

    planned = found("plan", tmp_path / "policy.toml")
    assert {model: planned[model] for model in expected} == pytest.approx(expected)
    found("release", tmp_path / "policy.toml", "--out", bundle)
    assert main(["verify", str(bundle), "--source", str(tmp_path / "patients.csv")]) == 0
    capsys.readouterr()
    told = measured(capsys, data, "--qi", "town", "--sensitive", "ill", "--suppressed", "*")
    assert told["suppressed"] == 2
    assert achieved(told, "t-closeness/variational") == pytest.approx(expected["t-closeness"])
    assert achieved(told, "beta-likeness/basic") == pytest.approx(expected["beta-likeness"])
    assert achieved(told, "delta-disclosure/occurring") == pytest.approx(expected["delta-disclosure"])
    assert achieved(told, "delta-disclosure/all") == math.inf  # no class that is kept has hiv
    public = json.loads((bundle / "public/release.json").read_text())
    assert {f["model"]: f["achieved"]["value"] for f in public["findings"] if f["model"] in expected} == pytest.approx(
        expected
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_table_without_records_is_no_success(tmp_path, capsys, form):
    path = tmp_path / f"table.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"age": pa.array([], pa.string()), "disease": pa.array([], pa.string())}), path)
    else:
        path = write(tmp_path, [("20-39", "1*", "flu")], form)
        with duckdb.connect(str(path) if form == "duckdb" else ":memory:") as connection:
            if form == "duckdb":
                connection.execute("DELETE FROM people")
            else:
                text = b"age,disease\n"
                path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)

    for limits in ((), ("--k", 5), ("--k", 5, "--l", 3)):
        assert main(["check-table", str(path), "--qi", "age", "--sensitive", "disease", *map(str, limits)]) == 3
        told = capsys.readouterr()
        assert "RR317" in told.err
        assert " met " not in told.out


LIMITS: dict[str, tuple[object, ...]] = {
    "k-anonymity": ("--k", 3),
    "l-diversity/distinct": ("--l", 2),
    "t-closeness/variational": ("--t", "0.9"),
    "alpha-k-anonymity": ("--alpha", "0.9", "--k", 1),
    "beta-likeness/basic": ("--beta", 9),
    "delta-disclosure/occurring": ("--delta", 9, "--values", "occurring"),
    "k-map": ("--k-map", 1, "--sampling-fraction", "0.1", "--decided-by", "estimate"),
}


@pytest.mark.parametrize("model", LIMITS)
def test_records_that_are_all_suppressed_are_no_success(tmp_path, capsys, model):
    call = (write(tmp_path, [("*", "*", "flu"), ("*", "*", "cold")] * 3), "--qi", "age,zip", "--sensitive", "disease")

    found = measured(capsys, *call, "--suppressed", "*", *LIMITS[model], status=1)
    assert (found["records"], found["classes"], found["suppressed"]) == (6, 0, 6)
    assert found["by_name"][model]["verdict"] == "failed"
    assert found["by_name"][model]["achieved"] is None
    assert any("Every record is suppressed" in text for text in found["by_name"][model]["assumptions"])
    assert main(["check-table", *map(str, (*call, "--suppressed", "*", *LIMITS[model]))]) == 1
    assert "Every record is suppressed" in capsys.readouterr().out
    assert (
        main(["check-table", *map(str, (*call, "--suppressed", "*", *LIMITS[model])), "--output-format", "sarif"]) == 1
    )
    assert "suppress fewer records" in capsys.readouterr().out


def test_numbers_have_an_order_and_names_have_none(tmp_path, capsys):
    rows: Rows = [
        ("a", 1, 3),
        ("a", 1, 4),
        ("a", 1, 5),
        ("b", 1, 6),
        ("b", 1, 11),
        ("b", 1, 8),
        ("c", 1, 7),
        ("c", 1, 9),
        ("c", 1, 10),
    ]
    path = write(tmp_path, rows, names=("age", "zip", "salary"))
    found = measured(capsys, path, "--qi", "age,zip", "--sensitive", "salary")

    # Li et al. 2007, example 3: salaries 3..11 in three classes; 0.375 and 0.167 for the first two.
    assert achieved(found, "t-closeness/ordered") == 0.375
    names = measured(capsys, write(tmp_path, TABLE), "--qi", "age", "--sensitive", "disease")
    assert "t-closeness/ordered" not in names["by_name"]
    assert main(["check-table", str(tmp_path / "table.parquet"), *["--qi", "age", "--sensitive", "disease"], "--t", "0.1", "--distance", "ordered"]) == 2  # fmt: skip
    assert "no order" in capsys.readouterr().err


POLICY = """\
schema = 1

[policy]
name = "shared"
version = "1.0.0"

[source]
uri = "raw.csv"

[attributes]
name = { role = "identifier" }
age = { role = "quasi-identifier", domain = ["20-39", "40-64"], hierarchy = [{ "20-64" = ["20-39", "40-64"] }] }
zip = { role = "quasi-identifier", domain = ["1*", "2*"] }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
disease = { role = "sensitive", domain = ["cold", "flu", "HIV"], scale = "ordinal", hierarchy = [
  { airways = ["cold", "flu"], blood = ["HIV"] }, { any = ["airways", "blood"] } ] }
note = { role = "insensitive", domain = ["x", "y"] }

[[privacy]]
model = "k-anonymity"
k = 4

[[privacy]]
model = "l-diversity"
kind = "distinct"
l = 3
where = { age = "20-39" }

[[privacy]]
model = "t-closeness"
distance = "hierarchical"
t = "1/5"

[[privacy]]
model = "attribute-disclosure"
threshold = "1/3"

[mechanism]
name = "pram"
"""


def test_a_policy_tells_columns_orders_hierarchies_and_limits(tmp_path, capsys):
    (tmp_path / "policy.toml").write_text(POLICY)
    path = write(tmp_path, TABLE)

    found = measured(capsys, path, "--policy", tmp_path / "policy.toml")

    assert found["quasi_identifiers"] == ["age", "zip"]
    assert found["sensitive"] == ["disease"]
    assert [f["code"] for f in found["findings"]] == [
        "k-anonymity",
        "l-diversity/distinct",
        "t-closeness/hierarchical",
    ]
    assert {f["verdict"] for f in found["findings"]} == {"satisfied"}
    assert found["findings"][0]["place"]["line"] == 20
    # Half the distance on the leaves, half that between airways and blood.
    cold, flu, hiv = Fraction(6, 20), Fraction(10, 20), Fraction(4, 20)
    leaves = (abs(Fraction(1, 3) - cold) + abs(Fraction(1, 3) - flu) + abs(Fraction(1, 3) - hiv)) / 2
    assert achieved(found, "t-closeness/hierarchical") == pytest.approx(float((leaves + abs(Fraction(1, 3) - hiv)) / 2))
    assert any("sex" in remark for remark in found["remarks"])
    assert any("attribute-disclosure" in remark for remark in found["remarks"])

    also = measured(capsys, path, "--policy", tmp_path / "policy.toml", "--k", 7, status=1)
    assert [f["verdict"] for f in also["findings"]] == ["failed", "satisfied", "satisfied", "satisfied"]


def test_a_subgroup_may_stand_on_any_level_of_its_hierarchy(tmp_path, capsys):
    (tmp_path / "policy.toml").write_text(POLICY)
    uniform: Rows = [("20-64", "1*", "flu")] * 4 + [("40-64", "1*", d) for d in ("flu", "cold", "HIV", "flu")]

    found = measured(capsys, write(tmp_path, uniform), "--policy", tmp_path / "policy.toml", status=1)
    assert found["by_name"]["l-diversity/distinct"]["verdict"] == "failed"
    assert found["by_name"]["l-diversity/distinct"]["people_over"] == 4
    assert found["by_name"]["l-diversity/distinct"]["requirement"] == "distinct l >= 3 of disease where age = 20-39"


def test_values_without_a_place_are_refused_where_places_matter(tmp_path, capsys):
    (tmp_path / "policy.toml").write_text(POLICY)
    rows: Rows = [("20-39", "1*", "flu"), ("20-39", "1*", "plague")]

    assert main(["check-table", str(write(tmp_path, rows)), "--policy", str(tmp_path / "policy.toml")]) == 3
    told = capsys.readouterr().err
    assert "RR313" in told
    assert "plague" not in told


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([], 2, "nothing makes a class"),
        (["--qi", "age,zap"], 3, "did you mean 'zip'?"),
        (["--qi", "age,zip", "--sensitive", "zip"], 2, "named twice"),
        (["--qi", "age", "--l", "3"], 2, "sensitive"),
        (["--qi", "age", "--sensitive", "disease", "--l", "0"], 2, "l must be 1 at least"),
        (["--qi", "age", "--sensitive", "disease", "--l", "2", "--kind", "recursive"], 2, "--kind recursive needs --c"),
        (["--qi", "age", "--sensitive", "disease", "--c", "2"], 2, "--c goes with --l"),
        (["--qi", "age", "--sensitive", "disease", "--t", "2"], 2, "t lies in [0, 1]"),
        (["--qi", "age", "--sensitive", "disease", "--t", "0.1", "--distance", "hierarchical"], 2, "no hierarchy"),
        (["--qi", "age", "--k", "0"], 2, "greater than or equal to 1"),
    ],
)
def test_wrong_calls_are_told(arguments, status, told, tmp_path, capsys):
    assert main(["check-table", str(write(tmp_path, TABLE)), *arguments]) == status
    assert told in capsys.readouterr().err


def test_odd_names_of_columns(tmp_path, capsys):
    odd: Rows = [("a, b", '"', 'x"y'), ("a, b", '"', "x;y"), (True, '"', "é")][:2]
    path = write(tmp_path, odd, names=("a, b", 'q"i', "it's"))
    found = measured(capsys, path, "--qi", "a, b", "--qi", 'q"i', "--sensitive", "it's")
    assert found["quasi_identifiers"] == ["a, b", 'q"i']
    assert achieved(found, "l-diversity/distinct") == 2


def test_several_sensitive_columns_are_measured_each(tmp_path, capsys):
    rows: Rows = [("a", "flu", 1), ("a", "flu", 2), ("b", "flu", 3), ("b", "cold", 3)]
    path = write(tmp_path, rows, names=("age", "disease", "grade"))

    found = measured(capsys, path, "--qi", "age", "--sensitive", "disease,grade", "--l", "2", status=1)
    assert [(f["requirement"], f["achieved"]["value"]) for f in found["findings"]] == [
        ("distinct l >= 2 of disease", 1.0),
        ("distinct l >= 2 of grade", 1.0),
    ]
    assert [f["people_over"] for f in found["findings"]] == [2, 2]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["check-table", *map(str, arguments)]) in {2, 3}
    return capsys.readouterr().err


@pytest.mark.parametrize("form", FORMS)
def test_lists_are_not_taken_for_values(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [["flu", "cold"], ["flu", "HIV"]]
    spelled = '"[""flu"", ""cold""]"'
    rows: Rows = [("20-39", "1*", spelled if form.startswith("csv") else sets[i % 2]) for i in range(4)]
    path = write(tmp_path, rows, form)

    said = refused(capsys, path, "--qi", "age,zip", "--sensitive", "disease")
    assert "RR312" in said
    assert "'disease' contains lists" in said
    assert main(["check-table", str(path), "--qi", "age,zip"]) == 0


def test_texts_in_brackets_are_no_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, [("[20, 40]", "1*", '["x"]'), ("[20, 40]", "1*", "y")])
    assert measured(capsys, path, "--qi", "age,zip", "--sensitive", "disease")["classes"] == 1


def test_what_is_lacking_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, TABLE, "csv", ("age_group", "zip", "disease"))
    assert "did you mean 'age_group'?" in refused(capsys, path, "--qi", "age,zip")
    call = (path, "--qi", "zip", "--sensitive", "disease", "--l", "3")
    assert "--kind recursive needs --c" in refused(capsys, *call, "--kind", "recursive")
    assert "--c belongs to --kind recursive" in refused(capsys, *call, "--c", "2")


def test_a_folder_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "release" / "public").mkdir(parents=True)
    write(tmp_path, TABLE, "csv").rename(tmp_path / "release" / "public" / "data.csv")
    for folder in (tmp_path / "release", tmp_path / "release" / "public"):
        said = refused(capsys, folder, "--qi", "age")
        assert "is a folder" in said
        assert f"did you mean {tmp_path / 'release' / 'public' / 'data.csv'}?" in said


SPANISH = "Encuesta\n\nciudad;edad;enfermedad\n" + "Cádiz;1,5;flu\nCádiz;1,5;HIV\nÁvila;2;flu\nÁvila;NA;flu\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_file_is_read_as_it_shows_and_that_is_said(packed, tmp_path, capsys):
    content = SPANISH.encode("latin-1")
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)

    assert main(["check-table", str(path), "--qi", "ciudad", "--sensitive", "enfermedad"]) == 0
    told = capsys.readouterr().out
    assert "4 records, 2 equivalence classes" in told
    assert "note: read with the file's delimiter ';', encoding latin-1, decimal ',', 2 lines before" in told


SPELLED = policy_text("""\
missing = ["NA"]
[source.csv]
delimiter = ":"
decimal = ","
quote = ""
skip = 1
[attributes]
age = { role = "quasi-identifier", domain = [1.5, 2], nulls = "unknown", release_as = "age_group" }
ill = { role = "sensitive", domain = ["no", '"yes'] }
[[privacy]]
model = "k-anonymity"
k = 2
[mechanism]
name = "l-diversity"

""")


def test_a_policy_says_how_its_table_is_read_and_its_release_is_read_as_it_is(tmp_path, capsys):
    (tmp_path / "policy.toml").write_text(SPELLED)
    (tmp_path / "copy.csv").write_text('title\nage:ill\n1,5:no\n1,50:"yes\n2:no\nNA:no\n')
    (tmp_path / "release.csv").write_text('age_group,ill\n1.5,no\n1.5,"""yes"\nunknown,no\nunknown,no\n')

    call = ("--policy", tmp_path / "policy.toml")
    found = measured(capsys, tmp_path / "copy.csv", *call, status=1)
    assert (found["records"], found["classes"], found["quasi_identifiers"]) == (4, 3, ["age"])  # 1,5 is 1,50
    found = measured(capsys, tmp_path / "release.csv", *call)
    assert (found["records"], found["classes"], found["quasi_identifiers"]) == (4, 2, ["age_group"])


def test_units_are_counted_by_all_their_records(tmp_path: Path, capsys: Any) -> None:
    generator = random.Random(3)
    homes = [[(generator.choice("fm"), generator.choice("xy")) for _ in range(1 + h % 2)] for h in range(60)]
    rows = [("h" + str(h), *member) for h, members in enumerate(homes) for member in members]
    generator.shuffle(rows)
    table = tmp_path / "homes.csv"
    table.write_text("hid,sex,ill\n" + "".join(f"{','.join(row)}\n" for row in rows))
    keys = Counter(tuple(sorted(sex for sex, _ in members)) for members in homes)
    tuples, each = defaultdict(set), defaultdict(set)
    for members in homes:
        key = tuple(sorted(sex for sex, _ in members))
        tuples[key].add(tuple(sorted(members)))
        for sex, ill in members:
            each[key, sex].add(ill)
    l = min(len(found) for found in (*tuples.values(), *each.values()))
    k = min(keys.values())
    single = Counter(sex for _, sex, _ in rows)
    risks = [1 - math.prod(1 - 1 / single[sex] for sex, _ in members) for members in homes]

    given = ["check-table", str(table), "--qi", "sex", "--sensitive", "ill", "--unit", "hid"]
    assert main([*given, "--k", str(k + 1), "--l", str(l), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    (by_k,) = (f for f in told["findings"] if f["model"] == "k-anonymity")
    (by_l,) = (f for f in told["findings"] if f["model"] == "l-diversity/distinct")
    assert (by_k["achieved"]["value"], by_k["verdict"]) == (k, "failed")
    assert (by_l["achieved"]["value"], by_l["verdict"]) == (l, "satisfied")
    assert by_k["people_over"] == sum(n for n in keys.values() if n <= k)
    assert told["unit"] == "hid"
    assert main([*given, "--json"]) == 0
    (risk,) = (r for r in json.loads(capsys.readouterr().out)["risks"] if r["model"] == "unit-risk")
    assert risk["achieved"]["value"] == 1 / k
    numbers = {c["name"]: c["measure"]["value"] for c in risk["companions"]}
    assert numbers["units"] == 60
    assert numbers["alone"] == sum(n == 1 for n in keys.values())
    assert numbers["average"] == len(keys) / 60
    assert numbers["highest by single records"] == pytest.approx(max(risks), rel=1e-12)
    assert numbers["average by single records"] == pytest.approx(sum(risks) / 60, rel=1e-12)
    assert main(given) == 0
    assert "each requirement counts the 60 units of 'hid', by all their records" in capsys.readouterr().out


def test_units_that_cannot_be_counted_are_refused(tmp_path: Path, capsys: Any) -> None:
    table = tmp_path / "homes.csv"
    table.write_text("hid,sex,ill\nh1,f,x\n,m,y\n")
    given = ["check-table", str(table), "--qi", "sex", "--sensitive", "ill"]

    assert main([*given, "--unit", "home"]) == 3
    assert "RR311" in capsys.readouterr().err
    assert main([*given, "--unit", "hid"]) == 3
    assert "RR324 1 record has no 'hid'" in capsys.readouterr().err
    table.write_text("hid,sex,ill\nh1,f,x\nh1,m,y\n")
    assert main([*given, "--unit", "hid", "--k-map", "2", "--sampling-fraction", "0.5"]) == 2
    assert "k-map is measured for single records" in capsys.readouterr().err
    assert main([*given, "--unit", "hid", "--t", "0.5", "--distance", "ordered"]) == 2
    assert "RR250" in capsys.readouterr().err
    assert main([*given, "--unit", "hid"]) == 0


def test_a_policy_of_several_records_a_unit_names_the_unit(tmp_path: Path, capsys: Any) -> None:
    policy = tmp_path / "policy.toml"
    tables = """max_records = 2
[attributes]
hid = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
ill = { role = "sensitive", domain = ["x", "y"] }
[[privacy]]
model = "k-anonymity"
k = 2
[mechanism]
name = "generalisation"
"""
    policy.write_text(policy_text(tables, "homes.csv"))
    table = tmp_path / "homes.csv"
    table.write_text("hid,sex,ill\nh1,f,x\nh1,m,y\nh2,f,x\nh3,m,y\n")

    assert main(["check-table", str(table), "--policy", str(policy)]) == 1
    assert "fails in 3 of the classes, with 3 units" in capsys.readouterr().out


def test_a_policy_without_categories_of_a_column_takes_the_table_s(tmp_path, capsys):
    """The order of the distance follows from the type of the values, as without a policy."""
    kinds = POLICY.replace('domain = ["cold", "flu", "HIV"], scale = "ordinal", hierarchy = [', 'domain = "observed" }')
    start, end = kinds.index("  { airways"), kinds.index("note = ")
    text = kinds[:start] + kinds[end:]
    (tmp_path / "policy.toml").write_text(text.replace("hierarchical", "variational").replace("1/5", "1"))
    found = measured(capsys, write(tmp_path, TABLE), "--policy", tmp_path / "policy.toml")
    assert [f["code"] for f in found["findings"]] == [
        "k-anonymity",
        "l-diversity/distinct",
        "t-closeness/variational",
    ]


def test_a_subgroup_of_a_column_that_makes_no_class_is_refused(tmp_path, capsys):
    text = POLICY.replace('where = { age = "20-39" }', 'where = { note = "x" }')
    (tmp_path / "policy.toml").write_text(text)
    capsys.readouterr()
    assert main(["check-table", str(write(tmp_path, TABLE)), "--policy", str(tmp_path / "policy.toml")]) in {2, 3}
    assert "RR311" in capsys.readouterr().err
