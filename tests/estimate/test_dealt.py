"""Counting across two tables: bounds by enumerating every matching and by simulation, SQL and R that agree."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.bundle.tables.writer import FolderSink
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.counts import tabulate
from rrpolicy.declarations import EMPTY_GOVERNANCE
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.opening import open_release
from rrpolicy.exports.files import public_files
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import (
    Data,
    DataTable,
    Manifest,
    PolicyIdentity,
    UnitBound,
)
from rrpolicy.plugin_spec import Software

SEX, AGE, VALUES = ("f", "m"), ("old", "young"), ("acne", "cold", "flu", "none")
DOMAINS = {"sex": SEX, "age": AGE, "disease": VALUES}


def column(name: str, kind: Any = "category") -> Column:
    return Column(name, kind, DOMAINS.get(name, ()), "VARCHAR" if name in DOMAINS else "INTEGER", name)


CHANNEL = AnatomyChannel(
    (column("sex"), column("age")),
    (column("disease"),),
    Column("group_id", "group", (), "INTEGER", ""),
    Column("count", "count", (), "INTEGER", ""),
    2,
)


class Table:
    """An original in memory."""

    def __init__(self, codes: Mapping[str, Any]) -> None:
        self.codes = {name: np.asarray(values, dtype=np.int32) for name, values in codes.items()}
        self.records = len(self.codes["sex"])

    def counts(self, *attributes: str) -> Any:
        rows = np.column_stack([self.codes[a] for a in attributes])
        shape = tuple(len(DOMAINS[a]) for a in attributes)
        return tabulate(attributes, shape, rows, np.ones(self.records, dtype=np.int64))


SEALED = "sha256:" + "0" * 64


def manifest(channel: AnatomyChannel, records: int, form: Any, paths: Mapping[str, str]) -> Manifest:
    return Manifest(
        release=None,
        policy=PolicyIdentity("groups", "1", "tests", "tests", SEALED),
        software=Software("0.1.0", ()),
        records=records,
        units=UnitBound(1),
        mechanism="anatomy",
        plan_on=False,
        attributes=(),
        channel=channel.to_public_json(),
        decoders=channel.decoders(),
        tables=channel.tables(),
        data=Data(form, "escape", None, {name: DataTable((path,), records, SEALED) for name, path in paths.items()}),
        requirements=(),
        findings=(),
        utility=(),
        origins={},
        derived=(),
        assumptions=("tests only",),
        governance=EMPTY_GOVERNANCE,
        governance_digest=EMPTY_GOVERNANCE.digest(),
        require_signatures=0,
    ).sealed({})


def publish(
    folder: Path,
    original: Any,
    seed: int = 1,
    form: Any = "parquet",
    size: int = 2,
    *,
    channel: AnatomyChannel = CHANNEL,
) -> Any:
    channel = replace(channel, size=size)
    folder.mkdir(parents=True, exist_ok=True)
    sink = FolderSink(channel.tables(), folder, form, folder)
    channel.draw(original, Streams.for_tests(seed), sink)
    written = sink.finish()
    described = manifest(channel, original.records, form, {name: w.files[0] for name, w in written.items()})
    (folder / "release.json").write_text(json.dumps(described.to_json()))
    for name, content in public_files(described).items():
        (folder / name).write_bytes(content)
    return open_release(folder, verify=False)


def people(records: int, seed: int, dependence: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 2, records)
    disease = np.where(rng.random(records) < dependence, age, rng.integers(0, 4, records))
    return Table({"sex": rng.integers(0, 2, records), "age": age, "disease": disease})


def by_hand(folder: Path, members: list[list[tuple[int, int]]], values: list[list[int]]) -> Any:
    """Write groups that are given: who stands in each, and which values it has."""
    folder.mkdir(exist_ok=True)
    qit = sorted((SEX[s], AGE[a], g) for g, group in enumerate(members, 1) for s, a in group)
    st = [(g, VALUES[v], 1) for g, group in enumerate(values, 1) for v in sorted(group)]
    names = {"qit": ("sex", "age", "group_id"), "st": ("group_id", "disease", "count")}
    for name, rows in (("qit", qit), ("st", st)):
        table = pa.table({c: list(v) for c, v in zip(names[name], zip(*rows, strict=True), strict=True)})
        duckdb.from_arrow(table).write_parquet(str(folder / f"{name}.parquet"))
    described = manifest(CHANNEL, len(qit), "parquet", {"qit": "qit.parquet", "st": "st.parquet"})
    (folder / "release.json").write_text(json.dumps(described.to_json()))
    return open_release(folder, verify=False)


MEMBERS = [[(0, 0), (0, 1), (1, 0)], [(0, 0), (1, 1)], [(1, 0), (1, 0)]]
HELD = [[0, 1, 2], [0, 3], [1, 2]]


def test_bounds_are_those_of_every_matching(tmp_path):
    release = by_hand(tmp_path, MEMBERS, HELD)
    counted: dict[tuple[str, str], list[int]] = {(s, d): [] for s in SEX for d in VALUES}
    for matching in itertools.product(*(itertools.permutations(values) for values in HELD)):
        found = dict.fromkeys(counted, 0)
        for group, values in zip(MEMBERS, matching, strict=True):
            for (sex, _), value in zip(group, values, strict=True):
                found[SEX[sex], VALUES[value]] += 1
        for key, n in found.items():
            counted[key].append(n)

    for row in release.crosstab(["sex", "disease"]).rows:
        numbers = counted[row.group["sex"], row.group["disease"]]
        assert row.estimate == pytest.approx(np.mean(numbers))
        assert (row.low, row.high) == (min(numbers), max(numbers))
        assert row.se == 0 if row.low == row.high else np.isnan(row.se)
        assert row.flags == (() if row.low == row.high else ("spread",))


def test_conditions_on_both_tables(tmp_path):
    release = by_hand(tmp_path, MEMBERS, HELD)
    numbers = []
    for matching in itertools.product(*(itertools.permutations(values) for values in HELD)):
        pairs = [(p, v) for g, m in zip(MEMBERS, matching, strict=True) for p, v in zip(g, m, strict=True)]
        numbers.append(sum(sex == 1 and value in {1, 3} for (sex, _), value in pairs))
    (row,) = release.crosstab(where="disease IN ('cold', 'none') AND sex = 'm'").rows
    (same,) = release.crosstab(["sex"], where="disease IN ('cold', 'none') AND sex = 'm'").rows

    expected = (np.mean(numbers), min(numbers), max(numbers))
    assert (row.estimate, row.low, row.high) == pytest.approx(expected)
    assert (same.estimate, same.low, same.high) == pytest.approx(expected)
    named = release.crosstab(["disease"], where="disease IN ('cold', 'none') AND sex = 'm'").rows
    assert sum(r.estimate for r in named) == pytest.approx(row.estimate)


def test_counts_of_one_table_are_exact(tmp_path):
    original = people(500, 3)
    release = publish(tmp_path, original)
    for by in (["sex"], ["age", "sex"], ["disease"], []):
        table = release.crosstab(by)
        exact = original.counts(*by).dense() if by else np.array(500)
        order = [table.by.index(name) for name in by]
        assert np.allclose(table.estimate.reshape([len(DOMAINS[b]) for b in by] or ()).transpose(order), exact)
        assert np.allclose(table.se(), 0)


def test_margins_add_up_and_formats_agree(tmp_path):
    original = people(600, 4, 0.3)
    found = [
        publish(tmp_path / form, original, 2, form).crosstab(["sex", "disease"])
        for form in ("parquet", "csv", "duckdb")
    ]

    for table in found:
        assert np.allclose(table.estimate, found[0].estimate)
        assert np.allclose(table.estimate.sum(axis=0), original.counts("disease").dense())
        assert np.allclose(table.estimate.sum(axis=1), original.counts("sex").dense())


@pytest.mark.parametrize("dependence", [0.0, 0.3, 0.6])
def test_bounds_hold_the_count_whatever_goes_with_what(tmp_path, dependence):
    for seed in range(12):
        original = people(300, seed, dependence)
        release = publish(tmp_path / str(seed), original, seed)
        for by in (["age", "disease"], ["sex", "age", "disease"]):
            ends = release.crosstab(by).conf_int()
            truth = original.counts(*by).dense().reshape(-1)
            assert ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all()


def test_no_standard_error_is_claimed_where_values_go_with_other_columns(tmp_path):
    """The error that chance inside groups would have covers nothing of the bias: its z-scores lie far apart."""
    original = people(4000, 2, 0.4)
    table = publish(tmp_path, original).crosstab(["age", "disease"])
    truth = original.counts("age", "disease").dense()
    members = 4000 / len(CHANNEL.known)
    by_chance = np.sqrt(np.maximum(table.estimate * (1 - table.estimate / members), 0))

    assert (np.abs(table.estimate - truth) / by_chance).max() > 5
    for target in ("table", "population"):
        assert np.isnan(table.se(target)).all()
    assert np.isnan(table.to_frame()["se"]).all()
    assert all(row["se"] is None for row in table.to_dict()["rows"])


def test_nothing_is_certain_of_the_population(tmp_path):
    table = publish(tmp_path, people(300, 1)).crosstab(["sex", "disease"], target="population")

    assert np.isnan(table.conf_int()).all()
    assert np.isnan(table.se()).all()
    assert "certain" not in table.summary().replace("certain bounds apply to this table alone", "")
    assert "low" not in table.summary()


def test_the_sensitive_column_alone_has_the_error_of_a_sample(tmp_path):
    original = people(300, 1)
    table = publish(tmp_path, original).crosstab("disease", target="population")
    x = original.counts("disease").dense()

    assert table.se() == pytest.approx(np.sqrt(300 / 299 * (x - x**2 / 300)))


ALONE = [
    ("SELECT disease, share() FROM release GROUP BY disease", lambda x: x / x.sum()),
    (
        "SELECT disease, count(*) / sum(count(*)) OVER () FROM release WHERE disease <> 'flu' GROUP BY disease",
        lambda x: x[[0, 1, 3]] / x[[0, 1, 3]].sum(),
    ),
    ("SELECT count(*) FILTER (WHERE disease = 'cold') / count(*) AS estimate FROM release", lambda x: x[1:2] / x.sum()),
]


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
@pytest.mark.parametrize(("sql", "truth"), ALONE)
def test_shares_of_the_sensitive_column_alone_are_exact(tmp_path, sql, truth, form):
    original = people(300, 5)
    found = publish(tmp_path, original, form=form).query(sql)

    assert found.estimate[:, 0] == pytest.approx(truth(original.counts("disease").dense()))
    assert (found.se() == 0).all()


SHARES: dict[str, tuple[Callable[..., bool], Callable[..., bool], bool]] = {
    "SELECT count(*) FILTER (WHERE disease = 'cold') / count(*) FROM release WHERE sex = 'f'":
        (lambda sex, age, ill: ill == 1, lambda sex, age, ill: sex == 0, True),
    "SELECT count(*) FILTER (WHERE sex = 'm') / count(*) FROM release WHERE disease IN ('acne', 'flu')":
        (lambda sex, age, ill: sex == 1, lambda sex, age, ill: ill in {0, 2}, True),
    "SELECT count(*) FILTER (WHERE disease = 'acne' AND age = 'old') / count(*) FROM release":
        (lambda sex, age, ill: ill == 0 and age == 0, lambda sex, age, ill: True, True),
    "SELECT count(*) FILTER (WHERE age = 'old') / count(*) FROM release WHERE sex = 'f' AND disease <> 'flu'":
        (lambda sex, age, ill: age == 0, lambda sex, age, ill: sex == 0 and ill != 2, False),
}  # fmt: skip


@pytest.mark.parametrize("sql", SHARES)
def test_shares_lie_between_those_of_every_matching(tmp_path, sql):
    release = by_hand(tmp_path, MEMBERS, HELD)
    part, whole, tight = SHARES[sql]
    found = []
    for matching in itertools.product(*(itertools.permutations(values) for values in HELD)):
        people = [(*p, v) for g, m in zip(MEMBERS, matching, strict=True) for p, v in zip(g, m, strict=True)]
        inside = [p for p in people if whole(*p)]
        found += [sum(part(*p) for p in inside) / len(inside)] if inside else []

    answer = release.query(sql)
    (row,) = answer.to_frame().to_dict("records")
    assert row["low"] <= min(found) + 1e-12
    assert row["high"] >= max(found) - 1e-12
    assert row["low"] <= row["estimate"] <= row["high"]
    if tight:
        assert (row["low"], row["high"]) == pytest.approx((min(found), max(found)))
    assert "certain" in answer.summary()


@pytest.mark.parametrize("seed", range(3))
def test_shares_of_drawn_groups_hold_the_truth(tmp_path, seed):
    original = people(300, seed)
    release = publish(tmp_path, original)
    true = original.counts("sex", "disease").dense()
    for over, sql in (
        (true.sum(), "SELECT sex, disease, share() AS s FROM release GROUP BY sex, disease"),
        (
            true.sum(axis=1, keepdims=True),
            "SELECT sex, disease, count(*) / sum(count(*)) OVER (PARTITION BY sex) AS s FROM release GROUP BY sex, disease",
        ),
        (
            true.sum(axis=0, keepdims=True),
            "SELECT sex, disease, count(*) / sum(count(*)) OVER (PARTITION BY disease) AS s FROM release GROUP BY sex, disease",
        ),
    ):
        expected = {(s, d): (true / over)[i, j] for i, s in enumerate(SEX) for j, d in enumerate(VALUES)}
        for row in release.query(sql).to_frame().to_dict("records"):
            assert row["s_low"] - 1e-12 <= expected[row["sex"], row["disease"]] <= row["s_high"] + 1e-12
            assert row["s_low"] <= row["s"] <= row["s_high"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_an_empty_label_loses_nobody(tmp_path, form, monkeypatch):
    monkeypatch.setitem(DOMAINS, "sex", ("", "m"))
    monkeypatch.setitem(DOMAINS, "disease", ("acne", "", "flu", "none"))
    empty = replace(CHANNEL, known=(column("sex"), column("age")), sensitive=(column("disease"),))
    original = people(300, 5)
    release = publish(tmp_path, original, form=form, channel=empty)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        connection.execute((tmp_path / "estimate.sql").read_text())
        found = connection.execute('SELECT sex, disease, estimate FROM "estimate_sex_by_disease"').fetchall()
        alone = connection.execute('FROM "estimate_disease"').fetchall()
    x = original.counts("disease").dense()

    table = release.crosstab(["sex", "disease"])
    assert {(s, d): n for s, d, n in found} == pytest.approx(
        {(r.group["sex"], r.group["disease"]): r.estimate for r in table.rows}
    )
    assert table.estimate.sum() == pytest.approx(300)
    assert dict(alone) == dict(zip(DOMAINS["disease"], x, strict=True))
    assert release.crosstab("disease", where="sex = ''").estimate.sum() == original.counts("sex").dense()[0]


def test_where_values_go_with_other_columns_estimates_lie_nearer_to_independence(tmp_path):
    original = people(4000, 2, 0.4)
    table = publish(tmp_path, original).crosstab(["age", "disease"])
    truth = original.counts("age", "disease").dense()
    independent = truth.sum(axis=1, keepdims=True) * truth.sum(axis=0) / 4000

    assert (np.abs(table.estimate - independent) < np.abs(truth - independent))[:, :2].all()
    assert "drawn towards independence" in table.method
    assert {row.flags for row in table.rows} == {("spread",)}
    assert "drawn towards" in table.summary()
    assert "low, certain" in table.summary()
    assert " se " not in table.summary()


def test_a_cube_has_the_tables_of_every_subset(tmp_path):
    release = publish(tmp_path, people(300, 1))
    cube = release.cube(["sex", "disease"])

    assert [t.by for t in cube.tables] == [(), ("sex",), ("disease",), ("sex", "disease")]
    assert np.allclose(cube.table("disease", "sex").estimate, release.crosstab(["sex", "disease"]).estimate)


def test_sql_is_answered_across_both_tables(tmp_path):
    release = publish(tmp_path, people(300, 1))
    asked = release.query("SELECT sex, disease, count(*) AS n FROM release WHERE age = 'old' GROUP BY sex, disease")
    table = release.crosstab(["sex", "disease"], where="age = 'old'")

    assert sorted(asked.to_frame()["n"]) == pytest.approx(sorted(table.estimate.reshape(-1)))
    with pytest.raises(PolicyError):
        release.query("SELECT disease, avg(age) FROM release GROUP BY disease")


ASKED: list[Callable[[Any], Any]] = [
    lambda r: r.association("sex", "disease"),
    lambda r: r.independence("sex", "disease"),
    lambda r: r.loglinear("sex*disease"),
    lambda r: r.rules(0.1, 0.1),
    lambda r: r.crosstab(["sex", "disease"], estimator="em"),
    lambda r: r.crosstab(["sex", "disease"]).covariance(),
]


def mean_of_matchings() -> Any:
    """Return (sex, disease) mean counts over all ways in which values can go with records."""
    total, number = np.zeros((2, 4)), 0
    for matching in itertools.product(*(itertools.permutations(values) for values in HELD)):
        number += 1
        for group, values in zip(MEMBERS, matching, strict=True):
            for (sex, _), value in zip(group, values, strict=True):
                total[sex, value] += 1
    return total / number


def test_association_of_spread_counts_is_that_of_the_mean_of_all_matchings_and_says_so(tmp_path):
    release = by_hand(tmp_path, MEMBERS, HELD)
    table = mean_of_matchings()
    n, r, c = table.sum(), table.sum(axis=1), table.sum(axis=0)
    with pytest.raises(PolicyError, match="RR288") as refused:
        release.association("sex", "disease")
    assert "spread=True" in refused.value.problems[0].hint

    found = release.association("sex", "disease", spread=True)

    assert found["chi2"] == pytest.approx(((table - np.outer(r, c) / n) ** 2 / (np.outer(r, c) / n)).sum())
    held = table > 0
    information = (table[held] / n * np.log(table * n / np.outer(r, c), where=held, out=np.zeros((2, 4)))[held]).sum()
    assert found["mutual_information"] == pytest.approx(information)
    assert found.biased
    assert all(flags == ("spread",) for flags in found.flags)
    assert set(found.estimator) == {"spread"}
    for target in ("table", "population"):
        assert np.isnan(found.se(target)).all()
        assert np.isnan(found.conf_int(target=target)).all()
    text = found.summary()
    assert "spread evenly inside released groups" in text
    assert "no interval and no bounds" in text
    assert not re.search(r"\bcertain\b", text)
    assert all(row["se"] is None and row["flags"] == ["spread"] for row in found.to_dict()["rows"])


def test_association_of_spread_counts_of_two_by_two(tmp_path):
    release = by_hand(tmp_path, MEMBERS, HELD)
    table = mean_of_matchings()
    x = np.array([[table[1, [0, 2, 3]].sum(), table[1, 1]], [table[0, [0, 2, 3]].sum(), table[0, 1]]])
    r, c = x.sum(axis=1), x.sum(axis=0)

    found = release.association("sex", "disease", ["phi", "odds_ratio"], present=(["f"], ["cold"]), spread=True)

    assert found["phi"] == pytest.approx((x[1, 1] * x[0, 0] - x[1, 0] * x[0, 1]) / np.sqrt(np.prod(r) * np.prod(c)))
    assert found["odds_ratio"] == pytest.approx(x[1, 1] * x[0, 0] / (x[1, 0] * x[0, 1]))


def tables_of_matchings(row: Sequence[int], column: Sequence[int]) -> set[tuple[float, ...]]:
    """Return every 2 x 2 table that giving the values of each group to its members can make."""
    found = set()
    for matching in itertools.product(*(itertools.permutations(values) for values in HELD)):
        x = np.zeros((2, 2))
        for group, values in zip(MEMBERS, matching, strict=True):
            for (sex, _), value in zip(group, values, strict=True):
                x[int(sex in row), int(value in column)] += 1
        found.add(tuple(x.reshape(-1).tolist()))
    return found


@pytest.mark.parametrize("column", [[1], [0], [0, 1], [2], [1, 3], [0, 2, 3]])
def test_bounds_of_measures_of_two_by_two_are_certain_and_tight(tmp_path, column):
    release = by_hand(tmp_path, MEMBERS, HELD)
    asked = (["f"], [DOMAINS["disease"][v] for v in column])
    found = release.association("sex", "disease", present=asked, spread=True)
    low, high = found.conf_int().T
    tables = [np.array(x).reshape(2, 2) for x in tables_of_matchings([SEX.index("f")], column)]

    assert len(tables) > 1 or (low == high).all()
    for place, key in enumerate(found.keys):
        measure = MEASURES[key["measure"]]
        with np.errstate(all="ignore"):
            values = np.array([measure.of(x)[0] for x in tables])
        held = values[~np.isnan(values)]
        assert (low[place] <= held + 1e-12).all()
        assert (held <= high[place] + 1e-12).all()
        if len(held) == len(values) and not measure.kind.dependence:
            assert (low[place], high[place]) == pytest.approx((values.min(), values.max()))
        assert np.isnan(found.estimate[place]) or low[place] - 1e-12 <= found.estimate[place] <= high[place] + 1e-12
    assert np.isnan(found.conf_int(target="population")).all()
    assert "certain" in found.summary()
    assert "no count" not in found.summary()


def test_bounds_need_exact_margins(tmp_path):
    release = by_hand(tmp_path, MEMBERS, HELD)

    found = release.association("sex", "disease", "phi", "age = 'old'", present=(["f"], ["cold"]), spread=True)

    assert np.isnan(found.conf_int()).all()
    assert "certain" not in found.summary()


def test_association_of_what_is_not_spread_is_not_changed_by_asking(tmp_path):
    release = publish(tmp_path, people(300, 5))

    asked, plain = (release.association("sex", "age", spread=spread) for spread in (True, False))

    assert asked.estimate == pytest.approx(plain.estimate)
    assert not asked.biased


@pytest.mark.parametrize("ask", ASKED)
def test_what_needs_independent_weights_is_refused(tmp_path, ask):
    with pytest.raises(PolicyError, match="RR288"):
        ask(publish(tmp_path, people(300, 1)))


def test_tables_that_are_not_as_described_are_refused(tmp_path):
    release = publish(tmp_path, people(300, 1))
    (tmp_path / "st.parquet").write_bytes(b"PAR1")
    with pytest.raises(PolicyError, match="RR269"):
        release.crosstab(["sex", "disease"])


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_estimate_sql_runs_and_agrees(tmp_path, form, monkeypatch):
    release = publish(tmp_path, people(700, 6, 0.3), form=form)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        connection.execute((tmp_path / "estimate.sql").read_text())
        found = connection.execute('FROM "estimate_sex_by_disease"').fetchall()
        exact = dict(connection.execute('FROM "estimate_disease"').fetchall())
        (records,) = connection.execute("SELECT sum(share) FROM joined").fetchone() or (None,)
    table = release.crosstab(["sex", "disease"])

    for (sex, disease, estimate, low, high, flags), row in zip(found, table.rows, strict=True):
        assert (sex, disease) == (row.group["sex"], row.group["disease"])
        assert (estimate, low, high) == pytest.approx((row.estimate, row.low, row.high))
        assert flags == "; ".join(row.flags) == "spread"
    assert exact == {r.group["disease"]: r.estimate for r in release.crosstab(["disease"]).rows}
    assert records == pytest.approx(700)


def test_the_readme_tells_how_to_join_and_what_not_to_do(tmp_path):
    publish(tmp_path, people(300, 1))
    text = (tmp_path / "README.md").read_text()

    for part in (
        "`qit.parquet`",
        "`st.parquet`",
        "group_id",
        "sum(a b / n)",
        "drawn towards",
        "Do not join the tables",
    ):
        assert part in text
    assert not (tmp_path / "weights").exists()


def test_the_readme_in_r_agrees(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("needs Rscript")
    release = publish(tmp_path, people(400, 7, 0.2), form="csv")
    code = (tmp_path / "README.md").read_text().split("```r\n")[1].split("```")[0]
    names = ("estimate", "low", "high")
    shown = ", ".join(f'sprintf("%.9f", {name}["f", ])' for name in names)
    code = code.removesuffix("\n".join((*names, ""))) + f"cat({shown})"
    done = subprocess.run(["Rscript", "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    rows = [r for r in release.crosstab(["sex", "disease"]).rows if r.group["sex"] == "f"]

    expected = [getattr(row, name) for name in names for row in rows]
    assert list(map(float, done.stdout.split())) == pytest.approx(expected, abs=1e-6)
