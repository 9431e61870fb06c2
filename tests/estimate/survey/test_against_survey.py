"""Where nothing is randomised, estimates and standard errors are those of R's survey 4.1-1 and of samplics 0.6.0.

survey.R and samplics_numbers.py made the numbers of survey.json and samplics.json from `sample()`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from .conftest import sample

HERE = Path(__file__).parent
SURVEY = json.loads((HERE / "survey.json").read_text())
TOTALS = {"sex": {"F": 1400, "M": 1300}, "region": {"north": 600, "south": 900, "west": 1200}}
DESIGNS = {
    "clustered": lambda r: r,
    "nested": lambda r: r.with_design(clusters="near"),
    "records": lambda r: r.without_design().with_design(weight="weight", strata="region"),
    "weights": lambda r: r.without_design().with_design(weight="weight"),
    "clusters": lambda r: r.without_design().with_design(clusters="village"),
    "poststratified": lambda r: r.with_design(totals={"sex": TOTALS["sex"]}),
    "calibrated": lambda r: r.with_design(totals=TOTALS),
    "calibrated_records": lambda r: r.without_design().with_design(weight="weight", totals=TOTALS),
    "alone": lambda r: r.with_design(alone="centred"),
}
NEAR = {"income = {": 'near = { role = "insensitive", assume_unlinkable = "so" }\nincome = {'}


@pytest.fixture(scope="module", params=DESIGNS)
def asked(request, released_once):
    table = sample().assign(near=lambda t: t["village"] % 100)
    if request.param == "alone":
        table = table[(table["region"] != "south") | (table["village"] == 105)]
    return SURVEY[request.param], DESIGNS[request.param](released_once(table, changes=NEAR))


def agrees(found, expected, order=None, rtol=1e-8):
    places = slice(None) if order is None else order
    assert np.allclose(np.ravel(found.estimate)[places], expected["estimate"], rtol=rtol)
    assert np.allclose(np.ravel(found.se())[places], expected["se"], rtol=rtol)
    assert found.target == "population"


def test_counts(asked):
    numbers, release = asked
    if release.design.alone == "centred":  # of totals R does not centre at all; of what is relative both do
        return
    agrees(release.crosstab(["ill", "sex"]), numbers["count"])


def test_means_and_totals(asked):
    numbers, release = asked
    agrees(release.mean("income"), numbers["mean"])
    agrees(release.mean("income", "sex"), numbers["means"])
    agrees(release.mean("visits"), numbers["visits"])
    if release.design.alone == "centred":
        return
    answer = release.query("SELECT sum(income) FROM release")
    assert answer.to_dict()["rows"][0]["estimate"] == pytest.approx(numbers["total"]["estimate"][0], rel=1e-8)
    assert answer.to_dict()["rows"][0]["se"] == pytest.approx(numbers["total"]["se"][0], rel=1e-8)


def test_domains(asked):
    numbers, release = asked
    for sql, name in (
        ("SELECT sum(income) FROM release WHERE sex = 'F'", "total_of_women"),
        ("SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release", "share"),
        ("SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release WHERE sex = 'F'", "share_of_women"),
    ):
        if release.design.alone == "centred" and name == "total_of_women":
            continue
        (row,) = release.query(sql).to_dict()["rows"]
        assert (row["estimate"], row["se"]) == pytest.approx(
            (numbers[name]["estimate"][0], numbers[name]["se"][0]), rel=1e-8
        )


def test_models(asked):
    numbers, release = asked
    agrees(release.glm("ill ~ sex + region", "binomial"), numbers["logistic"], rtol=1e-5)
    agrees(release.glm("visits ~ sex + ill"), numbers["linear"])
    agrees(release.glm("visits ~ ill", "poisson"), numbers["poisson"], rtol=1e-5)


def test_independence(asked):
    """Rao and Scott's test is `svychisq(statistic = "F")`."""
    numbers, release = asked
    for column in ("ill", "visits"):
        found = release.independence("sex", column)
        told = (found.statistic, found.df, found.df_error, found.p_value)
        assert told == pytest.approx(numbers[f"sex_{column}"], rel=1e-8)


def test_degrees_of_freedom(asked):
    numbers, release = asked
    assert release.mean("income").sample.degrees == numbers["degrees"]


SAMPLICS = json.loads((HERE / "samplics.json").read_text())


@pytest.mark.parametrize("name", SAMPLICS)
def test_samplics_says_the_same(name, released_once):
    numbers, release = SAMPLICS[name], DESIGNS[name](released_once(sample()))
    agrees(release.mean("income"), numbers["mean"])
    agrees(release.mean("visits"), numbers["visits"])
    agrees(release.mean("income", "sex"), numbers["means"])
    for sql, one in (
        ("SELECT sum(income) FROM release", "total"),
        ("SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release", "share"),
    ):
        (row,) = release.query(sql).to_dict()["rows"]
        assert (row["estimate"], row["se"]) == pytest.approx(
            (numbers[one]["estimate"][0], numbers[one]["se"][0]), rel=1e-8
        )
