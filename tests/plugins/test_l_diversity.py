"""`l-diversity` from the policy file on: what is refused, planned, released, verified and estimated, by each algorithm."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError, RequirementError
from rrpolicy.estimate.opening import open_release
from rrpolicy.finding import Origin, Verdict
from rrpolicy.planning.check import check
from rrpolicy.planning.plan_result import plan_and_assess
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original
from rrpolicy.testing import check_mechanism, policy_text

from .looking import planned, problems

RARE = ("CANARY-town", 79)
POLICY = policy_text(
    """\
[attributes]
town = { role = "quasi-identifier", domain = ["north", "south", "CANARY-town"], hierarchy = [{ "land" = ["north", "south"], "sea" = ["CANARY-town"] }, { "*" = ["land", "sea"] }] }
age = { role = "quasi-identifier", bins = [0, 20, 40, 60, 80], release_as = "age_group", scale = "ordinal" }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
disease = { role = "sensitive", domain = ["none", "flu", "cold"], scale = "ordinal" }
HOURS
[[privacy]]
model = "k-anonymity"
k = 3
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = "5/4"
[mechanism]
name = "l-diversity"
""",
    "people.csv",
    "Classes",
)
HOURS = 'hours = { role = "insensitive", assume_unlinkable = "nobody knows it" }'
ALGORITHMS = {
    "full-domain": "",
    "suppressing": "suppression = 0.02\nweights = { age = 2 }",
    "pinned": "node = { town = 2, age = 1 }",
    "mondrian": 'algorithm = "mondrian"',
    "tp": 'algorithm = "tp"',
}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(options: str = "", head: str = POLICY, records: int = 1500) -> Path:
        rng = np.random.default_rng(5)
        with (tmp_path / "people.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["town", "age", "sex", "disease", "hours"])
            for i in range(records):
                town, age = RARE if i in {7, 8} else (("north", "south")[rng.integers(2)], int(rng.integers(0, 75)))
                disease = ("none", "flu", "cold")[rng.choice(3, p=[0.6, 0.3, 0.1])]
                rows.writerow([town, age, "FM"[rng.integers(2)], disease, rng.integers(3)])
        hours = 'hours = { role = "excluded" }' if 'algorithm = "tp"' in options else HOURS
        head = head.replace("k = 3", "k = 2") if 'algorithm = "tp"' in options else head
        path = tmp_path / "policy.toml"
        path.write_text(head.replace("HOURS", hours) + options + "\n")
        return path

    return make


def test_check_needs_no_data_and_no_heavy_library(write: Write) -> None:
    path = write("suppression = 0.02")
    code = f"import sys\nfrom rrpolicy.cli.main import main\nmain(['check', {str(path)!r}])\nprint([m for m in ('numpy', 'scipy', 'pyarrow', 'duckdb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip().endswith("[]")
    assert [f.verdict for f in check(open_policy(path)).findings] == [Verdict.UNDECIDED] * 2


@pytest.mark.parametrize(
    ("options", "codes", "key"),
    [
        ("node = { twon = 1 }", ["RR292"], "did you mean 'town'"),
        ("node = { town = 3 }", ["RR292"], "has no level 3"),
        ("weights = { disease = 1 }", ["RR292"], "not a quasi-identifier"),
        ("weights = { town = 0, age = 0, sex = 0 }", ["RR292"], "not all of them 0"),
        ('loss = "kl"\nweights = { town = 2 }', ["RR291"], "count in the loss ncp"),
        ('algorithm = "mondrian"\nsuppression = 0.1', ["RR291"], "belongs to the algorithm full-domain"),
        ('algorithm = "tp"\nnode = { town = 1 }', ["RR291"], "belongs to the algorithm full-domain"),
        ("suppression = 1", ["RR208"], "below 1"),
        ('loss = "magic"', ["RR208"], "cannot be"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_their_place(
    write: Write, options: str, codes: list[str], key: str
) -> None:
    path = write(options)

    found = problems(path)

    assert [p.code for p in found] == codes
    assert key in found[0].message + str(found[0].hint) + str(found[0].expected)
    assert found[0].place.line >= path.read_text().splitlines().index("[mechanism]") + 1


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ((', assume_unlinkable = "nobody knows it"', ""), "RR290", "hours"),
        (('domain = ["F", "M"]', 'domain = ["F", "*"]'), "RR292", "would also mean suppressed"),
    ],
)
def test_attributes_that_cannot_make_classes_are_refused(
    write: Write, change: tuple[str, str], code: str, told: str
) -> None:
    path = write("suppression = 0.02")
    path.write_text(path.read_text().replace(*change))

    assert [(p.code, told in p.message) for p in problems(path)] == [(code, True)]


def test_classes_need_a_quasi_identifier(write: Write) -> None:
    path = write()
    path.write_text(path.read_text().replace('role = "quasi-identifier"', 'role = "sensitive"'))

    (problem,) = [p for p in problems(path) if p.code == "RR290"]

    assert problem.message == "the policy declares no quasi-identifier"
    assert problem.place.key == "mechanism"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('hours = { role = "excluded" }', HOURS), "not 'hours'"),
        (("k = 2", "k = 5"), "as far as l = 2 by frequency"),
        (('kind = "frequency"\nl = "5/4"', 'kind = "recursive"\nl = 2\nc = 9'), "tp needs a requirement"),
        (("[mechanism]", '[[privacy]]\nmodel = "t-closeness"\nt = 0.5\n[mechanism]'), "not t-closeness"),
        (('sex = { role = "quasi-identifier"', 'sex = { role = "sensitive"'), "by one sensitive attribute"),
    ],
)
def test_tp_says_what_it_cannot_reach(write: Write, change: tuple[str, str], told: str) -> None:
    path = write(ALGORITHMS["tp"])
    path.write_text(path.read_text().replace(*change))

    found = problems(path)

    assert "RR291" in {p.code for p in found}
    assert any(told in p.message for p in found)


def test_an_ordered_column_that_becomes_one_group_for_want_of_a_hierarchy_gets_a_hint(write: Write) -> None:
    merged = 'hierarchy = [{ "young" = ["[0, 20)", "[20, 40)"], "old" = ["[40, 60)", "[60, 80]"] }]'
    age = 'scale = "ordinal"'
    texts = [
        next(
            r.text
            for r in planned(write("node = { sex = 1 }", head.replace("k = 3", "k = 600"))).plan.remarks
            if r.name == "level-age"
        )
        for head in (POLICY, POLICY.replace(age, f"{age}, {merged}", 1))
    ]

    assert texts[0].startswith(
        "'age' is released at level 1 of 1: its 4 categories as one group; give it a `hierarchy`"
    )
    assert texts[1] == "'age' is released at level 1 of 2: its 4 categories in 2 groups"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_mechanism_conforms(write: Write, name: str) -> None:
    path = write(ALGORITHMS[name])
    opened = open_policy(path)
    registry = opened.registry
    mechanism = registry.mechanisms["l-diversity"]

    with open_original(opened.policy, registry.sources, path.parent) as original:
        proposal = check_mechanism(mechanism, opened, [original])

    assert isinstance(proposal.channel, SuppressionChannel) or any(isinstance(a, Recode) for a in proposal.channel.axes)
    expected = {"pinned": [Origin.DATA, Origin.POLICY]}.get(name, [Origin.DATA])
    assert sorted(set(proposal.origins.values())) == expected


def test_a_policy_that_pins_every_level_fixes_the_channel(write: Write) -> None:
    path = write("node = { town = 2, age = 1, sex = 1 }")
    opened = open_policy(path)
    options = opened.policy.mechanism.options
    outline = opened.registry.mechanisms["l-diversity"].outline(options, opened.policy)

    assert outline.fixed is not None
    assert [a.released_size for a in outline.fixed.axes if isinstance(a, Recode)] == [1, 1, 1]
    outlook = planned(path)
    assert set(outlook.plan.origins.values()) == {Origin.POLICY}
    assert outlook.decision.passed


def test_data_are_needed_and_what_is_out_of_reach_is_said(write: Write) -> None:
    opened = open_policy(write())

    with pytest.raises(PolicyError) as caught:
        plan_and_assess(opened.policy, opened.registry, 1500)
    assert caught.value.problems[0].code == "RR255"
    for options in ALGORITHMS.values():
        path = write(options)
        path.write_text(path.read_text().replace('l = "5/4"', "l = 3"))
        with pytest.raises(RequirementError) as refused:
            planned(path)
        assert refused.value.problems[0].code == "RR105"
        assert refused.value.problems[0].hint


@pytest.mark.parametrize(
    ("options", "l", "remedies"),
    [
        ("", "3", "relax the requirement"),
        ('algorithm = "mondrian"', "3", "relax the requirement"),
        ("node = { town = 0, age = 1 }", "5/4", "let `node` generalise town further"),
        ("node = { town = 0, age = 0 }", "5/4", "let `node` generalise town, age further"),
    ],
)
def test_no_remedy_is_offered_that_does_not_apply(
    write: Write, capsys: pytest.CaptureFixture[str], options: str, l: str, remedies: str
) -> None:
    path = write(options)
    path.write_text(path.read_text().replace('l = "5/4"', f'l = "{l}"').replace(HOURS, 'hours = { role = "excluded" }'))

    assert main(["plan", str(path)]) == 1
    hint = capsys.readouterr().err.partition("  hint: ")[2].partition("\n\n")[0]
    assert remedies in hint
    assert "unchanged" not in hint
    enough = hint.partition("allow `suppression = ")[2].partition("`")[0]
    assert bool(enough) == bool(options.startswith("node"))
    if enough:
        path.write_text(path.read_text().replace("node =", f"suppression = {enough}\nnode ="))
        assert main(["plan", str(path)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_release_is_whole_verified_and_what_it_promises(write: Write, name: str, form: str, capsys: Any) -> None:
    path = write(ALGORITHMS[name])
    path.write_text(path.read_text() + f'[release]\nformat = "{form}"\n')
    bundle = path.parent / "bundle"

    assert main(["release", str(path), "--out", str(bundle)]) == 0
    assert main(["verify", str(bundle), "--source", str(path.parent / "people.csv")]) == 0
    assert main(["verify", str(bundle), "--level", "public"]) == 0
    capsys.readouterr()

    rows = released(bundle / "public", form)
    known = [c for c in rows[0] if c not in {"disease", "hours"}]
    classes: dict[tuple[Any, ...], Counter[str]] = {}
    for row in rows:
        classes.setdefault(tuple(str(row[c]) for c in known), Counter())[row["disease"]] += 1
    stars = classes.pop(("*",) * 3, Counter()) if name == "suppressing" else Counter()
    assert stars.total() <= 0.02 * 1500
    for found in classes.values():
        assert found.total() >= (2 if name == "tp" else 3)
        assert max(found.values()) * 1.25 <= found.total()
    with (path.parent / "people.csv").open() as file:
        assert Counter(row["disease"] for row in rows) == Counter(r["disease"] for r in csv.DictReader(file))
    report = json.loads((bundle / "audit" / "report.json").read_text())
    assert {s["title"] for s in report["sections"]} >= {"Tuple suppression" if name == "tp" else "Class sizes"}
    assert "suppress" in json.dumps(report["sections"]).lower()


def released(public: Path, form: str) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        if form == "duckdb":
            connection.execute(f"ATTACH '{public}/data.duckdb' AS r (READ_ONLY)")
            table = connection.execute("SELECT * FROM r.data")
        else:
            source = (
                f"read_csv('{public}/data.csv', all_varchar = true)" if form == "csv" else f"'{public}/data.parquet'"
            )
            table = connection.execute(f"SELECT * FROM {source}")
        names = [d[0] for d in table.description]
        return [dict(zip(names, row, strict=True)) for row in table.fetchall()]


RARE_WARD = policy_text(
    """\
