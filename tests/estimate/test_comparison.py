"""Several releases asked one question: differences, ratios and trends, whatever the samples have in common."""

from __future__ import annotations

import json
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from scipy.stats import t as student

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.comparison.combined_intervals import (
    combined_interval,
    distances,
    ratio_interval,
    variance,
)
from rrpolicy.estimate.comparison.comparison import _Links
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.results.intervals import holm, p_values
from rrpolicy.estimate.results.quantities import SINGLE_QUANTITY_NAMES, EstimatedQuantity
from rrpolicy.testing import TableInMemory
from rrpolicy.testing.draws import draw_release, plan_kit_release
from tests.estimate.test_regression import EXACT, KEEP, POLICY, channel, people

SHARE = "SELECT sex, count(*) FILTER (WHERE ill = 'yes') / count(*) AS ill FROM release GROUP BY sex"
ILL = "SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) AS ill FROM release"
DRAWS = 150
LEAST = binom.ppf(1e-7, DRAWS, 0.95)


def some(stack: ExitStack, tables: list[dict[str, np.ndarray]], keep: dict[str, str], seed: int = 0) -> list[Release]:
    """Release tables by draws of their own."""
    made = [TableInMemory.of(POLICY.policy, codes) for codes in tables]
    plans = [plan_kit_release(POLICY, table, channel(keep)) for table in made]
    return [
        stack.enter_context(draw_release(plan, POLICY, table, seed * 100 + place)).release
        for place, (plan, table) in enumerate(zip(plans, made, strict=True))
    ]


def share(codes: dict[str, np.ndarray], sex: int) -> float:
    return float(codes["ill"][codes["sex"] == sex].mean())


def test_without_randomisation_they_are_the_tables_own_and_certain():
    tables = [people(400, 1), people(500, 2), people(600, 3)]
    with ExitStack() as stack:
        releases = some(stack, tables, EXACT)
        told = rrpolicy.compare_estimates(releases, SHARE)
        ratios = rrpolicy.compare_estimates(releases, SHARE, kind="ratio")
        trend = rrpolicy.compare_estimates(releases, SHARE, kind="trend", times=[2020, 2022, 2026])

    shares = np.array([[share(codes, sex) for sex in (0, 1)] for codes in tables])
    frame = told.to_frame()
    assert frame["release"].tolist() == [2, 2, 3, 3]
    assert frame["ill"].tolist() == pytest.approx((shares[1:] - shares[0]).reshape(-1))
    assert told.exact
    assert frame["ill_low"].tolist() == pytest.approx(frame["ill_high"])
    assert ratios.to_frame()["ill"].tolist() == pytest.approx((shares[1:] / shares[0]).reshape(-1))
    slopes = [np.polyfit([2020, 2022, 2026], shares[:, sex], 1)[0] for sex in (0, 1)]
    assert trend.to_frame()["ill"].tolist() == pytest.approx(slopes)
    assert "release" not in trend.to_frame()


def test_variances_of_separate_draws_add_up_and_the_text_says_so():
    with ExitStack() as stack:
        releases = some(stack, [people(900, 1), people(900, 2)], KEEP)
        found = rrpolicy.compare_estimates(releases, lambda r: r.crosstab("sex"))
        parts = [release.crosstab("sex") for release in releases]
    assert found.quantities[0].estimate == pytest.approx(parts[1].estimate - parts[0].estimate)
    assert found.quantities[0].errors["table"] ** 2 == pytest.approx(parts[1].se() ** 2 + parts[0].se() ** 2)
    assert "draws of different releases are independent" in found.summary()
    assert found.to_dict()["compared"] == [900, 900]
    assert "<svg" in str(found.plot())


def test_any_result_can_be_asked_for():
    with ExitStack() as stack:
        releases = some(stack, [people(4000, 1), people(4000, 2)], KEEP)
        model = rrpolicy.compare_estimates(releases, lambda r: r.glm("ill ~ sex + age", "binomial"))
        measure = rrpolicy.compare_estimates(releases, lambda r: r.association("sex", "ill", ["phi", "odds_ratio"]))
        slopes = [release.glm("ill ~ sex + age", "binomial") for release in releases]
    assert model.row_keys()[1][:3] == (("Intercept",), ("sex[T.m]",), ("age",))
    assert model.quantities[0].estimate == pytest.approx(slopes[1].estimate - slopes[0].estimate)
    assert len(measure.row_keys()[1]) == 2


