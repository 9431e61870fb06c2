"""Regression on releases: unrandomised it is the fit of R; randomised it is unbiased, with errors that hold."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

import rrpolicy
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.models import regression
from rrpolicy.estimate.models.scores import FAMILIES, solve_score
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.release import Release
from rrpolicy.testing import TableInMemory, open_policy, policy_text, write_csv
from rrpolicy.testing.draws import draw_release, plan_kit_release

ATTRIBUTES = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
area = { role = "quasi-identifier", domain = ["n", "e", "s"] }
age = { role = "quasi-identifier", domain = [1, 2, 3, 4] }
ill = { role = "sensitive", domain = ["no", "yes"] }
visits = { role = "sensitive", domain = [0, 1, 2, 3] }
kind = { role = "sensitive", domain = ["a", "b", "c"] }
"""
REST = '[[privacy]]\nmodel = "local-dp"\nepsilon = 40\nscope = "attribute"\n[mechanism]\nname = "pram"\n'
KEEP = {"sex": "4/5", "area": "7/10", "age": "3/4", "ill": "4/5", "visits": "4/5", "kind": "3/4"}
POLICY = open_policy(policy_text(ATTRIBUTES + REST))
SIZES = {a.name: len(a.domain) for a in POLICY.policy.released}


def people(records: int, seed: int) -> dict[str, np.ndarray]:
    """Codes of people whose outcomes follow the models that the tests fit."""
    rng = np.random.default_rng(seed)
    sex, area, age = (rng.integers(0, SIZES[n], records) for n in ("sex", "area", "age"))
    age = np.where(rng.random(records) < 0.3, np.minimum(age + sex, 3), age)
    eta = -1.0 + 0.8 * sex - 0.5 * (area == 1) + 0.4 * (age + 1 - 2.5)
    ill = (rng.random(records) < 1 / (1 + np.exp(-eta))).astype(int)
    visits = np.minimum(rng.poisson(np.exp(-0.6 + 0.3 * sex + 0.2 * (age + 1 - 2.5))), 3)
    raised = np.exp(np.stack([np.zeros(records), 0.5 * sex - 0.2, 0.4 * (age + 1) - 1], axis=1))
    kind = (rng.random(records)[:, None] > (raised / raised.sum(1, keepdims=True)).cumsum(1)).sum(1)
    return {"sex": sex, "area": area, "age": age, "ill": ill, "visits": visits, "kind": kind}


def channel(keep: dict[str, str]) -> Product:
    axes = tuple(
        Retention.of([Domain(a.name, a.domain)], [(range(len(a.domain)), Fraction(keep[a.name]))])
        for a in POLICY.policy.released
    )
    return Product(axes, (), tuple(SIZES))


def releases(codes: dict[str, np.ndarray], keep: dict[str, str], draws: int):
    table = TableInMemory.of(POLICY.policy, codes)
    plan = plan_kit_release(POLICY, table, channel(keep))
    for seed in range(draws):
        with draw_release(plan, POLICY, table, seed) as made:
            yield made.release


