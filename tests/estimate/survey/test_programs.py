"""R and DuckDB count people where a release carries a survey's weights: the numbers of Python, with their errors."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess

import duckdb
import numpy as np
import pytest

import rrpolicy

from .conftest import sample

KEEP = {"sex": "9/10", "ill": "4/5"}
DESIGNS = {
    "clusters in strata": {},
    "strata": {'domain = ["north", "south", "west"], design = "stratum"': 'domain = ["north", "south", "west"]',
               'village = { role = "insensitive", design = "cluster"': 'village = { role = "insensitive"'},
    "no weight": {', design = "weight"': ""},
    "a stratum that was randomised": {'region = { role = "insensitive"': 'region = { role = "quasi-identifier"'},
}  # fmt: skip
CSV = {"[mechanism]": '[release]\nformat = "csv"\n[mechanism]'}


def r_of(script, folder):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    (folder / "asked.R").write_text('options(warn = 2, digits = 17)\nsource("rrpolicy.R")\n' + script)
    done = subprocess.run(
        ["Rscript", "--vanilla", "asked.R"], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(path, found, names):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = found.columns()
    assert len(rows) == len(columns[names["estimate"]])
    for own, theirs in names.items():
        assert [float(row[own]) for row in rows] == pytest.approx(columns[theirs], rel=1e-9, abs=1e-9), own
    return rows


SHARE = "SELECT sex, count(*) FILTER (WHERE ill = 'yes') / count(*) AS s FROM release GROUP BY sex"
PLAIN = {name: name for name in ("estimate", "se", "low", "high")}


@pytest.mark.parametrize("design", DESIGNS)
def test_r_counts_people_as_rrpolicy_does(released, tmp_path, design):
    keep = {**KEEP, "region": "9/10"} if design.startswith("a stratum") else KEEP
    release = released(sample(), keep, DESIGNS[design] | CSV)
    folder = release.folder.parent
    rrpolicy.export(folder, "r", out=folder / "rrpolicy.R")
    asked = {
        "crosstab": 'rr_crosstab(r, c("sex", "ill"))',
        "table": 'rr_crosstab(r, c("sex", "ill"), target = "table", level = 0.9)',
        "rows": 'rr_crosstab(r, "ill", list(sex = "F"), rows = r$data$income > 25)',
        "one": 'rr_count(r, list(sex = "F", ill = "yes"))',
        "share": 'rr_share(r, list(ill = "yes"), by = "sex")',
        "share of the table": 'rr_share(r, list(ill = "yes"), by = "sex", target = "table")',
        "records": 'rr_crosstab(rr_open("public", design = FALSE), "ill")',
    }
    lines = [f'write.csv({code}, "{name}.csv", row.names = FALSE)' for name, code in asked.items()]
    told = r_of('r <- rr_open("public")\n' + "\n".join(lines) + "\nprint(r)", folder)
    expected = {
        "crosstab": release.crosstab(["sex", "ill"]),
        "table": release.crosstab(["sex", "ill"], target="table", level=0.9),
        "rows": release.crosstab("ill", "sex = 'F' AND income > 25"),
        "one": release.crosstab((), "sex = 'F' AND ill = 'yes'"),
        "records": release.without_design().crosstab("ill"),
    }
    for name, found in expected.items():
        rows = same(folder / f"{name}.csv", found, PLAIN | {"released": "released"})
        assert [row["flags"] for row in rows] == ["; ".join(flags) for flags in found.columns()["flags"]]
    names = {"estimate": "s", "se": "s_se", "low": "s_low", "high": "s_high"}
    same(folder / "share.csv", release.query(SHARE), names)
    same(folder / "share of the table.csv", release.query(SHARE, "table"), names)
    assert "counts are of people, by the design of the survey" in told


def test_what_r_does_not_follow_is_refused(released, tmp_path):
    totals = {'sex = { role = "quasi-identifier", domain = ["F", "M"]':
              'sex = { role = "quasi-identifier", domain = ["F", "M"], totals = [1400, 1300]'}  # fmt: skip
    folder = released(sample(), KEEP, CSV | totals).folder.parent
    rrpolicy.export(folder, "r", out=folder / "rrpolicy.R")
    told = r_of('r <- rr_open("public")\ncat(tryCatch(rr_count(r), error = conditionMessage))', folder)
    assert told.startswith("the design of the survey calibrates to known totals")


@pytest.mark.parametrize("design", ["clusters in strata", "weights alone"])
def test_macros_count_people_as_rrpolicy_does(released, monkeypatch, design):
    changes = {} if design.startswith("clusters") else DESIGNS["strata"]
    release = released(sample(), KEEP, changes)
    monkeypatch.chdir(release.folder)
    with duckdb.connect() as connection:
        connection.execute(rrpolicy.export(release.folder, "duckdb"))
        (found,) = connection.execute(
            "SELECT est_count(w, weight), est_se(w, weight), est_low(w, weight), est_high(w, weight) "
            "FROM (SELECT w_sex(sex, ['F']) * w_ill(ill, ['yes']) AS w, weight FROM release)"
        ).fetchall()
        (share,) = connection.execute(
            "SELECT est_share(part, whole, d), est_share_se(part, whole, d), est_mean(whole, income, d), "
            "est_mean_se(whole, income, d) FROM (SELECT w_sex(sex, ['F']) AS whole, weight AS d, income, "
            "w_sex(sex, ['F']) * w_ill(ill, ['yes']) AS part FROM release)"
        ).fetchall()
        row = release.crosstab((), "sex = 'F' AND ill = 'yes'", "table").rows[0]
        assert found == pytest.approx((row.estimate, row.se, row.low, row.high), rel=1e-9)
        answer = release.query(
            "SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) AS s, avg(income) AS m FROM release WHERE sex = 'F'",
            "table",
        ).to_frame()
        assert share == pytest.approx(tuple(answer[["s", "s_se", "m", "m_se"]].iloc[0]), rel=1e-9)
        asked = "SELECT est_se_population(w_ill(ill, ['yes']), weight) FROM release"
        if design.startswith("clusters"):
            with pytest.raises(duckdb.CatalogException, match="est_se_population"):
                connection.execute(asked)
        else:
            (error,) = connection.execute(asked).fetchone()
            assert error == pytest.approx(release.crosstab("ill").se()[1], rel=1e-9)


def test_unweighted_sums_are_told_from_weighted_ones(released):
    """What the reader did before: a sum without weights is not within its own error of the people."""
    release = released(sample(), KEEP)
    people, records = release.crosstab("ill"), release.without_design().crosstab("ill")
    assert np.all(np.abs(people.estimate - records.estimate) > 3 * people.se())


def test_macros_of_weights_that_were_randomised_count_records(released):
    coarse = sample().assign(weight=lambda t: np.where(t["weight"] > 6, 9.0, 4.0))
    old = 'weight = { role = "insensitive", design = "weight", assume_unlinkable = "so" }'
    new = 'weight = { role = "quasi-identifier", design = "weight", domain = [4.0, 9.0] }'
    release = released(coarse, {**KEEP, "weight": "9/10"}, {old: new})
    text = rrpolicy.export(release.folder, "duckdb")
    assert "est_count(w) AS" in text
    assert "of which these macros know no weight" in text
    assert json.loads((release.folder / "release.json").read_text())["records"] == len(sample())
