"""Point estimates on the simplex, cubes, means: each against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.invert import simplex
from rrpolicy.estimate.invert.simplex import maximum_likelihood, project_to_simplex
from rrpolicy.estimate.opening import open_release

SEX, AGE = ("F", "M"), ("0-19", "20-39", "40-64", "65+")


@pytest.fixture
def survey(made, publish):
    rng = np.random.default_rng(3)
    n = 6000
    axes = [
        made.retention("sex", SEX, [((0, 1), "4/5")]),
        made.retention("age_group", AGE, [((0, 1), "7/10"), ((2, 3), "4/5")]),
        made.matrix(
            "visits", (0, 1, 2), (0, 1, 2), [["4/5", "1/10", "0"], ["1/5", "4/5", "1/5"], ["0", "1/10", "4/5"]]
        ),
        made.identity("region", ("north", "south")),
    ]
    original = [rng.integers(0, k, n) for k in (2, 4, 3, 2)]
    rows = {}
    for axis, codes in zip(axes, original, strict=True):
        rows |= made.draw(axis, codes, rng)
    hours = 1000 + 10 * original[1] + rng.normal(0, 3, n)
    rows["hours"] = [None if i % 50 == 0 else float(h) for i, h in enumerate(hours)]
    rows["note"] = ["x"] * n
    carried = [made.column("hours", (), "carried", "DOUBLE"), made.column("note", (), "carried", "VARCHAR")]
    return open_release(publish(axes, rows, carried=carried)), axes, rows, original


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_em_reaches_the_maximum_of_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    matrices = [rng.dirichlet(np.ones(u), v).T for u, v in ((3, 2), (4, 4))]
    released = rng.multinomial(500, rng.dirichlet(np.full(12, 0.5))).astype(float).reshape(3, 4)

    found = maximum_likelihood(released, matrices)

    assert found.converged
    assert found.counts.min() >= 0
    assert found.counts.sum() == pytest.approx(500)
    P = np.kron(*matrices)
    pi, n = found.counts.reshape(-1) / 500, released.reshape(-1)
    best = (n[n > 0] * np.log((P @ pi)[n > 0])).sum()
    for _ in range(50):
        other = 0.9 * pi + 0.1 * rng.dirichlet(np.ones(8))
        assert (n[n > 0] * np.log((P @ other)[n > 0])).sum() <= best + 1e-6


@pytest.mark.parametrize("records", [2 * 10**7, 10**9])
def test_of_many_records_in_few_steps_where_rounding_hides_what_is_likelier(
    records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simplex, "_STEPS", 20)
    matrices = [(p - (1 - p) / (k - 1)) * np.eye(k) + (1 - p) / (k - 1) for k, p in ((16, 0.8), (5, 0.9))]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        share = np.outer(rng.dirichlet(np.full(16, 0.4)), rng.dirichlet(np.full(5, 0.4)))
        drawn = rng.multinomial(records, (matrices[0] @ share @ matrices[1].T).reshape(-1))

        assert maximum_likelihood(drawn.astype(float).reshape(16, 5), matrices).converged


def unsolved(*_):
    raise np.linalg.LinAlgError


@pytest.mark.parametrize("off", [("_SMALL", 0), ("maximise_quadratic", unsolved)], ids=["large", "singular"])
@pytest.mark.parametrize("released", [[9, 2, 2, 40, 105], [9, 0, 0, 0, 105], [20, 20, 20, 20, 20]])
def test_where_no_quadratic_is_solved_em_reaches_the_same_maximum(off, released, monkeypatch):
    P = np.array([[0, 0, 4], [0, 5, 0], [0, 5, 0], [4, 0, 3], [6, 0, 3]]) / 10  # a step can leave a released value at 0
    n = np.array(released, dtype=float)
    quickly = maximum_likelihood(n, [P])
    monkeypatch.setattr(simplex, *off)
    slowly = maximum_likelihood(n, [P])

    assert quickly.converged
    assert slowly.converged
    np.testing.assert_allclose(quickly.counts, slowly.counts, atol=0.05)


def test_a_search_that_stops_early_says_how_far_it_is_from_the_maximum(survey, monkeypatch):
    release, *_ = survey
    em = release.crosstab(["sex", "age_group"], estimator="em")
    monkeypatch.setattr(simplex, "_STEPS", 1)
    early = release.crosstab(["sex", "age_group"], estimator="em")

    assert "below the largest log-likelihood" in early.summary()
    assert "below the largest log-likelihood" not in em.summary()


def test_em_of_too_many_cells_is_refused(survey, monkeypatch):
    release, *_ = survey
    monkeypatch.setattr(simplex, "LIKELIHOOD_CELLS", 7)
    assert release.crosstab("age_group", estimator="em").estimate.sum() == pytest.approx(6000)
    with pytest.raises(PolicyError, match="RR268.*EM would run on 8 cells, more than 7"):
        release.crosstab(["sex", "age_group"], estimator="em")


def test_inside_the_simplex_em_is_the_moment_estimate(survey):
    release, *_ = survey
    moment, em = (release.crosstab(["sex", "age_group"], estimator=e) for e in ("moment", "em"))

    assert (moment.estimate > 0).all()
    np.testing.assert_allclose(em.estimate, moment.estimate, atol=0.01)
    np.testing.assert_array_equal(em.se(), moment.se())
    np.testing.assert_array_equal(em.conf_int(), moment.conf_int())
    assert "EM" in em.to_dict()["method"]
    assert "moment (unbiased)" in moment.summary()
    part = release.crosstab("sex", where="age_group IN ('0-19', '65+') AND region = 'north'", estimator="em")
    whole = release.crosstab("sex", where="age_group IN ('0-19', '65+') AND region = 'north'")
    np.testing.assert_allclose(part.estimate, whole.estimate, atol=0.01)


def test_outside_it_both_other_estimates_are_proper_tables(publish, made):
    sex = made.retention("sex", SEX, [((0, 1), "3/4")])
    release = open_release(publish([sex], {"sex": ["F"] * 96 + ["M"] * 4}))

    moment, em, projection = (release.crosstab("sex", estimator=e) for e in ("moment", "em", "projection"))

    assert moment.estimate.min() < 0
    np.testing.assert_allclose(em.estimate, [100, 0], atol=1e-6)
    np.testing.assert_allclose(projection.estimate, [100, 0])
    none = release.crosstab("sex", where="sex = 'M'", estimator="projection")
    assert (none.moment_estimate.min() < 0, none.estimate.tolist()) == (True, [0.0])
    assert "projection" in projection.method
    np.testing.assert_array_equal(projection.moment_estimate, moment.estimate)
    np.testing.assert_array_equal(projection.covariance(), moment.covariance())
    said = "an estimate can be negative"
    assert [said in table.summary() for table in (moment, em, projection)] == [True, False, False]
    assert said in moment.constrained(moment.estimate, "another").summary()
    with pytest.raises(PolicyError, match="RR278") as refused:
        release.crosstab("sex", estimator="bayes")
    assert refused.value.problems[0].hint == (
        'one of a plugin is known once you list it: --plugin DISTRIBUTION, or open_release(..., plugins=["DISTRIBUTION"])'
    )


@given(x=st.lists(st.floats(-50, 50), min_size=1, max_size=8), total=st.floats(0.5, 100))
@settings(max_examples=60, deadline=None)
def test_projection_is_the_nearest_proper_table(x, total):
    x = np.array(x)
    found = project_to_simplex(x, total)

    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-9)
    # the residual is the same theta in every cell that is kept, and no more than theta elsewhere (KKT)
    theta = (x - found)[found > 0]
    np.testing.assert_allclose(theta, theta[0], atol=1e-9)
    assert ((x - found)[found == 0] <= theta[0] + 1e-9).all()


def test_a_cube_is_all_its_tables(survey):
    release, *_ = survey
    where = "visits IN (1, 2)"
    cube = release.cube(["sex", "visits", "region"], where=where)

    assert len(cube.tables) == 8
    for table in cube.tables:
        alone = release.crosstab(table.by, where=where)
        np.testing.assert_allclose(table.estimate.reshape(-1), alone.estimate.reshape(-1))
        np.testing.assert_allclose(table.se().reshape(-1), alone.se().reshape(-1))
        np.testing.assert_allclose(table.covariance("population"), alone.covariance("population"), atol=1e-6)
    frame = cube.to_frame()
    assert list(frame.columns[:3]) == ["sex", "visits", "region"]
    assert len(frame) == sum(t.estimate.size for t in cube.tables)
    assert frame.iloc[0][["sex", "visits", "region"]].isna().all()
    assert cube.table("region", "sex").estimate.size == 4
    assert len(cube.to_dict()["rows"]) == len(frame)
    with pytest.raises(PolicyError, match="RR268"):
        release.cube(["sex"] * 13)


def test_means_are_ratios_of_weighted_sums(survey):
    release, axes, rows, _ = survey
    found = release.mean("hours", ["age_group", "region"], where="sex = 'F'")

    known = np.array([h is not None for h in rows["hours"]])
    y = np.array([h or 0.0 for h in rows["hours"]])[known]
    released = {c: np.array(rows[c])[known] for c in ("sex", "age_group", "region")}
    w_sex = np.linalg.inv(axes[0].array)[0, [SEX.index(v) for v in released["sex"]]]
    W = np.linalg.inv(axes[1].array)
    at = [AGE.index(v) for v in released["age_group"]]
    for key, estimate, table, population in zip(
        found.keys, found.estimate, found.se("table"), found.se("population"), strict=True
    ):
        w = w_sex * W[AGE.index(key["age_group"]), at] * (released["region"] == key["region"])
        R = (w * y).sum() / w.sum()
        assert estimate == pytest.approx(R, rel=1e-9)
        assert table**2 == pytest.approx(((y - R) ** 2 * (w**2 - w)).sum() / w.sum() ** 2, rel=1e-6)
        assert population**2 == pytest.approx(((y - R) ** 2 * w**2).sum() * 6000 / 5999 / w.sum() ** 2, rel=1e-6)
    assert found.missing == 120
    assert "without 120 records" in found.summary()


def test_means_of_untouched_groups_are_exact(survey):
    release, _, rows, original = survey
    found = release.mean("hours", "region")
    hours = np.array([np.nan if h is None else h for h in rows["hours"]])

    expected = [np.nanmean(hours[original[3] == k]) for k in (0, 1)]
    np.testing.assert_allclose(found.estimate, expected, rtol=1e-12)
    assert found.se("table").tolist() == [0, 0]
    deviation = [
        np.nanstd(hours[original[3] == k]) / np.sqrt(np.isfinite(hours[original[3] == k]).sum()) for k in (0, 1)
    ]
    np.testing.assert_allclose(found.se("population"), deviation, rtol=1e-3)
    assert release.mean("hours").estimate[0] == pytest.approx(np.nanmean(hours))


def test_means_of_randomised_numbers_come_from_their_corrected_counts(survey):
    release, *_ = survey
    found = release.mean("visits", "sex")
    table = release.crosstab(["sex", "visits"])

    y = np.array([0.0, 1.0, 2.0])
    R = table.estimate @ y / table.estimate.sum(axis=1)
    np.testing.assert_allclose(found.estimate, R, rtol=1e-9)
    for target in ("table", "population"):
        for k in (0, 1):
            gradient = np.zeros((2, 3))
            gradient[k] = (y - R[k]) / table.estimate[k].sum()
            flat = gradient.reshape(-1)
            expected = flat @ table.covariance(target) @ flat
            assert found.se(target)[k] ** 2 == pytest.approx(expected, rel=1e-9)


def test_what_is_no_mean_is_refused(survey):
    release, *_ = survey
    for value, by, where in [("note", "sex", None), ("sex", "region", None), ("visits", "visits", None)]:
        with pytest.raises(PolicyError, match="RR274"):
            release.mean(value, by, where)
    with pytest.raises(PolicyError, match="RR271"):
        release.mean("hours", "sex", level=2)


def test_a_group_that_may_be_empty_bounds_no_mean(publish, made):
    rng = np.random.default_rng(4)
    sex = made.retention("sex", SEX, [((0, 1), "11/20")])
    rows = {"sex": ["F"] * 230 + ["M"] * 190, "y": list(rng.normal(0, 1, 420))}
    release = open_release(publish([sex], rows, carried=[made.column("y", (), "carried", "DOUBLE")]))

    found = release.mean("y", "sex")

    (low, high), other = found.conf_int(interval="normal")[0], found.conf_int()
    assert other[1].tolist() == [-np.inf, np.inf]
    assert other[0][0] < low < found.estimate[0] < high < other[0][1]
    assert "not bounded  not bounded" in found.summary()
    empty = made.retention("sex", SEX, [((0, 1), "3/4")])
    gone = open_release(
        publish(
            [empty],
            {"sex": ["F"] * 96 + ["M"] * 4, "y": [1.0] * 100},
            carried=[made.column("y", (), "carried", "DOUBLE")],
            name="two",
        )
    ).mean("y", "sex")
    assert gone.estimator == ("moment", "not estimable")
    assert np.isnan(gone.estimate[1])


def test_a_matrix_that_tells_nothing_apart_has_a_likeliest_table_all_the_same() -> None:
    same = np.full((3, 3), 1 / 3)
    found = maximum_likelihood(np.array([[50.0, 0, 10], [3, 0, 0], [0, 0, 7]]), [same, np.eye(3)])
    assert found.converged
    assert found.counts.sum(axis=0) == pytest.approx([53, 0, 17], abs=1e-3)