def full(codes: dict[str, np.ndarray], family: str, outcome: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
    """Fit by Newton's method on the records themselves: another program than that of releases."""
    X = np.stack([np.ones(len(outcome)), *columns], axis=1).astype(float)
    beta = np.zeros(X.shape[1])
    for _ in range(50):
        eta = X @ beta
        mean = {"gaussian": eta, "binomial": 1 / (1 + np.exp(-eta)), "poisson": np.exp(eta)}[family]
        slope = {"gaussian": np.ones_like(eta), "binomial": mean * (1 - mean), "poisson": mean}[family]
        beta = beta + np.linalg.solve(X.T @ (X * slope[:, None]), X.T @ (outcome - mean))
    return beta


LINEAR = "{} ~ sex + area + age"


def columns(codes: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [codes["sex"] == 1, codes["area"] == 1, codes["area"] == 2, codes["age"] + 1]


@pytest.fixture
def one() -> Iterator[Callable[..., Release]]:
    """Draw one release, which is there until the test ends."""
    with ExitStack() as stack:

        def draw(codes: dict[str, np.ndarray], keep: dict[str, str]) -> Release:
            table = TableInMemory.of(POLICY.policy, codes)
            return stack.enter_context(
                draw_release(plan_kit_release(POLICY, table, channel(keep)), POLICY, table, 0)
            ).release

        yield draw


EXACT = dict.fromkeys(KEEP, "1")


@pytest.mark.parametrize(("family", "outcome"), [("gaussian", "visits"), ("binomial", "ill"), ("poisson", "visits")])
def test_of_what_was_not_randomised_it_is_the_fit_to_the_records(family, outcome, one):
    codes = people(900, 1)
    release = one(codes, EXACT)

    found = release.glm(LINEAR.format(outcome), family, target="table")

    assert found.estimate == pytest.approx(full(codes, family, codes[outcome], columns(codes)), abs=1e-8)
    assert [k["term"] for k in found.keys] == ["Intercept", "sex[T.m]", "area[T.e]", "area[T.s]", "age"]
    assert found.se() == pytest.approx(np.zeros(5), abs=1e-9)


R = """
rows <- read.csv("people.csv", stringsAsFactors = FALSE)
rows$sex <- factor(rows$sex, c("f", "m")); rows$area <- factor(rows$area, c("n", "e", "s"))
told <- function(m) {{
  x <- model.matrix(m); u <- residuals(m, "response") * x
  bread <- solve(t(x) %*% (x * m$family$mu.eta(m$linear.predictors)))
  v <- bread %*% (t(u) %*% u) %*% bread * nrow(x) / (nrow(x) - 1)
  list(beta = unname(coef(m)), se = unname(sqrt(diag(v))))
}}
one <- told(glm(ill == "yes" ~ sex * area + I(age^2), binomial, rows))
two <- told(glm(visits ~ sex * area + I(age^2), poisson, rows))
cat(sprintf("%.12g", c(one$beta, one$se, two$beta, two$se)), sep = "\\n")
"""


def test_coefficients_and_sandwiches_are_those_of_r(tmp_path, one):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    codes = people(700, 2)
    labels = {a.name: a.domain for a in POLICY.policy.released}
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(codes)
        writer.writerows(zip(*([labels[n][c] for c in codes[n]] for n in codes), strict=True))
    (tmp_path / "fit.R").write_text(R.format())
    done = subprocess.run(["Rscript", "fit.R"], cwd=tmp_path, capture_output=True, text=True, check=True)
    numbers = np.array([float(line) for line in done.stdout.split()]).reshape(4, -1)
    release = one(codes, EXACT)

    for outcome, family, (beta, se) in (("ill", "binomial", numbers[:2]), ("visits", "poisson", numbers[2:])):
        found = release.glm(f"{outcome} ~ sex * area + I(age**2)", family, target="population")
        place = [[k["term"] for k in found.keys].index(t) for t in ORDER]
        assert found.estimate[place] == pytest.approx(beta, rel=1e-6)
        assert found.se()[place] == pytest.approx(se, rel=1e-6)


ORDER = ["Intercept", "sex[T.m]", "area[T.e]", "area[T.s]", "I(age ** 2)", "sex[T.m]:area[T.e]", "sex[T.m]:area[T.s]"]


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "multinomial"])
def test_families_are_what_their_derivatives_say(family):
    rng = np.random.default_rng(3)
    kind = FAMILIES[family]
    equations = 2 if family == "multinomial" else 1
    eta = rng.normal(size=(20, equations))
    y = np.eye(equations + 1)[rng.integers(0, equations + 1, 20)][:, 1:]
    mean, step = kind.mean(eta), 1e-6
    for place in range(equations):
        h = np.eye(equations)[place] * step
        by = (kind.mean(eta + h) - kind.mean(eta - h)) / (2 * step)
        assert kind.slope(mean)[:, :, place] == pytest.approx(by, abs=1e-8)
        slope = (kind.likelihood(y, eta + h) - kind.likelihood(y, eta - h)) / (2 * step)
        assert slope == pytest.approx((y - mean)[:, place], abs=1e-8)


def test_the_score_of_every_table_of_two_records_is_that_of_the_original_on_average():
    """By enumeration of all draws: at any beta, not only where it is solved."""
    P = np.array([[0.8, 0.3], [0.2, 0.7]])
    W = np.linalg.inv(P)
    beta = np.array([[0.4, -0.7]])
    cells = list(product(range(2), range(2)))
    X, Y = np.array([[1.0, x] for _, x in cells]), np.array([[float(y)] for y, _ in cells])
    score = ((Y - FAMILIES["binomial"].mean(X @ beta.T)) * X).T
    for original in product(cells, repeat=2):
        mean = np.zeros(2)
        for released in product(cells, repeat=2):
            chance = np.prod([P[r[0], o[0]] * P[r[1], o[1]] for r, o in zip(released, original, strict=True)])
            counts = sum(np.kron(W[:, r[0]], W[:, r[1]]) for r in released)
            mean += chance * (score @ counts)
        assert mean == pytest.approx(sum(score[:, cells.index(o)] for o in original))


