"""Every two rows of one answer compared: the covariance is that of the record weights, the test is adjusted for all pairs."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.results.intervals import holm

REGIONS = ("north", "south", "west")
TARGETS = ("table", "population")
SHARE = "SELECT region, count(*) FILTER (WHERE ill = 'yes') / count(*) AS ill FROM release GROUP BY region"
N = 900


def axes(made):
    return [
        made.retention("region", REGIONS, [((0, 1, 2), "4/5")]),
        made.retention("ill", ("no", "yes"), [((0, 1), "9/10")]),
        made.matrix("visits", (0, 1, 5), (0, 1, 5), [["8/10", "1/10", "2/10"], ["1/10", "8/10", "0"], ["1/10", "1/10", "8/10"]]),
        made.identity("town", ("A", "B")),
    ]  # fmt: skip


def rows(made, seed=1, n=N):
    rng = np.random.default_rng(seed)
    region = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    codes = [region, (rng.random(n) < 0.2 + 0.15 * region).astype(int), rng.choice(3, n), rng.choice(2, n)]
    drawn = {}
    for axis, own in zip(axes(made), codes, strict=True):
        drawn |= made.draw(axis, own, rng)
    return drawn | {"hours": rng.normal(30, 8, n).round(1).tolist()}


@pytest.fixture
def release(publish, made):
    return open_release(publish(axes(made), rows(made), carried=[made.column("hours", (), "carried", "DOUBLE")]))


def weights(release, name):
    """Return (records, categories) the weight of each record in the count of each category, by the inverse matrix."""
    axis = release.columns.axes[name]
    place = {cell[0]: i for i, cell in enumerate(axis.released)}
    frame = release.to_pandas()
    return axis.table[[place[v] for v in frame[name].astype(object)]]


def by_records(e, own, target):
    """Return the covariance of sums of e over records: of this table less what its products are without randomisation."""
    return e.T @ e - own if target == "table" else len(e) / (len(e) - 1) * e.T @ e


@pytest.mark.parametrize("target", TARGETS)
def test_the_covariance_of_shares_is_that_of_the_records(release, target):
    w, ill = weights(release, "region"), weights(release, "ill")[:, 1]
    d, n = w.sum(axis=0), (w * ill[:, None]).sum(axis=0)
    R = n / d
    e = w * (ill[:, None] - R) / d
    own = np.diag(n * (1 - R) ** 2 + (d - n) * R**2) / d**2
    found = release.query(SHARE).quantities[0]
    assert found.estimate == pytest.approx(R)
    assert found.covariance(target) == pytest.approx(by_records(e, own, target))
    assert np.diag(found.covariance(target)) == pytest.approx(found.errors[target] ** 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "design", [{}, {"strata": "town"}, {"weight": "hours", "totals": {"town": {"A": 15_000, "B": 12_000}}}]
)
def test_shares_of_one_whole_depend_on_one_another(release, target, design):
    """share() by region: the parts of all records; their sum is 1, so that nothing of it varies."""
    release = release.with_design(**design) if design else release
    found = release.query("SELECT region, share() AS s FROM release GROUP BY region").quantities[0]
    assert found.covariance(target).sum() == pytest.approx(0.0, abs=1e-12)
    assert np.diag(found.covariance(target)) == pytest.approx(found.errors[target] ** 2)
    within = "SELECT region, ill, count(*) / sum(count(*)) OVER (PARTITION BY region) AS s FROM release GROUP BY ALL"
    cells = release.query(within).quantities[0]
    covariance = cells.covariance(target)
    assert np.diag(covariance) == pytest.approx(cells.errors[target] ** 2)
    for i in range(3):
        assert covariance[2 * i : 2 * i + 2, 2 * i : 2 * i + 2].sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_the_covariance_of_means_is_that_of_the_records(release, target):
    w, y = weights(release, "region"), np.array(release.to_pandas()["hours"])
    d = w.sum(axis=0)
    R = (w * y[:, None]).sum(axis=0) / d
    deviation = y[:, None] - R
    own = np.diag((w * deviation**2).sum(axis=0)) / d**2
    found = release.mean("hours", "region")
    assert found.quantity.covariance(target) == pytest.approx(by_records(w * deviation / d, own, target), rel=1e-6)
    assert np.diag(found.quantity.covariance(target)) == pytest.approx(found.errors[target] ** 2, rel=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("design", [{}, {"strata": "town"}, {"weight": "hours", "clusters": "hours", "strata": "town"}])
def test_a_difference_of_means_is_the_slope_of_a_regression(release, target, design):
    """Of two groups the corrected scores of a linear model are the same sums, read in another way."""
    asked = release.with_design(**design) if design else release
    where = "region IN ('north', 'south')"
    slope = asked.glm("visits ~ region", where=where, target=target)
    found = asked.pairwise(lambda r: r.mean("visits", "region", where, target=target))
    (difference,) = found.quantities
    assert difference.estimate == pytest.approx(-slope.estimate[1:2], rel=1e-9)
    assert difference.errors[target] == pytest.approx(slope.errors[target][1:2], rel=1e-6)


def test_pairs_of_counts_are_differences_with_their_covariance(release):
    table = release.crosstab("region")
    found = release.pairwise(lambda r: r.crosstab("region"))
    covariance = table.covariance()
    pairs = list(combinations(range(3), 2))
    frame = found.to_frame()
    assert list(zip(frame["region"], frame["region_other"], strict=True)) == [
        (REGIONS[i], REGIONS[j]) for i, j in pairs
    ]
    assert frame["estimate"].tolist() == pytest.approx([table.estimate[i] - table.estimate[j] for i, j in pairs])
    errors = [np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) for i, j in pairs]
    assert frame["se"].tolist() == pytest.approx(errors)
    alone = [np.sqrt(covariance[i, i] + covariance[j, j]) for i, j in pairs]
    assert all(error > 1.02 * one for error, one in zip(errors, alone, strict=True)), "counts go against each other"
    z = found.quantities[0].conf_int if hasattr(found.quantities[0], "conf_int") else found.quantities[0].ends
    longer = z(0.95, "table")[:, 1] - (frame["estimate"] + 1.959964 * frame["se"])
    assert ((longer >= 0) & (longer <= 1)).all(), "each count's interval has a continuity correction of half a record"
    assert holm(frame["estimate_p"].to_numpy()) == pytest.approx(frame["estimate_p_holm"])


def test_it_says_which_is_the_largest_and_whether_that_is_shown(release):
    (largest,) = release.pairwise(lambda r: r.crosstab("region")).largest
    assert (largest.row, largest.not_shown) == ("north", ())
    text = release.pairwise("SELECT town, count(*) AS n FROM release GROUP BY town").summary()
    assert "largest n: " in text
    assert "p-value" not in text
    assert "n_p" not in text, "nothing was drawn, so that nothing is tested"
    few = release.pairwise(lambda r: r.crosstab("visits", "town = 'A'"))
    assert len(few.largest[0].not_shown) >= 1
    assert "is not shown to be larger than" in few.summary()
    assert few.to_dict()["largest"][0]["not_shown"] == list(few.largest[0].not_shown)
    assert few.labels()[0] == "0 less 1"
    assert "<svg" in str(few.plot())


def test_what_has_no_covariance_is_refused(release):
    asked = {
        "RR573": [
            lambda r: r.association("region", "ill"),
            lambda r: r.crosstab("region", estimator="em"),
            lambda r: r.crosstab(),
            "SELECT region, sum(hours) FROM release GROUP BY region",
            "SELECT region, count(*) FROM release GROUP BY ROLLUP (region)",
        ],
    }
    for code, questions in asked.items():
        for question in questions:
            with pytest.raises(PolicyError, match=code):
                release.pairwise(question)


def test_on_the_command_line(release, capsys):
    folder = str(release.folder)
    assert main(["estimate", "query", folder, SHARE, "--pairwise", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rrpolicy.pairwise/1"
    assert [(row["region"], row["region_other"]) for row in document["rows"]] == list(combinations(REGIONS, 2))
    assert main(["estimate", folder, "--by", "region", "--pairwise"]) == 0
    printed = capsys.readouterr().out
    assert "<0.001" in printed
    assert "0.000000" not in printed
    for wrong in (["--bootstrap", "99"], ["--since", folder]):
        assert main(["estimate", folder, "--by", "region", "--pairwise", *wrong]) == 2
        assert "RR250" in capsys.readouterr().err


DRAWS = 400
LEAST = binom.ppf(1e-7, DRAWS, 0.95)


@pytest.mark.slow
def test_intervals_hold_and_those_of_independent_rows_do_not(publish, made):
    """Two categories: what one is short of the other has too much, so that errors add up."""
    axis = [made.retention("sex", ("F", "M"), [((0, 1), "7/10")])]
    codes = np.repeat([0, 1], [260, 140])
    rng = np.random.default_rng(5)
    held = independent = 0
    for seed in range(DRAWS):
        release = open_release(publish(axis, made.draw(axis[0], codes, rng), name=f"b{seed}"))
        row = release.pairwise(lambda r: r.crosstab("sex")).to_frame().iloc[0]
        held += row["low"] <= 120 <= row["high"]
        apart = 1.959964 * np.hypot(*release.crosstab("sex").se())
        independent += abs(row["estimate"] - 120) <= apart
    assert held >= LEAST
    assert independent < LEAST


def test_it_is_a_function_of_the_release_alone(release):
    assert "pairwise" in dir(release)
    assert rrpolicy.open_release(release.folder).pairwise(SHARE).to_dict() == release.pairwise(SHARE).to_dict()