[attributes]
ward = { role = "quasi-identifier", domain = ["A", "B"], outside = "other" }
ill = { role = "sensitive", domain = ["no", "flu"] }
[[privacy]]
model = "k-anonymity"
k = 4
[mechanism]
name = "l-diversity"
""",
    "wards.csv",
    "Wards",
)


@pytest.mark.parametrize("algorithm", ["full-domain", "mondrian"])
@pytest.mark.parametrize("rare", [2, 5])
def test_a_plan_names_what_few_suppressed_records_would_save(tmp_path: Path, algorithm: str, rare: int) -> None:
    """Of 82 records at most 4 may be suppressed; 2 of another ward make one label of three, and 5 are a class."""
    wards = ["A"] * 40 + ["B"] * 40 + [f"ward {i}" for i in range(rare)]
    (tmp_path / "wards.csv").write_text(
        "ward,ill\n" + "".join(f"{w},{('no', 'flu')[i % 2]}\n" for i, w in enumerate(wards))
    )

    def planned_as(options: str) -> Any:
        (tmp_path / "policy.toml").write_text(RARE_WARD + options)
        return planned(tmp_path / "policy.toml").plan

    told = {r.name: r for r in planned_as(f'algorithm = "{algorithm}"\n').remarks}
    if rare == 5:
        assert "alternative" not in told
        return
    asked = "" if algorithm == "full-domain" else '`algorithm = "full-domain"` with '
    assert told["alternative"].text.startswith(
        f"{asked}`suppression = 0.05` would release 2 of 82 records as `*` and keep the categories of the other 80"
    )
    followed = {r.name: r for r in planned_as("suppression = 0.05\n").remarks}
    assert told["alternative"].measure == followed["loss"].measure
    assert followed["loss"].measure.value == pytest.approx(2 / 82)
    assert followed["suppressed"].measure.value == 2
    assert told["alternative"].text.endswith("instead of 1")


@pytest.mark.parametrize("name", ["suppressing", "tp"])
def test_public_does_not_tell_who_was_suppressed(write: Write, name: str) -> None:
    path = write(ALGORITHMS[name])
    assert main(["release", str(path), "--out", str(path.parent / "bundle")]) == 0

    document = json.loads((path.parent / "bundle" / "public" / "release.json").read_text())
    plan = json.loads((path.parent / "bundle" / "audit" / "plan.json").read_text())

    if name == "tp":
        assert plan["channel"]["moved"]
        assert "moved" not in document["channel"]
    else:
        assert plan["channel"]["axes"][0]["rule"]["suppressed"]
        assert "suppressed" not in document["channel"]["axes"][0]["rule"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_estimates_are_spread_and_bounded_and_sql_says_the_same(write: Write, name: str) -> None:
    path = write(ALGORITHMS[name])
    assert main(["release", str(path), "--out", str(path.parent / "bundle")]) == 0
    public = path.parent / "bundle" / "public"
    with (path.parent / "people.csv").open() as file:
        truth = Counter((r["town"], r["sex"]) for r in csv.DictReader(file))
    release = open_release(public)

    table = release.crosstab(["town", "sex"], spread=True)

    assert table.estimate.sum() == pytest.approx(1500)
    for row in table.rows:
        assert row.low <= truth[row.group["town"], row.group["sex"]] <= row.high
        assert row.low - 1e-9 <= row.estimate <= row.high + 1e-9
        assert np.isnan(row.se) == (row.low != row.high)
    of_population = release.crosstab(["town"], target="population", spread=True)
    assert np.isnan(of_population.conf_int()).all() or not table.biased
    if table.biased:
        inside = release.disaggregate()
        for ask in (lambda: inside.association("town", "sex"), lambda: inside.independence("town", "disease")):
            with pytest.raises(PolicyError) as caught:
                ask()
            assert caught.value.problems[0].code == "RR288"
    json.dumps(table.to_dict(), allow_nan=False)
    assert "certain" in table.summary() or not table.biased
    by_sql = views(public)
    for columns in (["town"], ["town", "age_group"]):
        for row in release.crosstab(columns, spread=True).rows:
            if "_by_".join(["estimate", *columns]) in by_sql:
                found = by_sql["_by_".join(["estimate", *columns])].get(tuple(row.group[c] for c in columns), (0, 0, 0))
                assert found == pytest.approx((row.estimate, row.low, row.high))
    assert by_sql


def released_rows(public: Path, columns: str) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return Counter(connection.execute(f"SELECT {columns} FROM read_parquet('{public}/data.parquet')").fetchall())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_released_labels_are_counted_exactly_and_can_be_asked_for(write: Write, name: str) -> None:
    path = write(ALGORITHMS[name])
    assert main(["release", str(path), "--out", str(path.parent / "bundle")]) == 0
    public = path.parent / "bundle" / "public"
    release = open_release(public)
    truth = released_rows(public, "town, disease")

    table = release.crosstab(["town", "disease"])

    assert not table.biased
    assert {(r.group["town"], r.group["disease"]): r.estimate for r in table.rows if r.estimate} == truth
    assert {(r.se, r.low - r.estimate) for r in table.rows} == {(0.0, 0.0)}
    overlapping = name in {"suppressing", "mondrian", "tp"}
    assert overlapping == any(r.high > r.estimate for r in table.rows), "records of another label may belong to the row"
    assert "exact" in table.summary()
    rates = release.query(
        "SELECT town, count(*) FILTER (WHERE disease = 'flu') / count(*) AS flu FROM release GROUP BY town"
    )
    frame = rates.to_frame()
    for town, rate in zip(frame["town"], frame["flu"], strict=True):
        own = sum(n for (t, _), n in truth.items() if t == town)
        assert rate == pytest.approx(truth[town, "flu"] / own) if own else np.isnan(rate)
    for label in {t for t, _ in truth}:
        axis = release.columns.spread.get("town")
        quoted = label.replace("'", "''")
        counted = release.crosstab(where=f"town = '{quoted}'")
        if axis is None or axis.is_label(label):
            assert counted.estimate.sum() == sum(n for (t, _), n in truth.items() if t == label)
        else:  # other labels stand for some of its categories, too: bounds
            (row,) = counted.rows
            assert row.low <= sum(n for (t, _), n in truth.items() if t == label) <= row.high
    if overlapping:  # labels that overlap stand for no attribute of a person
        with pytest.raises(PolicyError, match="RR288"):
            release.association("town", "disease")
        return
    found = release.association("town", "disease").to_frame()
    assert found["estimate"].notna().any() == (len({t for t, _ in truth}) > 1)
    assert found["estimator"].isin(["moment", "not estimable"]).all()


def views(public: Path) -> dict[str, dict[tuple[Any, ...], tuple[float, ...]]]:
    with duckdb.connect() as connection:
        text = (
            (public / "estimate.sql")
            .read_text()
            .replace("'data.parquet'", f"'{public}/data.parquet'")
            .replace("'weights/", f"'{public}/weights/")
        )
        for statement in connection.extract_statements(text):
            connection.execute(statement).fetchall()
        found = {}
        for (name,) in connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'estimate%'"
        ).fetchall():
            rows = connection.execute(f'FROM "{name}"').fetchall()
            found[name] = {row[:-3]: row[-3:] for row in rows}
        return found