TRUTH = {
    "binomial": ("ill ~ sex + area + age", ["ill"], 5),
    "poisson": ("visits ~ sex + age", ["visits"], 3),
    "gaussian": ("visits ~ sex + age", ["visits"], 3),
}
DRAWS = 150
LEAST = binom.ppf(1e-7, DRAWS, 0.95)
"""Intervals that hold, of so many, in all but one run in ten million."""


@pytest.mark.slow
@pytest.mark.parametrize("family", TRUTH)
def test_intervals_hold_for_this_tables_own_coefficients_and_naive_ones_do_not(family):
    formula, (outcome,), terms = TRUTH[family]
    codes = people(4000, 5)
    covariates = columns(codes) if terms == 5 else [codes["sex"] == 1, codes["age"] + 1]
    true = full(codes, family, codes[outcome], covariates)
    inside, errors, naive = np.zeros(terms), [], np.zeros(terms)
    for release in releases(codes, KEEP, DRAWS):
        found = release.glm(formula, family, target="table")
        ends = found.conf_int()
        inside += (ends[:, 0] <= true) & (true <= ends[:, 1])
        errors.append((found.estimate - true) / found.se())
        table = release.crosstab([outcome, *(["sex", "area", "age"] if terms == 5 else ["sex", "age"])])
        wrong = solve_score(table.released.reshape(-1), found.design.matrix, *_naive(found, table, outcome, family))
        assert wrong is not None
        naive += (ends[:, 0] <= wrong.beta[0]) & (wrong.beta[0] <= ends[:, 1])
        naive_far = np.abs(wrong.beta[0] - true)
    assert inside.min() >= LEAST, inside
    mean = np.mean(errors, axis=0)
    assert np.abs(mean).max() <= 5.5 / np.sqrt(DRAWS), mean
    assert naive[1] < LEAST, "the coefficient of the released records passes as well: this test would see no bias"
    assert naive_far[1] > 0.05


def _naive(found, table, outcome, family):
    cells = table.group_values()
    return np.array([[{"yes": 1.0, "no": 0.0}.get(c[outcome], c[outcome])] for c in cells]), FAMILIES[family]


@pytest.mark.slow
def test_intervals_hold_for_the_population_in_a_thousand_records(one):
    inside, terms = np.zeros(4), ["Intercept", "sex[T.m]", "area[T.e]", "age"]
    true = np.array([-2.0, 0.8, -0.5, 0.4])
    for seed in range(DRAWS):
        codes = people(1000, 1000 + seed)
        release = one(codes, KEEP)
        found = release.glm("ill ~ sex + area + age", "binomial")

        place = [[k["term"] for k in found.keys].index(t) for t in terms]
        ends = found.conf_int()[place]
        inside += (ends[:, 0] <= true) & (true <= ends[:, 1])
    assert inside.min() >= LEAST, inside


def test_multinomial_is_the_same_with_two_categories_less_and_predicts_shares(one):
    codes = people(3000, 7)
    release = one(codes, KEEP)
    found = release.glm("kind ~ sex + age", "multinomial")
    assert found.by == ("outcome", "term")
    rows = [{"sex": s, "age": a} for s in "fm" for a in (1, 4)]
    predicted = found.predict(rows)
    assert len(predicted.estimate) == 8
    shares = predicted.estimate.reshape(4, 2)
    half = norm.ppf(0.975) * predicted.se()
    assert predicted.conf_int() == pytest.approx(predicted.estimate[:, None] + np.outer(half, [-1, 1]), abs=1e-9)
    assert ((shares > 0) & (shares.sum(axis=1) < 1)[:, None]).all()
    true = np.array([[k["change"], k["outcome"]] for k in found.margins().keys])
    assert len(true) == 4


