"""Regression by maximum likelihood, where corrected scores have no solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.models import likelihood, regression, scores
from rrpolicy.estimate.models.likelihood import _Model, fit_likelihood
from rrpolicy.estimate.models.scores import FAMILIES
from rrpolicy.estimate.opening import open_release
from tests.estimate.test_regression import EXACT, KEEP, columns, full, one, people, releases

__all__ = ["one"]

STRONG = {**KEEP, "sex": "7/10", "ill": "7/10", "age": "3/5", "area": "3/5"}
FORMULA = "ill ~ sex + area + age"


def unsolved(*_):
    raise np.linalg.LinAlgError


@pytest.fixture
def without_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every score without a solution."""
    monkeypatch.setattr(regression, "solve_score", lambda *_: None)


@pytest.mark.usefixtures("without_scores")
def test_of_what_was_not_randomised_it_is_the_fit_to_the_records_with_the_models_own_errors(one):
    codes = people(900, 1)
    found = one(codes, EXACT).glm(FORMULA, "binomial", target="population")

    true = full(codes, "binomial", codes["ill"], columns(codes))
    X = np.stack([np.ones(900), *columns(codes)], axis=1).astype(float)
    mean = 1 / (1 + np.exp(-X @ true))
    assert found.estimate == pytest.approx(true, abs=1e-5)
    assert found.se() == pytest.approx(
        np.sqrt(np.diag(np.linalg.inv(X.T @ (X * (mean * (1 - mean))[:, None])))), rel=1e-5
    )
    assert found.se(target="table") == pytest.approx(np.zeros(5), abs=1e-6)
    assert set(found.estimator) == {"likelihood"}


@pytest.mark.usefixtures("without_scores")
def test_of_no_records_nothing_is_fitted(one):
    codes = people(300, 1)
    release = one({**codes, "area": np.zeros_like(codes["area"])}, EXACT)
    with pytest.raises(PolicyError, match="RR544"):
        release.glm("ill ~ sex", "binomial", f"area = '{release.domain('area')[-1]}'")


def model(family: str, seed: int) -> tuple[_Model, np.ndarray, np.ndarray]:
    """A model, with coefficients and shares of its four combinations of covariates."""
    rng = np.random.default_rng(seed)
    groups = 3 if family == "multinomial" else 2
    X = np.array([[1.0, a, b] for a in (0, 1) for b in (0, 1)])
    beta, pi = rng.normal(size=(groups - 1, 3)), rng.dirichlet(np.full(4, 5.0))
    P = np.eye(4 * groups) * 0.5 + 0.5 * rng.dirichlet(np.ones(4 * groups), 4 * groups).T
    made = _Model(P.reshape(-1, 4, groups), np.ones(len(P)), X, FAMILIES[family])
    A, _ = made._chances(beta, pi)
    return _Model(made.P, A @ pi, X, FAMILIES[family]), beta, pi


