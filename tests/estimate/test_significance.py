"""p-values: as people write them in text, with every digit in data, and what they are referred to."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.results.intervals import p_values
from rrpolicy.numbers import p_value, p_value_equation


@pytest.mark.parametrize(
    ("p", "written", "said"),
    [
        (0.0, "<0.001", "p < 0.001"),
        (9.999e-4, "<0.001", "p < 0.001"),
        (0.001, "0.001", "p = 0.001"),
        (0.04249, "0.042", "p = 0.042"),
        (1.0, "1.000", "p = 1.000"),
        (math.nan, "-", "p = -"),
    ],
)
def test_small_ones_are_written_as_people_do(p, written, said):
    assert (p_value(p), p_value_equation(p)) == (written, said)


def test_they_are_of_the_normal_law_or_of_student_s():
    estimates, errors = np.array([1.0, -2.0, 0.0, 3.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0, math.nan])
    assert p_values(estimates, errors)[:4] == pytest.approx([2 * norm.sf(1), 2 * norm.sf(2), 1, 0])
    assert p_values(estimates, errors, 7)[:2] == pytest.approx(2 * student.sf([1, 2], 7))
    assert math.isnan(p_values(estimates, errors)[4])


@pytest.fixture
def folder(publish, made):
    """Two columns that depend on each other, and two that were left as they are."""
    rng = np.random.default_rng(2)
    n = 2000
    sex = rng.choice(2, n)
    ill = (rng.random(n) < 0.1 + 0.6 * sex).astype(int)
    axes = [made.retention("sex", ("F", "M"), [((0, 1), "9/10")]), made.retention("ill", (0, 1), [((0, 1), "9/10")])]
    left = [made.identity("sample.yr", (2024, 2025)), made.identity("plain", (0, 1))]
    rows = made.draw(axes[0], sex, rng) | made.draw(axes[1], ill, rng)
    rows |= {"sample.yr": rng.choice([2024, 2025], n).tolist(), "plain": rng.choice([0, 1], n).tolist()}
    return publish([*axes, *left], rows)


def test_no_text_shows_zeros_and_data_have_every_digit(folder, capsys):
    release = open_release(folder)
    model = release.glm("ill ~ sex")
    test = release.independence("sex", "ill")
    fit = release.loglinear("sex + ill")
    for found in (model, test, fit):
        assert "<0.001" in found.summary().replace("< ", "<")
        assert "&lt;0.001" in found._repr_html_().replace("&lt; ", "&lt;")
    assert 0 < model.to_dict()["rows"][1]["p_value"] < 1e-9
    assert test.to_dict()["p_value"] == test.p_value < 1e-9
    assert float(model.to_csv().splitlines()[2].split(",")[-1]) == model.to_dict()["rows"][1]["p_value"]
    held = rrpolicy.what_holds(release.to_pandas(), ["sex", "ill"], randomised=["sex"])
    assert "p_value < 0.001" in held.summary()
    assert f"p_value = {test.p_value}" in held.to_csv()
    assert main(["estimate", "glm", str(folder), "ill ~ sex"]) == 0
    assert "0.000000" not in capsys.readouterr().out


def test_of_a_design_a_coefficient_s_test_is_of_the_same_law_as_its_interval(folder):
    """Student's with the design's degrees of freedom, of which the interval has its reach."""
    model = open_release(folder).with_design(clusters="sample.yr", strata="plain").glm("ill ~ sex")
    assert model.sample.degrees == 2
    row = model.to_dict()["rows"][1]
    assert row["p_value"] == pytest.approx(2 * student.sf(abs(row["z"]), 2))
    low, high = model.conf_int(level=0.9, interval="normal")[1]
    assert high - low == pytest.approx(2 * student.ppf(0.95, 2) * model.se()[1])


def test_what_is_exact_is_not_tested_and_says_why(folder):
    model = open_release(folder).glm("plain ~ `sample.yr`")
    text = model.summary()
    assert "p_value" not in text
    assert "nothing was drawn" in text
    assert "p_value" in model.to_csv().splitlines()[0]
    assert model.to_dict()["rows"][0]["p_value"] is None
    assert "p_value" in open_release(folder).glm("plain ~ `sample.yr`", target="population").summary()


@pytest.mark.parametrize("name", ["sample.yr", '"sample.yr"', 'release."sample.yr"', "release.sample.yr", "SAMPLE.YR"])
def test_a_name_with_a_point_needs_no_quotes_in_a_condition_or_a_query(folder, name, capsys):
    release = open_release(folder)
    condition = f"{name} = 2024"
    expected = release.crosstab("sex", "sample.yr = 2024").estimate
    assert main(["estimate", str(folder), "--by", "sex", "--where", condition, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["estimate"] for row in rows] == pytest.approx(expected)
    by = release.query(f"SELECT {name} AS year, sex, count(*) FROM release WHERE {condition} GROUP BY {name}, sex")
    assert by.quantities[0].estimate == pytest.approx(expected)


def test_a_word_before_a_point_that_is_no_table_is_part_of_the_name(folder, capsys):
    assert main(["estimate", str(folder), "--where", "another.yr = 2024"]) == 2
    told = capsys.readouterr().err
    assert "RR262" in told
    assert "another.yr" in told
    assert "sample.yr" in told


def test_a_heading_says_how_many_records_there_are_and_that_a_condition_s_share_is_estimated(folder, capsys):
    release = open_release(folder)
    assert release.crosstab("ill").summary().splitlines()[1].startswith("2,000 records; ")
    some = release.crosstab("ill", "sex = 'F'").summary().splitlines()[1]
    assert some.startswith("of 2,000 records in the release, those that satisfy the condition (an estimate ")
    exact = release.crosstab("plain", "sample.yr = 2024").summary().splitlines()[1]
    assert exact.startswith("of 2,000 records in the release, those that satisfy the condition; exact")
    assert main(["estimate", "query", str(folder), "SELECT avg(ill) FROM release WHERE sex = 'F'"]) == 0
    assert "of 2,000 records in the release" in capsys.readouterr().out