@pytest.mark.slow
def test_margins_are_differences_of_the_table_and_their_errors_hold():
    codes = people(3000, 11)
    X = np.stack([np.ones(3000), codes["sex"] == 1, codes["age"] + 1], axis=1).astype(float)
    beta = full(codes, "binomial", codes["ill"], [codes["sex"] == 1, codes["age"] + 1])

    def mean(rows):
        return 1 / (1 + np.exp(-rows @ beta))

    sex = np.mean(mean(X * [1, 0, 1] + [0, 1, 0]) - mean(X * [1, 0, 1]))
    share = mean(X)
    age = np.mean(share * (1 - share) * beta[2])
    z = []
    for release in releases(codes, KEEP, 100):
        found = release.glm("ill ~ sex + age", "binomial", target="table").margins()
        told = {k["of"]: (e, s) for k, e, s in zip(found.keys, found.estimate, found.se(), strict=True)}
        z.append([(told["sex"][0] - sex) / told["sex"][1], (told["age"][0] - age) / told["age"][1]])
    assert np.abs(np.mean(z, axis=0)).max() < 0.6
    assert (np.std(z, axis=0) < 1.5).all()
    assert (np.std(z, axis=0) > 0.6).all()


def test_where_scores_have_no_solution_it_is_refused_and_nothing_made_up(one):
    keep = {**KEEP, "sex": "11/20", "ill": "11/20"}
    codes = people(60, 3)
    codes["ill"][:] = 0
    with pytest.raises(PolicyError) as raised:
        one(codes, keep).glm("ill ~ sex", "binomial")
    assert raised.value.problems[0].code == "RR544"


def test_summary_dictionary_csv_and_plot_are_those_of_every_result(one):
    release = one(people(900, 13), KEEP)
    found = release.glm("ill ~ sex", "binomial")
    assert "p_value" in found.summary()
    told = json.loads(json.dumps(found.to_dict()))
    assert [row["term"] for row in told["rows"]] == ["Intercept", "sex[T.m]"]
    assert told["formula"] == "ill ~ sex"
    assert found.to_csv().splitlines()[0].startswith("term,estimate,se,low,high,flags")
    assert "<svg" in str(found.plot())
    assert found["sex[T.m]"] == found.estimate[1]