@pytest.mark.parametrize("family", ["binomial", "multinomial"])
def test_shares_that_a_model_expects_give_its_coefficients_and_errors_are_the_curvature(family):
    """At the model's own shares the expected information is minus the second derivative, taken by differences."""
    made, beta, pi = model(family, 3)
    found = made.fit()
    assert found is not None
    assert found[0] == pytest.approx(beta, abs=1e-5)
    assert found[1] == pytest.approx(pi, abs=1e-5)

    def value(x: np.ndarray) -> float:
        return made._likelihood(x[: beta.size].reshape(beta.shape), x[beta.size :])

    at, steps = np.concatenate([beta.reshape(-1), pi]), np.eye(beta.size + pi.size) * 1e-4
    information = -np.array(
        [
            [(value(at + g + h) - value(at + g - h) - value(at - g + h) + value(at - g - h)) / 4e-8 for h in steps]
            for g in steps
        ]
    )
    cells = np.arange(4 * (len(beta) + 1))
    told = made.with_errors(beta, pi, 1000.0, cells // (len(beta) + 1), cells % (len(beta) + 1))
    assert told is not None
    expected = np.sqrt(np.diag(np.linalg.inv(information))[: beta.size] / 1000)
    assert told.errors(np.eye(beta.size))[0]["population"] == pytest.approx(expected, rel=2e-3)
    assert (told.errors(np.eye(beta.size))[0]["table"] < expected).all()
    assert told.counts.sum() == pytest.approx(1000)


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_no_other_coefficients_are_likelier(seed, one):
    codes = people(1500, 40 + seed)
    table = one(codes, STRONG).crosstab(["ill", "sex", "area"])
    cells = table.group_values()
    covariates = sorted({(c["sex"], c["area"]) for c in cells})
    X = np.array([[1.0, c["sex"] == "m", c["area"] == "e"] for c in cells])
    Y = np.array([[float(c["ill"] == "yes")] for c in cells])
    combination = np.array([covariates.index((c["sex"], c["area"])) for c in cells])
    found = fit_likelihood(table, "ill", combination, X, Y, FAMILIES["binomial"])
    assert found is not None

    P = np.array([[1.0]])
    for axis, _ in table.axes:
        P = np.kron(
            P,
            [
                [float(axis.blocks[0].keep if u == v else axis.blocks[0].move) for v in axis.original]
                for u in axis.released
            ],
        )
    n = table.released.reshape(-1)

    def worse(x: np.ndarray) -> float:
        share = np.exp(x[3:] - x[3:].max()) / np.exp(x[3:] - x[3:].max()).sum()
        yes = 1 / (1 + np.exp(-X @ x[:3]))
        return -float(n @ np.log(P @ (share[combination] * np.where(Y[:, 0] == 1, yes, 1 - yes))))

    best = minimize(worse, np.zeros(3 + len(covariates)), method="BFGS")
    mine = -float(n @ np.log(P @ (found.counts / found.counts.sum())))
    assert mine <= best.fun + 1e-6
    assert found.beta[0] == pytest.approx(best.x[:3], abs=0.02)


@pytest.mark.usefixtures("without_scores")
def test_an_outcome_of_more_categories_is_put_together_where_the_channel_treats_them_alike(one):
    codes = people(4000, 5)
    release = one(codes, KEEP)
    grouped = release.glm("kind ~ sex", "binomial", success=["b", "c"], target="table")
    true = full(codes, "binomial", codes["kind"] > 0, [codes["sex"] == 1])
    assert np.abs(grouped.estimate - true).max() < 5 * grouped.se().max()
    assert grouped.margins().estimate[0] == pytest.approx(
        grouped.predict([{"sex": "m"}]).estimate[0] - grouped.predict([{"sex": "f"}]).estimate[0]
    )


@pytest.mark.usefixtures("without_scores")
def test_where_neither_is_defined_it_is_refused(one):
    release = one(people(900, 9), KEEP)
    for ask in (
        lambda: release.glm("visits ~ sex", "poisson"),
        lambda: release.glm("ill ~ sex", "binomial", "area = 'n'"),
    ):
        with pytest.raises(PolicyError) as raised:
            ask()
        assert raised.value.problems[0].code == "RR544"


@pytest.mark.usefixtures("without_scores")
@pytest.mark.parametrize(
    "wrong",
    [
        ("_STEPS", 1),
        ("_UPHILL", 1e9),
        ("_MOST_COVARIATES", 1),
        ("maximise_quadratic", unsolved),
        ("is_positive_definite", lambda _: False),
    ],
    ids=lambda wrong: wrong[0],
)
def test_where_the_search_finds_no_maximum_it_is_refused(one, monkeypatch, wrong):
    release = one(people(900, 9), KEEP)
    assert len(release.glm("ill ~ sex", "binomial").estimate) == 2
    monkeypatch.setattr(likelihood, *wrong)
    with pytest.raises(PolicyError, match="RR544"):
        release.glm("ill ~ sex", "binomial")


@pytest.mark.usefixtures("without_scores")
def test_categories_that_the_channel_treats_differently_are_not_put_together(made, publish):
    rng = np.random.default_rng(4)
    axes = [made.identity("sex", ["f", "m"]), made.retention("kind", list("abc"), [((0, 1), "3/4"), ((2,), "1")])]
    rows = {"sex": ["f", "m"] * 60} | made.draw(axes[1], rng.integers(0, 3, 120), rng)
    release = open_release(publish(axes, rows))
    assert len(release.glm("kind ~ sex", "binomial", success=["c"]).estimate) == 2
    with pytest.raises(PolicyError, match="RR544"):
        release.glm("kind ~ sex", "binomial", success=["b", "c"])


def test_scores_that_need_too_many_steps_leave_it_to_the_likelihood(one, monkeypatch):
    release = one(people(900, 9), KEEP)
    assert not any("likelihood" in flags for flags in release.glm("ill ~ sex", "binomial").flags)
    monkeypatch.setattr(scores, "_STEPS", 1)
    assert all("likelihood" in flags for flags in release.glm("ill ~ sex", "binomial").flags)


DRAWS = 150
LEAST = binom.ppf(1e-7, DRAWS, 0.95)


@pytest.mark.slow
@pytest.mark.usefixtures("without_scores")
def test_its_intervals_hold_for_this_table_and_for_the_population():
    """The margins' as well; an error that left the draw out would be of a fit to records that were not randomised."""
    codes = people(4000, 5)
    true = full(codes, "binomial", codes["ill"], [codes["sex"] == 1, codes["age"] + 1])
    inside, z, sampling = np.zeros(3), [], np.zeros(3)
    for release in releases(codes, STRONG, DRAWS):
        found = release.glm("ill ~ sex + age", "binomial", target="table")
        ends = found.conf_int()
        inside += (ends[:, 0] <= true) & (true <= ends[:, 1])
        z.append((found.estimate - true) / found.se())
        mean = 1 / (1 + np.exp(-found.design.matrix @ found.estimate))
        X = found.design.matrix[:8]
        complete = np.linalg.inv(
            X.T @ (X * (found._fit.counts.reshape(2, -1).sum(0) * (mean * (1 - mean))[:8])[:, None])
        )
        sampling += np.abs(found.estimate - true) <= 1.96 * np.sqrt(np.diag(complete))
    assert inside.min() >= LEAST, inside
    assert np.abs(np.mean(z, axis=0)).max() <= 5.5 / np.sqrt(DRAWS), np.mean(z, axis=0)
    assert np.std(z, axis=0).min() > 0.7
    assert sampling.min() < LEAST, "errors of a fit without randomisation pass as well"

    inside, true = np.zeros(4), np.array([-2.0, 0.8, -0.5, 0.4])
    for seed in range(DRAWS):
        for release in releases(people(4000, 2000 + seed), KEEP, 1):
            found = release.glm(FORMULA, "binomial")
            place = [[k["term"] for k in found.keys].index(t) for t in ("Intercept", "sex[T.m]", "area[T.e]", "age")]
            ends = found.conf_int()[place]
            inside += (ends[:, 0] <= true) & (true <= ends[:, 1])
    assert inside.min() >= LEAST, inside


def test_where_scores_have_none_the_likelihood_may_and_every_row_says_so(one):
    release = one(people(250, 122), KEEP)
    found = release.glm(FORMULA, "binomial")
    if set(found.estimator) == {"moment"}:
        pytest.fail("choose other people: this table's scores have a solution")
    assert all("likelihood" in flags for flags in found.flags)
    assert "maximum likelihood" in found.summary()
    assert all("likelihood" in flags for flags in found.margins().flags)


PLAGIARISM = {
    0: [14, 2, 22, 1, 8, 8, 6, 13, 20, 27, 27, 41],
    1: [34, 4, 26, 5, 15, 34, 17, 29, 61, 80, 54, 66],
}
"""Answers of the crosswise model at p = .25, by place, kind of plagiarism and gender, the last fastest (Jann and
Brandenberger 2012, as GLMMRR 0.7.0 has them: `Plagiarism`, 620 records)."""
GLMMRR = {
    "answer ~ gender + pp + uni": (
        {"Intercept": -3.430035612548, "gender": -0.122500517401, "pp": 2.527345045277, "uni": -0.238207130033},
        {"Intercept": 2.361368878790, "gender": 0.683295110942, "pp": 2.343633011361, "uni": 0.406629182209},
    ),
    "answer ~ gender + pp": (
        {"Intercept": -3.994981850587, "gender": -0.133262764969, "pp": 2.774707463571},
        {"Intercept": 3.006022133344, "gender": 0.642913910774, "pp": 3.010003523040},
    ),
}
"""`RRglm(response ~ ..., link = "RRlink.logit", RRmodel = RRmodel, p1 = RRp1, p2 = RRp2, data = subset(Plagiarism, RRmodel
== "Crosswise"), etastart = rep(.01, 620), control = list(epsilon = 1e-14, maxit = 200))`: coefficients, and the roots of
`diag(summary(.)$cov.unscaled)`."""


@pytest.mark.usefixtures("without_scores")
@pytest.mark.parametrize("formula", GLMMRR)
def test_coefficients_and_errors_are_those_of_glmmrr(formula, made, publish):
    axes = [
        made.matrix("answer", [0, 1], ["no", "yes"], [["1/4", "3/4"], ["3/4", "1/4"]]),
        *(made.identity(name, labels) for name, labels in (("uni", [0, 1, 2]), ("pp", [0, 1]), ("gender", [0, 1]))),
    ]
    cells = [(uni, pp, gender) for uni in range(3) for pp in range(2) for gender in range(2)]
    rows = [
        (answer, *cell)
        for answer, counts in PLAGIARISM.items()
        for cell, n in zip(cells, counts, strict=True)
        for _ in range(n)
    ]
    columns = zip(("answer", "uni", "pp", "gender"), zip(*rows, strict=True), strict=True)
    release = open_release(publish(axes, {name: list(values) for name, values in columns}))

    found = release.glm(formula, "binomial", target="population")

    coefficients, errors = GLMMRR[formula]
    terms = [k["term"] for k in found.keys]
    assert dict(zip(terms, found.estimate.tolist(), strict=True)) == pytest.approx(coefficients, rel=2e-4)
    assert dict(zip(terms, found.se().tolist(), strict=True)) == pytest.approx(errors, rel=2e-3)
