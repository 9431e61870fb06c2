"""Replicate weights: the closed formula's variances exactly, what R's package survey makes of them, and what is refused."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.frozen import replace

KEPT = Path(__file__).resolve().parents[1] / "vectors" / "survey"


def errors(found):
    return np.sqrt([found.variance(lambda w, i=i: w[i]) for i in range(len(found.weights))])


@pytest.mark.parametrize(
    ("by", "where"),
    [
        (["sex", "wide"], None),
        (["my column", "p"], None),
        (["plain", "square"], "hours > 20 AND below IN (1, 3)"),
        (["plain"], "plain = 10"),
        (["q"], "p = 'u'"),
        (["below"], "sex = 'f'"),
    ],
)
def test_sums_have_the_variance_of_the_closed_formula(mixed, by, where):
    release = rrpolicy.open_release(mixed)
    found = release.replicates(by, where)
    table = release.crosstab(by, where, target="population")
    expected = {tuple(row.group.values()): (row.estimate, row.se) for row in table.rows}
    se = errors(found)
    assert len(found.keys) == len(set(map(str, found.keys)))
    for key, weight, error in zip(found.keys, found.weights, se, strict=True):
        assert (weight, error) == pytest.approx(expected.pop(tuple(key.values())), rel=1e-9, abs=1e-9)
    assert all(values == (0, 0) for values in expected.values()), "rows that are left out have no weight"
    away = found.replicates - found.weights[:, None]
    places = [i for i, row in enumerate(table.rows) if dict(row.group) in map(dict, found.keys)]
    covariance = table.covariance("population")[np.ix_(places, places)]
    assert found.scale * away @ away.T == pytest.approx(covariance, rel=1e-9, abs=1e-7)


def test_the_variance_is_right_over_all_releases_of_a_tiny_sample(made, publish):
    """Three people drawn from a population, then randomised: over all outcomes the mean of the variance is the variance."""
    from itertools import product

    keep, share, n = 0.75, 0.3, 3
    axis = made.retention("c", ["a", "b"], [([0, 1], "3/4")])
    released = share * keep + (1 - share) * (1 - keep)
    first = second = variance = 0.0
    for number, outcome in enumerate(product("ab", repeat=n)):
        p = released ** outcome.count("a") * (1 - released) ** outcome.count("b")
        found = rrpolicy.open_release(publish([axis], {"c": list(outcome)}, name=f"b{number}")).replicates("c")
        a = [key["c"] for key in found.keys].index("a")
        first, second = first + p * found.weights[a], second + p * found.weights[a] ** 2
        variance += p * found.variance(lambda w, a=a: w[a])
    assert first == pytest.approx(n * share, rel=1e-12)
    assert variance == pytest.approx(second - first**2, rel=1e-12)


def test_records_that_differ_each_are_left_out_one_by_one(made, publish):
    """Where no two records are alike it is the delete-one jackknife itself."""
    n = 7
    axis = made.retention("c", list(range(n)), [(list(range(n)), "1/2")])
    found = rrpolicy.open_release(publish([axis], {"c": list(range(n))})).replicates("c")
    weights = axis.array
    W = np.linalg.inv(weights)
    others = [n / (n - 1) * np.delete(W, record, axis=1).sum(axis=1) for record in range(n)]
    assert sorted(map(tuple, found.replicates.T.round(9))) == sorted(map(tuple, np.round(others, 9)))
    assert found.scale == (n - 1) / n


def test_shares_have_nearly_the_error_of_the_delta_method(mixed):
    release = rrpolicy.open_release(mixed)
    found = release.replicates(["sex", "wide"])
    whole = np.array([key["sex"] == "f" for key in found.keys])
    part = whole & np.array([key["wide"] == "a" for key in found.keys])
    sql = "SELECT count(*) FILTER (WHERE wide = 'a') / count(*) AS s FROM release WHERE sex = 'f'"
    expected = release.query(sql, target="population").to_frame()["s_se"][0]
    assert found.variance(lambda w: w[part].sum() / w[whole].sum()) ** 0.5 == pytest.approx(expected, rel=0.02)


@pytest.fixture
def survey(made, publish):
    """A release whose corrected cells are all positive, as models of weighted rows need."""
    rng = np.random.default_rng(7)
    axes = [made.retention("sex", ["f", "m"], [([0, 1], "9/10")]), made.retention("wide", ["a", "b"], [([0, 1], "17/20")]),
            made.retention("below", [1, 2, 3], [([0, 1, 2], "9/10")])]  # fmt: skip
    sex, below = rng.integers(2, size=2000), rng.integers(3, size=2000)
    wide = (rng.random(2000) > 0.3 + 0.2 * sex + 0.1 * below).astype(int)
    rows = {}
    for axis, codes in zip(axes, (sex, wide, below), strict=True):
        rows |= made.draw(axis, codes, rng)
    return publish(axes, rows)


def test_r_s_survey_computes_the_same(survey, tmp_path):
    """Kept in tests/vectors/survey: what the package made of this file; RRPOLICY_WRITE_SURVEY=1 asks it again."""
    release = rrpolicy.open_release(survey)
    found = release.replicates(["sex", "wide", "below"])
    found.write(tmp_path / "weights.csv")
    if os.environ.get("RRPOLICY_WRITE_SURVEY") == "1":
        shutil.copy(KEPT / "asked.R", tmp_path)
        subprocess.run(["Rscript", "--vanilla", "asked.R", repr(found.scale)], cwd=tmp_path, check=True)
        shutil.copy(tmp_path / "survey.txt", KEPT)
        shutil.copy(tmp_path / "weights.csv", KEPT)
    with (KEPT / "weights.csv").open(newline="") as kept, (tmp_path / "weights.csv").open(newline="") as own:
        for expected, row in zip(csv.DictReader(kept), csv.DictReader(own), strict=True):
            assert [row[c] for c in ("sex", "wide", "below")] == [expected[c] for c in ("sex", "wide", "below")]
            assert float(row["weight"]) == pytest.approx(float(expected["weight"]), rel=1e-9)
    said = np.array([float(line) for line in (KEPT / "survey.txt").read_text().split()])
    table = release.crosstab(["wide", "sex"], target="population")
    assert said[:4] == pytest.approx(table.estimate.reshape(-1), rel=1e-8)
    assert said[4:8] == pytest.approx(table.se().reshape(-1), rel=1e-8)

    def of(**asked):
        return np.array([all(key[c] == v for c, v in asked.items()) for key in found.keys])

    def share(part, whole):
        return lambda w: w[part].sum() / w[whole].sum()

    sizes = np.array([key["below"] for key in found.keys])
    everybody = np.ones(len(sizes), dtype=bool)
    asked = [
        share(of(wide="a"), everybody),
        share(of(wide="a", sex="f"), of(sex="f")),
        share(of(wide="a", sex="m"), of(sex="m")),
    ]
    asked.append(lambda w: (w * sizes)[of(wide="a")].sum() / w[of(wide="a")].sum())
    places = [(8, 9), (10, 12), (11, 13), (14, 15)]
    for statistic, (estimate, error) in zip(asked, places, strict=True):
        assert statistic(found.weights) == pytest.approx(said[estimate], rel=1e-8)
        assert found.variance(statistic) ** 0.5 == pytest.approx(said[error], rel=1e-8)
    model = release.glm("wide ~ sex + below", "binomial", success=["a"], target="population")
    assert said[16:19] == pytest.approx(model.estimate, rel=1e-5)
    assert said[19:22] == pytest.approx(model.se(), rel=0.1)


def test_the_command_writes_parquet_that_tells_its_scale(mixed, tmp_path, capsys):
    out = tmp_path / "w.parquet"
    assert main(["estimate", "replicates", str(mixed), "--by", "sex,wide", "--out", str(out)]) == 0
    table = pq.read_table(out)
    assert table.column_names[:4] == ["sex", "wide", "weight", "rep_1"]
    scale = float(table.schema.metadata[b"rrpolicy.scale"])
    assert f"scale {scale!r}" in capsys.readouterr().err
    assert main(["estimate", "replicates", str(mixed), "--by", "sex", "--out", str(out)]) == 4
    assert main(["estimate", "replicates", str(mixed), "--by", "sex", "--out", str(tmp_path / "w.xlsx")]) == 2
    assert "RR515" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle", "w.parquet"]


def test_columns_called_as_weights_are_keep_their_names(made, publish):
    axes = [made.retention(name, ["a", "b"], [([0, 1], "3/4")]) for name in ("weight", "rep_1")]
    found = rrpolicy.open_release(publish(axes, {"weight": list("abba"), "rep_1": list("aabb")})).replicates(
        ["rep_1", "weight"]
    )
    assert found.to_arrow().column_names[:4] == ["rep_1", "weight", "weight_", "rep_1_"]


def test_what_has_no_replicates_is_refused(mixed, monkeypatch):
    release = rrpolicy.open_release(mixed)
    for by, code in (("ill", "RR279"), ("hours", "RR263"), ("nobody", "RR262")):
        with pytest.raises(PolicyError) as caught:
            release.replicates(by)
        assert caught.value.problems[0].code == code
    monkeypatch.setattr("rrpolicy.estimate.sums.replicates.MOST_REPLICATES", 5)
    with pytest.raises(PolicyError, match="RR514"):
        release.replicates(["wide", "sex"])

    several = replace(release.manifest, units=replace(release.manifest.units, max_records=2))
    with pytest.raises(PolicyError, match="RR247"):
        replace(release, manifest=several).replicates("sex")