@pytest.mark.parametrize(
    ("formula", "family", "options", "code"),
    [
        ("ill", "binomial", {}, "RR541"),
        ("ill ~ sex +* age", "binomial", {}, "RR541"),
        ("ill + sex ~ age", "binomial", {}, "RR541"),
        ("ill ~ ill", "binomial", {}, "RR541"),
        ("ill ~ nothing", "binomial", {}, "RR262"),
        ("ill ~ center(age)", "binomial", {}, "RR541"),
        ("ill ~ lag(age)", "binomial", {}, "RR541"),
        ("ill ~ log(age - 1)", "binomial", {}, "RR541"),
        ("ill ~ sex", "cauchy", {}, "RR541"),
        ("kind ~ sex", "binomial", {}, "RR543"),
        ("kind ~ sex", "binomial", {"success": ["no such"]}, "RR543"),
        ("kind ~ sex", "binomial", {"success": ["a", "b", "c"]}, "RR543"),
        ("kind ~ sex", "gaussian", {}, "RR543"),
        ("ill ~ sex", "multinomial", {}, "RR543"),
        ("visits ~ sex", "gaussian", {"success": [1]}, "RR543"),
        ("ill ~ sex + I(2 * (sex == 'm'))", "binomial", {}, "RR544"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_code(formula, family, options, code, one):
    release = one(people(300, 17), EXACT)
    with pytest.raises(PolicyError) as raised:
        release.glm(formula, family, **options)
    assert raised.value.problems[0].code == code


def test_a_family_is_named_as_both_python_and_a_shell_take_it(one):
    with pytest.raises(PolicyError, match="RR543") as raised:
        one(people(300, 17), EXACT).glm("kind ~ sex", "gaussian")
    told = 'in Python, `family=` "binomial" or "multinomial"; in a shell, `--family binomial` or `--family multinomial`'
    assert raised.value.problems[0].hint == told


def test_a_condition_as_the_outcome_is_pointed_to_the_option_that_does_it(one):
    with pytest.raises(PolicyError, match="RR541") as raised:
        one(people(300, 17), EXACT).glm("I(visits >= 2) ~ sex", "binomial")
    hint = raised.value.problems[0].hint or ""
    assert hint.startswith("name the column alone, visits, ")
    assert "--success" in hint


@pytest.fixture
def asked(tmp_path):
    """A release of what was said, and of how often, by some: as it is read from a file with missing values."""
    answers, often = ("no", "it's so", "not asked"), ("0", "1", "2", "", "1")
    rows = (f"{'fm'[i % 2]},{answers[i % 3]},{often[i % 5]}\n" for i in range(300))
    (tmp_path / "t.csv").write_text("sex,said,often\n" + "".join(rows))
    attributes = f"""\
[attributes]
sex = {{ role = "quasi-identifier", domain = ["f", "m"] }}
said = {{ role = "sensitive", domain = {json.dumps(answers)} }}
often = {{ role = "sensitive", domain = [0, 1, 2], nulls = "not asked" }}
"""
    (tmp_path / "policy.toml").write_text(policy_text(attributes + REST))
    return open_release(rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out", source=tmp_path / "t.csv").bundle)


def test_the_option_that_says_what_counts_as_yes_can_be_pasted_into_a_shell(asked):
    with pytest.raises(PolicyError, match="RR543") as raised:
        asked.glm("said ~ sex", "binomial")
    shell = (raised.value.problems[0].hint or "").partition("in a shell, `")[2].rstrip("`")

    assert shlex.split(shell) == ["--success", "it's so", "--success", "not asked"]


def test_numbers_with_a_category_of_missing_values_are_numbers_and_who_has_none_is_left_out(asked):
    """As outcome and as covariate; the truth is the same question of those who have a value, asked by a condition."""
    missing = asked.crosstab(where="often IS NULL").estimate.item()
    for formula, family, told in (
        ("often ~ sex", "poisson", 2),
        ("often ~ sex", "gaussian", 2),
        ("often ~ said", "gaussian", 3),
        ("sex ~ often", "binomial", 2),
    ):
        found = asked.glm(formula, family)
        known = asked.glm(formula, family, where="often IS NOT NULL")
        assert found.estimate == pytest.approx(known.estimate)
        assert found.se() == pytest.approx(known.se())
        assert len(found.estimate) == told
        note = f"left out: an estimated {missing:,.1f} records without a value of 'often'"
        assert note in found.to_dict()["notes"]
        assert not any("left out" in said for said in known.notes)
    with pytest.raises(PolicyError, match="multinomial"):
        asked.glm("said ~ sex", "poisson")


def test_numbers_beside_words_are_pointed_to_a_condition(made, publish):
    axes = [made.identity("sex", ["f", "m"]), made.identity("often", [1, 2, "never", "seldom"])]
    axes[1].columns[0]["type"] = "VARCHAR"
    rows = {"sex": ["f", "m"] * 8, "often": ["1", "2", "never", "seldom"] * 4}
    release = open_release(publish(axes, rows))
    with pytest.raises(PolicyError, match="RR543.*'never' and 'seldom' are not numbers") as raised:
        release.glm("often ~ sex", "gaussian")
    hint = raised.value.problems[0].hint or ""
    condition = hint.partition("`")[2].rpartition("`")[0]

    assert release.glm("often ~ sex", "gaussian", condition).estimate == pytest.approx([1, 1])


def test_without_the_library_of_formulas_its_extra_is_named(one, monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(PolicyError, match="RR540.*formulaic, which is not installed"):
        one(people(90, 17), EXACT).glm("ill ~ sex")


@pytest.mark.parametrize("term", ["center(age)", "I(scale(age) - 1)", "poly (age, 2)", "sex:bs(age, df=4)"])
def test_terms_that_depend_on_how_often_values_occur_are_refused(one, term):
    release = one(people(90, 17), EXACT)
    with pytest.raises(PolicyError, match=r"RR541.*\(\) depends on how often values occur"):
        release.glm(f"ill ~ {term}", "binomial")
    assert len(release.glm("ill ~ I(age - 2) + log(age) + Q('sex')", "binomial").estimate) == 4


def test_a_model_of_too_many_cells_is_refused(one, monkeypatch):
    monkeypatch.setattr(regression, "MOST_ENTRIES", 15)
    release = one(people(300, 17), EXACT)
    assert len(release.glm("ill ~ sex", "binomial").estimate) == 2
    with pytest.raises(PolicyError, match="RR268: 8 cells times 2 terms are too many"):
        release.glm("ill ~ age", "binomial")


def test_a_model_of_a_constant_has_the_interval_of_its_share(one):
    codes = people(3000, 29)
    found = one(codes, EXACT).glm("ill ~ 1", "binomial", target="population")
    share = codes["ill"].mean()
    low, high = 1 / (1 + np.exp(-found.conf_int()[0]))

    assert 1 / (1 + np.exp(-found.estimate[0])) == pytest.approx(share)
    assert (low, high) == pytest.approx(
        binomtest(int(codes["ill"].sum()), 3000).proportion_ci(method="wilson"), abs=1e-3
    )


def test_predictions_refuse_what_the_release_does_not_know(one):
    release = one(people(900, 19), KEEP)
    found = release.glm("ill ~ sex + age", "binomial")
    for row in ({"sex": "f"}, {"sex": "x", "age": 1}, {"sex": "f", "age": "old"}):
        with pytest.raises(PolicyError) as raised:
            found.predict([row])
        assert raised.value.problems[0].code == "RR542"


def test_numbers_taken_for_categories_have_no_slope_and_nothing_between_them(one):
    found = one(people(3000, 29), EXACT).glm("ill ~ C(age) + sex", "binomial")
    told = {(k["of"], k["change"]): e for k, e in zip(found.margins().keys, found.margins().estimate, strict=True)}
    assert set(told) == {("age", 2), ("age", 3), ("age", 4), ("sex", "m")}
    assert told["age", 4] > 0.1
    with pytest.raises(PolicyError) as raised:
        found.predict([{"age": 2.5, "sex": "f"}])
    assert raised.value.problems[0].code == "RR542"


def test_generalised_columns_are_modelled_by_their_labels(tmp_path):
    codes = people(800, 23)
    labels = {a.name: a.domain for a in POLICY.policy.released}
    write_csv(tmp_path / "people.csv", {n: [labels[n][c] for c in codes[n]] for n in codes})
    text = policy_text(
        ATTRIBUTES + '[[privacy]]\nmodel = "k-anonymity"\nk = 60\n[mechanism]\nname = "l-diversity"\n'
        '[release]\naccept = ["node", "released"]\n',
        "people.csv",
    )
    (tmp_path / "policy.toml").write_text(text)
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    release = rrpolicy.open_release(tmp_path / "bundle")

    found = release.glm("ill ~ sex + area", "binomial", target="table")

    assert found.se() == pytest.approx(np.zeros(len(found.estimate)), abs=1e-9)
    with pytest.raises(PolicyError) as raised:
        release.disaggregate().glm("ill ~ sex + area + age", "binomial")
    assert raised.value.problems[0].code == "RR288"


def test_a_model_is_fitted_to_the_records_that_kept_their_labels_and_who_has_a_value(tmp_path):
    """Two of 74 records are suppressed, and some have no number of children; the truth is least squares by numpy."""
    people = [(age, sex, str(n)) for age in ("young", "old") for sex in "FM" for n in (0, 1, 1, 3, 3, 3, "", "", 0)]
    people = [*people, *people, ("veryold", "F", "2"), ("veryold", "M", "")]
    write_csv(
        tmp_path / "people.csv",
        dict(zip(("age", "sex", "children"), map(list, zip(*people, strict=True)), strict=True)),
    )
    text = """\
[attributes]
age = { role = "quasi-identifier", domain = ["young", "old", "veryold"] }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
children = { role = "sensitive", domain = [0, 1, 2, 3], nulls = "unknown", unchanged = "a test" }
[[privacy]]
model = "k-anonymity"
k = 5
[mechanism]
name = "l-diversity"
suppression = 0.05
"""
    (tmp_path / "policy.toml").write_text(policy_text(text, "people.csv"))
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    release = rrpolicy.open_release(tmp_path / "bundle")
    known = [(age == "old", sex == "M", float(n)) for age, sex, n in people if n and age != "veryold"]
    X = np.array([[1.0, old, male] for old, male, _ in known])
    truth = np.linalg.lstsq(X, np.array([n for *_, n in known]), rcond=None)[0]

    found = release.glm("children ~ age + sex")

    assert [key["term"] for key in found.keys] == ["Intercept", "age[T.old]", "sex[T.M]"]
    assert found.estimate == pytest.approx(truth)
    missing, suppressed = found.notes[:2]
    assert missing == "left out: 17 records without a value of 'children'"
    assert suppressed.startswith(
        "left out: 1 record suppressed in 'age' and 'sex': the model is of the records that kept"
    )
    assert suppressed in found.to_dict()["notes"]
    under = release.glm("children ~ age + sex", where="age <> '*'")
    assert under.estimate == pytest.approx(truth)
    assert not any("suppressed" in note for note in under.notes)


@pytest.mark.parametrize(
    ("algorithm", "k", "said"),
    [("mondrian", 25, "overlap"), ("full-domain", 120, "one category in this release")],
)
def test_labels_that_overlap_or_say_nothing_are_no_covariates(algorithm, k, said, tmp_path):
    """A slope beside a covariate that vanished, or that labels hide here and there, is another model's."""
    codes = people(800, 23)
    labels = {a.name: a.domain for a in POLICY.policy.released}
    write_csv(tmp_path / "people.csv", {n: [labels[n][c] for c in codes[n]] for n in codes})
    text = f'{ATTRIBUTES}[[privacy]]\nmodel = "k-anonymity"\nk = {k}\n[mechanism]\nname = "l-diversity"\nalgorithm = "{algorithm}"\n'
    accept = '[release]\naccept = ["node", "released"]\n' if algorithm == "full-domain" else ""
    (tmp_path / "policy.toml").write_text(policy_text(text + accept, "people.csv"))
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    with pytest.raises(PolicyError, match=said) as raised:
        rrpolicy.open_release(tmp_path / "bundle").glm("ill ~ sex + area + age", "binomial")
    assert raised.value.problems[0].code == "RR544"


def test_columns_of_any_name_are_terms_in_backticks(made, publish):
    """With points, blanks, words of Python and quotes; predictions and margins call them so, too."""
    names = ["flc.grp", "year of sample", "class", 'say "x"']
    rng = np.random.default_rng(31)
    columns = {"ill": rng.integers(0, 2, 400).tolist(), **{n: rng.integers(0, 3, 400).tolist() for n in names}}
    axes = [made.identity("ill", [0, 1]), *(made.identity(n, [0, 1, 2]) for n in names)]
    release = open_release(publish(axes, columns))

    found = release.glm('ill ~ `flc.grp` + C(`year of sample`) + `class`:`say "x"`', "gaussian")

    wanted = ["Intercept", "C(year of sample)[T.1]", "C(year of sample)[T.2]", "flc.grp", 'class:say "x"']
    assert sorted(k["term"] for k in found.keys) == sorted(wanted)
    X = np.stack([np.ones(400), columns["flc.grp"], *(np.array(columns[names[1]]) == v for v in (1, 2)),
                  np.array(columns["class"]) * columns[names[3]]], axis=1).astype(float)  # fmt: skip
    beta = np.linalg.lstsq(X, np.array(columns["ill"], dtype=float), rcond=None)[0]
    assert sorted(found.estimate.tolist()) == pytest.approx(sorted(beta.tolist()))
    assert len(found.predict([dict.fromkeys(names, 1)]).estimate) == 1
    assert {k["of"] for k in found.margins().keys} == set(names)
    with pytest.raises(PolicyError, match="no such"):
        release.glm("ill ~ `no such` +* `flc.grp`", "gaussian")
    with pytest.raises(PolicyError, match="RR262.*'flc.grp' is not a word that a formula takes") as raised:
        release.glm("ill ~ flc.grp", "gaussian")
    assert "`flc.grp`" in raised.value.problems[0].hint


def test_a_column_with_the_name_of_a_stand_in_is_itself(made, publish):
    names = ["odd_0_", "a b"]
    rng = np.random.default_rng(31)
    columns = {"ill": rng.integers(0, 2, 60).tolist(), **{n: rng.integers(0, 3, 60).tolist() for n in names}}
    release = open_release(publish([made.identity(n, [0, 1, 2]) for n in columns], columns))
    found = release.glm("ill ~ odd_0_ + `a b`", "gaussian")
    X = np.stack([np.ones(60), *(columns[n] for n in names)], axis=1)

    assert [k["term"] for k in found.keys] == ["Intercept", *names]
    assert found.estimate == pytest.approx(np.linalg.lstsq(X, np.array(columns["ill"], float), rcond=None)[0])


def test_a_straight_line_through_a_share_is_said_to_be_one(publish, made):
    axes = [made.identity("ill", [0, 1]), made.identity("age", [1, 2, 3])]
    rows = {"ill": [0, 1, 1, 0, 1, 0], "age": [1, 2, 3, 1, 2, 3]}
    release = open_release(publish(axes, rows))
    assert "logarithm of its odds" in release.glm("ill ~ age").summary()
    assert "logarithm of its odds" not in release.glm("age ~ ill").summary()