@pytest.mark.slow
def test_intervals_hold_for_these_tables_and_those_of_one_release_alone_do_not():
    tables = [people(400, 1), people(900, 2), people(1600, 3)]
    shares = np.array([share(codes, 1) for codes in tables])
    true = {
        "difference": shares[2] - shares[0],
        "ratio": shares[2] / shares[0],
        "trend": np.polyfit([0, 1, 2], shares, 1)[0],
    }
    held, alone = dict.fromkeys(true, 0), 0
    for seed in range(DRAWS):
        with ExitStack() as stack:
            releases = some(stack, tables, KEEP, seed + 1)
            for kind, value in true.items():
                row = rrpolicy.compare_estimates(releases, SHARE, kind=kind).to_frame().iloc[-1]
                held[kind] += row["ill_low"] <= value <= row["ill_high"]
                if kind == "difference":
                    last = releases[2].query(SHARE).to_frame().iloc[-1]
                    alone += abs(row["ill"] - value) <= (last["ill_high"] - last["ill_low"]) / 2
    assert min(held.values()) >= LEAST, held
    assert alone < LEAST, "an error that leaves the first release out passes as well"


@pytest.mark.slow
def test_people_who_are_in_both_samples_and_changed_their_minds_are_allowed_for():
    """All of them: what is above the mean in one sample is below it in the other, the worst that can be."""
    rng = np.random.default_rng(3)
    held, apart, true = 0, 0, 0.0
    keep = {**EXACT, "ill": "19/20"}
    for seed in range(DRAWS):
        first = people(500, 5000 + seed)
        first["ill"] = (rng.random(500) < 0.5).astype(int)
        second = {**first, "ill": 1 - first["ill"]}
        with ExitStack() as stack:
            releases = some(stack, [first, second], keep, seed)
            for overlap in (500, 0):
                found = (
                    rrpolicy.compare_estimates(releases, lambda r: r.query(ILL, "population"), overlap=overlap)
                    .to_frame()
                    .iloc[0]
                )
                inside = bool(found["ill_low"] <= true <= found["ill_high"])
                held, apart = (held + inside, apart) if overlap else (held, apart + inside)
    assert held >= LEAST
    assert apart < LEAST, "intervals of separate samples pass as well"


def test_of_the_population_what_is_not_stated_is_bounded_by_the_smaller_sample():
    with ExitStack() as stack:
        releases = some(stack, [people(900, 1), people(400, 2)], EXACT)
        errors = {
            overlap: rrpolicy.compare_estimates(releases, ILL, overlap=overlap, target="population")
            .quantities[0]
            .errors
            for overlap in (0, 100, 400, None)
        }
        parts = [release.query(ILL).quantities[0].errors["population"][0] for release in releases]
    first, second = parts
    for overlap, told in errors.items():
        both = 400 if overlap is None else overlap
        expected = first**2 + second**2 + 2 * both / 600 * first * second
        assert told["population"][0] ** 2 == pytest.approx(expected)


def test_a_combination_of_normal_intervals_is_the_normal_one():
    errors, weights = np.array([[1.0], [2.0], [0.5]]), np.array([-1.0, 0.5, 2.0])
    estimates, none = np.array([[3.0], [4.0], [5.0]]), np.zeros((3, 3, 1))
    half = norm.ppf(0.975) * errors
    ends = np.stack([estimates - half, estimates + half], axis=-1)
    low, high = combined_interval(weights, estimates, distances(estimates, ends, half), none, none)[0]
    reach = norm.ppf(0.975) * np.sqrt((weights**2) @ errors**2)[0]
    assert (low, high) == pytest.approx((9 - reach, 9 + reach))


@given(st.lists(st.floats(0.01, 3), min_size=3, max_size=3), st.integers(0, 2**32 - 1))
def test_the_variance_is_the_largest_that_correlations_allow(errors, seed):
    rng = np.random.default_rng(seed)
    weights, own = rng.normal(size=3), np.array(errors)[:, None]
    least, most = -rng.random((3, 3, 1)), rng.random((3, 3, 1))
    least, most = (np.triu(m[..., 0], 1)[..., None] for m in (least, most))
    least, most = (m + m.transpose(1, 0, 2) for m in (least, most))
    bound = variance(weights, own, least, most)[0]
    for _ in range(20):
        among = least + (most - least) * rng.random((3, 3, 1))
        R = np.triu(among[..., 0], 1)
        R = R + R.T + np.eye(3)
        scaled = weights * own[:, 0]
        assert scaled @ R @ scaled <= bound + 1e-9


@given(st.floats(1, 50), st.floats(1, 50), st.floats(0.01, 3), st.floats(0.01, 3), st.floats(0, 1))
def test_a_ratio_is_fiellers_set(above, below, one, other, correlation):
    """The ends are the ratios at which the difference is as far from 0 as its interval reaches."""
    reach = np.array([[one], [other]])
    low, high = ratio_interval(np.array([above]), np.array([below]), (reach, reach), np.array([correlation]))[0]
    for end in (low, high):
        if 0 < end < np.inf:
            far = one**2 + (end * other) ** 2 + 2 * correlation * end * one * other
            assert (above - end * below) ** 2 == pytest.approx(far, rel=1e-6)
    assert low <= above / below <= high
    assert (high == np.inf) == (below <= other)


def test_a_clipped_end_does_not_shorten_a_difference():
    """Counts of a rare value: intervals end at 0, and estimates may be negative."""
    reach = distances(np.array([[-3.0], [50.0]]), np.array([[[0.0, 7.0]], [[40.0, 60.0]]]), np.array([[10.0], [10.0]]))
    assert reach[0][0, 0] == 10
    assert reach[1][0, 0] == 10


@pytest.mark.parametrize(
    ("count", "options", "said"),
    [
        (1, {}, "1 releases"),
        (2, {"kind": "sum"}, "no such comparison"),
        (2, {"overlap": -1}, "cannot be in two"),
        (2, {"overlap": 401}, "cannot be in two"),
        (2, {"times": [1, 2]}, "belong to a trend"),
        (2, {"kind": "trend", "times": [1]}, "1 times of 2"),
        (2, {"kind": "trend", "times": [1, 1]}, "all at one time"),
    ],
)
def test_what_cannot_be_compared_is_refused(count, options, said):
    with ExitStack() as stack:
        releases = some(stack, [people(400, 1), people(500, 2)], EXACT)[:count]
        with pytest.raises(PolicyError, match=said) as raised:
            rrpolicy.compare_estimates(releases, SHARE, **options)
        assert raised.value.problems[0].code == "RR572"


def test_answers_of_other_rows_the_same_release_and_ratios_of_signed_numbers_are_refused():
    with ExitStack() as stack:
        one, two = some(stack, [people(400, 1), people(500, 2)], KEEP)
        for releases, ask, kind, said in (
            ((one, two), lambda r: r.crosstab("sex" if r is one else "area"), "difference", "different columns"),
            ((one, two), lambda r: r.mean("visits", "age", f"age = {1 if r is one else 2}"), "difference", "no row"),
            ((one, one), SHARE, "difference", "named twice"),
            ((one, two), lambda r: r.association("sex", "ill", "phi"), "ratio", "can be negative"),
        ):
            with pytest.raises(PolicyError, match=said) as raised:
                rrpolicy.compare_estimates(releases, ask, kind=kind)
            assert raised.value.problems[0].code == "RR572"


def test_the_command_prints_what_the_function_returns(tmp_path, capsys):
    folders = [str(tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        rrpolicy.release("policies/pram.toml", folder)
    sql = "SELECT sex, count(*) AS n FROM release GROUP BY sex"
    capsys.readouterr()

    assert main(["estimate", "compare", *folders, "--query", sql, "--json", "--population", "--overlap", "0"]) == 0

    told = json.loads(capsys.readouterr().out)
    found = rrpolicy.compare_estimates(folders, lambda r: r.query(sql, "population"), overlap=0)
    assert told == json.loads(json.dumps(found.to_dict()))
    assert main(["estimate", "compare", *folders, "--query", sql, "--kind", "trend"]) == 0
    trend = capsys.readouterr().out
    assert "slopes" in trend
    assert "times were not stated: the releases are taken to be at 0, 1, 2 and so on" in trend
    assert main(["estimate", "compare", *folders, "--query", sql, "--kind", "trend", "--time", "1", "--time", "3"]) == 0
    assert "times were not stated" not in capsys.readouterr().out
    assert main(["estimate", "compare", *folders, "--query", sql]) == 0
    assert capsys.readouterr().out.startswith(
        "Differences: survey-pram 1.0.0 (release 2) less survey-pram 1.0.0 (release 1)"
    )
    assert main(["estimate", "compare", folders[0], "--query", sql]) == 2
    assert "RR572" in capsys.readouterr().err


def test_a_test_of_no_change_is_that_of_the_difference():
    with ExitStack() as stack:
        releases = some(stack, [people(900, 1), people(700, 2), people(800, 3)], KEEP)
        found = {
            kind: rrpolicy.compare_estimates(releases, SHARE, kind=kind) for kind in ("difference", "ratio", "trend")
        }
    difference = found["difference"].to_frame()
    z = abs(difference["ill"] / difference["ill_se"])
    assert difference["ill_p"].tolist() == pytest.approx((2 * norm.sf(z)).tolist(), rel=6e-3)
    assert found["ratio"].to_frame()["ill_p"].tolist() == difference["ill_p"].tolist()
    trend = found["trend"].to_frame()
    assert trend["ill_p"].tolist() == pytest.approx(
        (2 * norm.sf(abs(trend["ill"] / trend["ill_se"]))).tolist(), rel=6e-3
    )
    assert difference["ill_p_holm"].tolist() == pytest.approx(holm(difference["ill_p"].to_numpy()).tolist(), rel=1e-2)
    assert "that nothing changed" in found["difference"].summary()


def test_tests_are_certain_where_nothing_was_drawn_and_adjusted_for_all_rows():
    found = p_values(np.array([0.5, 0.0, 1.0, np.nan, 2.0]), np.array([0.0, 0.0, np.nan, 1.0, 1.0]))
    assert found.tolist() == pytest.approx([0, 1, np.nan, np.nan, 2 * norm.sf(2)], nan_ok=True)
    assert p_values(np.array([2.0]), np.array([1.0]), 7.0)[0] == pytest.approx(2 * student.sf(2, 7))
    several = np.array([0.01, np.nan, 0.04, 0.03, 0.9])
    assert holm(several).tolist() == pytest.approx([0.04, np.nan, 0.09, 0.09, 0.9], nan_ok=True)
    assert not len(holm(np.zeros(0)))


@pytest.mark.slow
def test_where_nothing_changed_it_is_said_as_seldom_as_it_should_be():
    """And where half of the people changed, it is found; errors of half the size would find changes that are none."""
    table, other, draws = people(1500, 5), people(1500, 5), 100
    other["ill"] = np.where(np.arange(1500) % 2 == 0, 1 - other["ill"], other["ill"])
    wrong, halved, found = 0, 0, 0
    for draw in range(draws):
        with ExitStack() as stack:
            one, same, changed = some(stack, [table, table, other], KEEP, seed=draw)
            told = rrpolicy.compare_estimates([one, same], ILL)
            wrong += told.to_frame()["ill_p"][0] < 0.05
            halved += p_values(told.quantities[0].estimate, told.quantities[0].errors["table"] / 2)[0] < 0.05
            found += rrpolicy.compare_estimates([one, changed], ILL).to_frame()["ill_p"][0] < 0.05
    most = binom.isf(1e-6, draws, 0.05)
    assert wrong <= most < halved
    assert found > draws / 2


def test_samples_with_a_design_may_be_dependent_in_any_way():
    with ExitStack() as stack:
        one, other = some(stack, [people(900, 1), people(400, 2)], EXACT)
        pair = [r.with_design(clusters="sex") for r in (one, other)]
        errors = {
            overlap: rrpolicy.compare_estimates(pair, ILL, overlap=overlap).quantities[0].errors["population"][0]
            for overlap in (None, 1, 0)
        }
        own = [r.query(ILL).quantities[0].errors["population"][0] for r in pair]
    assert errors[0] == pytest.approx(np.hypot(*own))
    assert errors[1] == errors[None] == pytest.approx(sum(own))


def test_where_the_draws_part_is_not_known_people_in_both_samples_are_allowed_for_in_full():
    """This table's variance came out negative, and the population's stands in its place: it may be the sample's alone."""

    def part(table: float) -> EstimatedQuantity:
        errors = {"table": np.array([table]), "population": np.array([2.0])}
        return EstimatedQuantity(
            SINGLE_QUANTITY_NAMES, np.array([5.0]), errors, lambda *_: np.array([[1.0, 9.0]]), ((),)
        )

    links = _Links(None, np.zeros((2, 2)), np.array([[0.0, 0.5], [0.5, 0.0]]), 100)
    for table, expected in ((0.0, 0.5), (2.0, 0.5), (np.sqrt(2), 0.25)):
        least, most = links.correlations([part(table), part(table)], "population")
        assert (least[0, 1, 0], most[0, 1, 0]) == pytest.approx((-expected, expected))
    least, most = links.correlations([part(2.0), part(2.0)], "table")
    assert not least.any()
    assert not most.any()
