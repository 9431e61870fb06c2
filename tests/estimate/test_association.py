"""Associations of a release, independence, loglinear models, rules, and what holds."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.association.loglinear import (
    contrasts,
    design_matrix,
    fit,
    model,
    parse_formula,
    reasons_not_preserved,
)
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.results.chart_layout import chart
from rrpolicy.estimate.rules import itemsets
from rrpolicy.estimate.rules.errors import rule_errors

SEX, AGE, ILL = ("F", "M"), ("young", "middle", "old"), ("no", "yes")


@pytest.fixture
def survey(made, publish):
    """Illness goes with age and sex, region with nothing."""
    rng = np.random.default_rng(8)
    n = 20_000
    sex, age, region = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    ill = (rng.random(n) < 0.15 + 0.25 * age + 0.1 * sex).astype(int)
    axes = [
        made.retention("sex", SEX, [((0, 1), "4/5")]),
        made.retention("age", AGE, [((0, 1, 2), "3/4")]),
        made.matrix("ill", ILL, ILL, [["9/10", "3/10"], ["1/10", "7/10"]]),
        made.identity("region", ("north", "south")),
    ]
    rows = {}
    for axis, codes in zip(axes, (sex, age, ill, region), strict=True):
        rows |= made.draw(axis, codes, rng)
    names = {"sex": (SEX, sex), "age": (AGE, age), "ill": (ILL, ill), "region": (("north", "south"), region)}
    truth = pd.DataFrame({name: np.array(labels)[codes] for name, (labels, codes) in names.items()})
    return rrpolicy.open_release(publish(axes, rows)), truth


def test_every_measure_is_near_the_truth_and_its_error_is_that_of_the_delta_method(survey):
    release, truth = survey
    found = release.association("sex", "ill")
    table = release.crosstab(["sex", "ill"])
    true = pd.crosstab(truth["sex"], truth["ill"]).to_numpy(dtype=float)

    assert [k["measure"] for k in found.keys] == list(MEASURES)
    for i, measure in enumerate(MEASURES.values()):
        value, gradient = measure.of(table.estimate)
        assert found.estimate[i] == pytest.approx(value)
        for target in ("table", "population"):
            expected = gradient.reshape(-1) @ table.covariance(target) @ gradient.reshape(-1)
            assert found.se(target)[i] ** 2 == pytest.approx(expected, rel=1e-9)
        low, high = found.conf_int(0.999999)[i]
        assert low <= measure.of(true)[0] <= high
    wide, narrow = found.conf_int(interval="chebyshev"), found.conf_int()
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert found.present == (("M",), ("yes",))


def test_results_read_as_frame_dictionary_text_and_picture(survey):
    release, _ = survey
    found = release.association("age", "ill", ["U", "tau"], where="region = 'north'", target="population", level=0.9)

    frame = found.to_frame()

    assert list(frame.columns) == [
        "measure", "estimate", "se", "low", "high", "flags", "estimator", "low_chebyshev", "high_chebyshev",
    ]  # fmt: skip
    assert frame["estimator"].tolist() == ["moment", "moment"]
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema"] == "rrpolicy.association/1"
    text = found.summary()
    assert "tau: the column guessed by the row" in release.association("age", "ill").summary()
    assert (
        "m: the share of the row's uncertainty that the column takes away"
        in release.association("age", "ill").summary()
    )
    assert "where region = 'north'" in text
    assert "low 90 %" in text
    assert "does not reject" in text
    picture = found.plot()
    assert picture.startswith("<svg")
    assert "tau" in picture
    assert found["uncertainty_coefficient"] == frame["estimate"][0]


def test_other_categories_can_be_those_that_are_present(survey):
    release, truth = survey
    found = release.association("age", "ill", "odds_ratio", present=(["middle", "old"], ["yes"]))

    table = release.crosstab(["age", "ill"]).estimate
    two = np.array([table[0], table[1] + table[2]])
    assert found["odds_ratio"] == pytest.approx(MEASURES["odds_ratio"].of(two)[0])
    true = pd.crosstab(truth["age"] != "young", truth["ill"]).to_numpy(dtype=float)
    assert abs(found["odds_ratio"] - MEASURES["odds_ratio"].of(true)[0]) < 5 * found.se()[0]
    with pytest.raises(PolicyError, match="RR273") as refused:
        release.association("age", "ill", "phi")
    hint = refused.value.problems[0].hint
    assert "in Python, `present=(['old'], ['yes'])`" in hint
    assert "in a shell, `--row-present old --column-present yes`" in hint
    with pytest.raises(PolicyError, match="RR273"):
        release.association("age", "ill", "phi", present=(["ancient"], ["yes"]))
    assert {k["measure"] for k in release.association("age", "ill").keys} == {
        m.name for m in MEASURES.values() if m.shape == "rxc"
    }


def test_cells_that_are_not_positive_go_to_em_or_are_not_estimable(publish, made):
    axes = [made.retention(c, ("0", "1"), [((0, 1), "3/4")]) for c in "ab"]
    rows = {"a": ["0"] * 50 + ["1"] * 50, "b": ["0"] * 48 + ["1"] * 2 + ["0"] * 2 + ["1"] * 48}
    release = rrpolicy.open_release(publish(axes, rows))
    assert release.crosstab(["a", "b"]).estimate.min() < 0

    found = release.association("a", "b", ["phi", "mutual_information", "odds_ratio"])

    assert found.estimator == ("moment", "EM", "not estimable")
    assert found.estimate[0] > 1
    assert found.conf_int()[0].max() == 1
    likely = release.crosstab(["a", "b"], estimator="em").estimate
    assert found["mutual_information"] == pytest.approx(MEASURES["mutual_information"].of(likely)[0])
    assert np.isnan(found.se()).tolist() == [False, True, True]
    assert "maximum likelihood" in found.summary()
    assert "not estimable" in found.plot()
    assert found.to_dict()["rows"][2]["estimate"] is None


def test_categories_that_nobody_has_are_left_out(publish, made):
    axes = [made.identity("a", ("x", "y", "unused")), made.retention("b", ("0", "1"), [((0, 1), "4/5")])]
    rows = {"a": list("xy" * 300), "b": list("0011" * 150)}
    with_it = rrpolicy.open_release(publish(axes, rows)).association("a", "b", ["chi2", "u"])
    without = rrpolicy.open_release(publish([made.identity("a", ("x", "y")), axes[1]], rows, name="two"))

    alone = without.association("a", "b", ["chi2", "u"])
    np.testing.assert_allclose(with_it.estimate, alone.estimate, atol=1e-12)
    np.testing.assert_allclose(with_it.se(), alone.se(), atol=1e-12)
    few = made.retention("b", ("0", "1", "2"), [((0, 1, 2), "4/5")])
    rows = {"a": list("xy" * 300), "b": ["0", "1", "1", "0", "0", "1"] * 100}
    found = rrpolicy.open_release(publish([made.identity("a", ("x", "y")), few], rows, name="em")).association("a", "b")
    assert set(found.estimator) == {"EM"}
    assert np.isfinite(found.estimate).all()


def test_near_independence_intervals_begin_at_0(survey):
    release, _ = survey
    weak, strong = (release.association(c, "ill", ["chi2", "u", "tau"]) for c in ("region", "age"))

    assert weak.conf_int()[:, 0].tolist() == [0, 0, 0]
    assert (strong.conf_int()[:, 0] > 0).all()
    assert weak.flags == strong.flags == ((), (), ())


def test_an_end_that_is_not_bounded_is_said_and_none_is_invented(publish, made):
    axes = [made.retention(c, ("0", "1"), [((0, 1), "3/5")]) for c in "ab"]
    rows = {"a": ["0"] * 50 + ["1"] * 50, "b": ["0"] * 40 + ["1"] * 10 + ["0"] * 15 + ["1"] * 35}
    found = rrpolicy.open_release(publish(axes, rows)).association("a", "b", ["odds_ratio", "phi"])

    (low, high), (least, most) = found.conf_int()
    assert low < 1e3
    assert high == np.inf
    assert -1 <= least <= most <= 1
    assert "not bounded" in found.summary()
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["rows"][0]["high"] is None
    assert document["not_bounded"][0] == ["high"]
    assert document["not_bounded"][1] == []
    assert "odds_ratio" in found.plot()


def test_tables_of_more_than_36_cells_are_marked_by_their_size_alone(publish, made):
    axes = [made.retention(c, tuple(map(str, range(7))), [(tuple(range(7)), "9/10")]) for c in "ab"]
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 7, 4000)
    rows = {}
    for axis in axes:
        rows |= made.draw(axis, codes, rng)
    release = rrpolicy.open_release(publish(axes, rows))

    found = release.association("a", "b", ["tau"])
    assert found.flags == (("large table",),)
    assert found.conf_int().tolist() == found.conf_int(interval="normal").tolist()
    two = release.association("a", "b", ["phi"], present=(["1", "2"], ["1", "2"]))
    assert two.flags == ((),)
    assert two.conf_int()[0, 0] > 0.5


def test_independence_is_tested_on_the_release_or_by_a_score_test(survey, publish, made):
    release, _ = survey
    on_release, wald = release.independence("region", "ill"), release.independence("region", "ill", method="wald")

    assert on_release.df == wald.df == 1
    assert on_release.p_value > 1e-3
    assert wald.p_value > 1e-3
    for method in (None, "score", "wald"):
        assert release.independence("age", "ill", method=method).p_value < 1e-12
        assert release.independence("age", "ill", method=method).df == 2
    assert release.independence("age", "ill", method="rao-scott").p_value < 1e-12
    assert release.independence("region", "ill", method="rao-scott").p_value > 1e-3
    assert "score test" in release.independence("region", "ill", where="sex = 'F'").method
    assert "released" in release.independence("sex", "ill", where="region = 'north'").method
    with pytest.raises(PolicyError, match="RR276"):
        release.independence("region", "ill", where="sex = 'F'", method="released")
    with pytest.raises(PolicyError, match="RR276"):
        release.independence("region", "ill", method="reconstructed")
    assert "p = " in wald.summary()
    assert wald.to_frame()["df"].tolist() == [1]
    pair = made.coupled(
        "xy", list(product("ab", "cd")), [["7/10" if u == v else "1/10" for v in range(4)] for u in range(4)]
    )
    rows = {"x": list("ab" * 50), "y": list("ccdd" * 25)}
    together = rrpolicy.open_release(publish([pair], rows, name="pair"))
    assert "score test" in together.independence("x", "y").method
    with pytest.raises(PolicyError, match="randomised together"):
        together.independence("x", "y", method="released")


def test_the_score_test_is_for_tables_of_few_cells(publish, made):
    axes = [made.retention(name, list(range(7)), [(tuple(range(7)), "9/10")]) for name in "uv"]
    rows = {"u": [i % 7 for i in range(98)], "v": [i // 14 for i in range(98)]}
    release = rrpolicy.open_release(publish(axes, rows))
    assert release.independence("u", "v", method="rao-scott").p_value == release.independence("u", "v").p_value
    with pytest.raises(PolicyError, match="RR276.*up to 36 cells") as caught:
        release.independence("u", "v", method="score")
    assert caught.value.problems[0].hint == 'method="rao-scott"'


def test_columns_drawn_together_have_the_intervals_of_their_matrix(publish, made):
    """A matrix of pairs that is the product of two is those two: also where categories are put together."""
    keep = {
        "x": [
            [Fraction(4, 5), Fraction(1, 10), Fraction(1, 10)],
            [Fraction(1, 10), Fraction(4, 5), Fraction(1, 10)],
            [Fraction(1, 10), Fraction(1, 10), Fraction(4, 5)],
        ]
    }
    keep["y"] = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, 600)
    rows = {"x": [*map("abc".__getitem__, x)], "y": [*map("cd".__getitem__, (x + rng.integers(0, 2, 600)) % 2)]}
    joint = [[str(p * q) for p in r for q in s] for r in keep["x"] for s in keep["y"]]
    together = rrpolicy.open_release(publish([made.coupled("xy", list(product("abc", "cd")), joint)], rows, name="one"))
    axes = [made.matrix(n, v, v, [[*map(str, row)] for row in keep[n]]) for n, v in (("x", "abc"), ("y", "cd"))]
    apart = rrpolicy.open_release(publish(axes, rows, name="two"))

    for present in (None, (["b", "c"], ["d"])):
        one, two = (
            release.association("x", "y", present=present, target="population") for release in (together, apart)
        )
        assert one.estimate == pytest.approx(two.estimate, nan_ok=True)
        assert one.conf_int() == pytest.approx(two.conf_int(), nan_ok=True, rel=1e-6)


def test_the_level_of_the_tests_holds_where_that_of_a_reconstructed_table_is_lost():
    """At independence, nominal 5 %: the corrected chi-square rejects half the time."""
    from scipy.special import chdtrc

    from rrpolicy.estimate.association.independence import corrected_table_test, released_table_test
    from rrpolicy.estimate.association.two_way_table import TwoWayTable

    rng = np.random.default_rng(12)
    n, draws = 4000, 2000
    P = np.kron(*[np.array([[0.7, 0.3], [0.3, 0.7]])] * 2)
    inverse = np.linalg.inv(P)
    pi = np.kron([0.6, 0.4], [0.5, 0.5])
    rejected = np.zeros(4)
    for _ in range(draws):
        x = rng.multinomial(n, P @ pi).astype(float)
        estimate = inverse @ x
        covariance = (inverse @ np.diag(x) @ inverse.T - np.outer(estimate, estimate) / n) * n / (n - 1)
        table = TwoWayTable(
            ("0", "1"), ("0", "1"), estimate.reshape(2, 2), x.reshape(2, 2),
            {"population": covariance, "table": covariance}, np.zeros((2, 2), dtype=bool),
        )  # fmt: skip
        chi2 = MEASURES["chi2"].of(table.estimate)[0]
        p_values = [
            released_table_test(("a", "b"), None, x.reshape(2, 2)).p_value,
            corrected_table_test(("a", "b"), None, table, "wald").p_value,
            corrected_table_test(("a", "b"), None, table, "rao-scott", degrees=n - 1).p_value,
            float(chdtrc(1, chi2)),
        ]
        rejected += np.array(p_values) < 0.05

    shares = rejected / draws
    assert np.abs(shares[:3] - 0.05).max() < 5 * np.sqrt(0.05 * 0.95 / draws) + 0.003
    assert shares[3] > 0.4


@pytest.mark.parametrize("keep", [0.8, 0.95])
def test_the_level_of_the_default_holds_where_columns_were_randomised_together_and_cells_are_small(keep):
    """Three categories by three, expected cells from .5 people on, nominal 5 and 1 %; Wald's test is caught."""
    from scipy.stats import binom

    from rrpolicy.estimate.association.independence import corrected_table_test
    from rrpolicy.estimate.association.two_way_table import TwoWayTable

    rng = np.random.default_rng(14)
    n, draws, cells = 200, 1500, 9
    P = (keep - (1 - keep) / 8) * np.eye(cells) + (1 - keep) / 8
    inverse = np.linalg.inv(P)
    products = np.einsum("iu,ju,uk->kij", inverse, inverse, P)
    pi = np.kron([0.8, 0.15, 0.05], [0.8, 0.15, 0.05])
    p_values = []
    for x in rng.multinomial(n, P @ pi, size=draws).astype(float):
        estimate = inverse @ x
        covariance = (inverse @ np.diag(x) @ inverse.T - np.outer(estimate, estimate) / n) * n / (n - 1)
        table = TwoWayTable(
            tuple("012"), tuple("012"), estimate.reshape(3, 3), x.reshape(3, 3),
            {"population": covariance, "table": covariance}, np.zeros((3, 3), dtype=bool),
        )  # fmt: skip
        score = corrected_table_test(("a", "b"), None, table, "score", products=products, records=n)
        p_values.append((score.p_value, corrected_table_test(("a", "b"), None, table, "wald").p_value))

    score, wald = np.array(p_values).T
    assert np.isnan(score).mean() < 0.15, "a category is estimated to be empty"
    for level in (0.05, 0.01):
        assert (score < level).sum() <= binom.ppf(1 - 1e-6, draws, level)
        assert (wald < level).sum() > binom.ppf(1 - 1e-6, draws, level)


def test_the_score_test_finds_what_depends(survey):
    release, _ = survey
    powerful = release.independence("age", "ill", method="score")
    assert powerful.p_value == pytest.approx(
        release.independence("age", "ill", method="wald").p_value, rel=1, abs=1e-12
    )


@given(st.lists(st.integers(0, 4), min_size=6, max_size=6), st.sampled_from(["score", "wald", "rao-scott", "released"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_test_of_a_tiny_table_has_a_probability_or_says_why_it_has_none(publish, made, counts, method):
    """Corrected tables with negative cells, empty margins and singular covariances, without a library's warning."""
    axes = [made.retention("a", "xy", [((0, 1), "7/10")]), made.retention("b", "uvw", [((0, 1, 2), "1/2")])]
    cells = [pair for pair, n in zip(product("xy", "uvw"), counts, strict=True) for _ in range(n)] or [("x", "u")]
    rows = {"a": [a for a, _ in cells], "b": [b for _, b in cells]}
    release = rrpolicy.open_release(publish(axes, rows, name=f"t{uuid4().hex}"))

    found = release.independence("a", "b", method=method)

    assert 0 <= found.p_value <= 1 or found.remark
    found.summary()


def test_the_level_holds_in_clusters_that_were_randomised_and_not_where_they_are_left_out():
    """40 clusters of 50 people, alike in both columns and independent in all: three categories by two, nominal 5 %."""
    from scipy.stats import binom

    from rrpolicy.estimate.association.independence import rao_scott

    rng = np.random.default_rng(13)
    clusters, people, draws = 40, 50, 2000
    P = np.kron(0.7 * np.eye(3) + 0.1, 0.6 * np.eye(2) + 0.2)
    inverse = np.linalg.inv(P)
    rejected = np.zeros(2)
    for _ in range(draws):
        rows, columns = rng.dirichlet([0.8, 0.8, 0.4], clusters), rng.dirichlet([0.9, 0.6], clusters)
        pi = (rows[:, :, None] * columns[:, None, :]).reshape(clusters, -1)
        x = np.stack([rng.multinomial(people, P @ one) for one in pi]) * rng.uniform(1, 3, clusters)[:, None]
        z = x @ inverse.T
        apart = z - z.mean(axis=0)
        records = inverse @ np.diag((x * x.sum(axis=1, keepdims=True) / people).sum(axis=0)) @ inverse.T
        for i, covariance in enumerate((apart.T @ apart * clusters / (clusters - 1), records)):
            table = z.sum(axis=0).reshape(3, 2)
            rejected[i] += rao_scott(table, covariance, clusters - 1, observed=False).p_value < 0.05

    assert rejected[0] <= binom.ppf(1 - 1e-6, draws, 0.06)
    assert rejected[0] >= binom.ppf(1e-6, draws, 0.04)
    assert rejected[1] > binom.ppf(1 - 1e-6, draws, 0.06)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("sex*education + disease", [("sex", "education"), ("disease",)]),
        ("a + a:b + b", [("a", "b")]),
        ("a*b*c + c*a", [("a", "b", "c")]),
        ("`age group`*x1+ß", [("age group", "x1"), ("ß",)]),
    ],
)
def test_formulas_give_their_highest_terms(text, terms):
    found = parse_formula(text)

    assert list(found.terms) == terms
    assert parse_formula(str(found)) == found


@pytest.mark.parametrize("text", ["", "a +", "a b", "* a", "a ** b", "a + (b)", "1 + a", "a - b", "`a"])
def test_formulas_that_are_none_are_refused(text):
    with pytest.raises(PolicyError, match="RR275"):
        parse_formula(text)


@pytest.mark.parametrize(
    ("terms", "randomised", "holds"),
    [
        ([("A", "D"), ("G",)], ["A", "D", "G"], True),
        ([("A",), ("D",), ("G",)], ["A", "D", "G"], True),
        ([("A", "D"), ("D", "G")], ["A", "G"], True),
        ([("A", "D"), ("D", "G")], ["D"], False),
        ([("A", "D"), ("D", "G"), ("A", "G")], ["A"], False),
        ([("A", "D", "G")], ["A", "D", "G"], True),
    ],
)
def test_which_models_survive(terms, randomised, holds):
    """The rule, and the rule seen at work: randomise a table of the model, and fit the model again."""
    asked = model(terms)
    assert (not reasons_not_preserved(asked, [(c,) for c in randomised])) is holds

    rng = np.random.default_rng(1)
    dimensions = [["ADG".index(c) for c in t] for t in terms]
    x = fit(rng.uniform(20, 90, (3, 3, 3)), dimensions).fitted
    for c in randomised:
        P = rng.dirichlet(np.ones(3), 3).T
        x = np.moveaxis(np.tensordot(P, x, axes=(1, "ADG".index(c))), 0, "ADG".index(c))
    again = fit(x, dimensions)
    assert (again.g2 < 1e-8) is holds


def test_columns_randomised_together_are_one_variable():
    assert reasons_not_preserved(parse_formula("a*c + b"), [("a", "b")])
    assert reasons_not_preserved(parse_formula("a + c"), [("a", "b")])
    assert not reasons_not_preserved(parse_formula("a*b + c"), [("a", "b")])


def test_the_published_loglinear_fits(vectors):
    vector = vectors["loglinear"]
    shares = np.array(vector["pi_ADG"]).reshape(2, 2, 2)
    # as many records as the four-digit proportions account for
    records = vector["N"] * shares.sum()
    for name, terms, df in (("A,D,G", [[0], [1], [2]], 4), ("AD,G", [[0, 1], [2]], 3)):
        for keep, published in vector["chi2_published"][name].items():
            x = shares / shares.sum()
            for axis, p in enumerate(map(float, keep.split(","))):
                x = np.moveaxis(np.tensordot([[p, 1 - p], [1 - p, p]], x, axes=(1, axis)), 0, axis)
            found = fit(x * records, terms)
            assert found.df == df
            assert found.chi2 == pytest.approx(published, rel=1e-3, abs=0.006)
            assert found.chi2 == pytest.approx(vector["chi2"][name][keep], rel=1e-9)


def test_fitting_agrees_with_closed_forms_and_contrasts_vanish():
    rng = np.random.default_rng(2)
    x = rng.uniform(5, 50, (2, 3, 4))
    conditional = fit(x, [[0, 2], [1, 2]]).fitted
    expected = x.sum(axis=1, keepdims=True) * x.sum(axis=0, keepdims=True) / x.sum(axis=(0, 1), keepdims=True)
    np.testing.assert_allclose(conditional, expected, rtol=1e-12)
    cyclic = fit(x, [[0, 1], [1, 2], [0, 2]])
    assert cyclic.converged
    assert cyclic.df == 1 * 2 * 3
    for fitted, terms in ((conditional, [[0, 2], [1, 2]]), (cyclic.fitted, [[0, 1], [1, 2], [0, 2]])):
        L = contrasts(x.shape, terms)
        np.testing.assert_allclose(L @ np.log(fitted).reshape(-1), 0, atol=1e-9)
        assert L.shape[0] == x.size - np.linalg.matrix_rank(design_matrix(x.shape, terms))


def test_a_model_of_a_release(survey):
    release, truth = survey
    found, broken = release.loglinear("age*ill + region"), release.loglinear("Age*ill + sex")

    assert found.survives
    assert found.randomised == ("age", "ill")
    assert "released table" in found.method
    assert found.p_value > 1e-3
    np.testing.assert_allclose(found.fitted.sum(axis=2), release.crosstab(["age", "ill"]).estimate, rtol=1e-9)
    assert found.to_frame()["fitted"].sum() == pytest.approx(20_000)
    assert broken.p_value < 1e-3
    saturated = release.loglinear("age*ill*sex")
    assert saturated.survives
    assert saturated.fit.df == 0
    dependent = release.loglinear("age*ill + sex*ill")
    assert not dependent.survives
    assert "ill is randomised and occurs in age*ill, sex*ill" in dependent.summary()
    assert "Wald" in dependent.method
    assert json.loads(json.dumps(dependent.to_dict(), allow_nan=False))["survives"] is False
    assert dependent.plot().startswith("<svg")
    assert truth.shape == (20_000, 4)


def test_what_holds_speaks_of_each_column(survey):
    release, _ = survey
    held = release.what_holds()
    frame = held.to_frame()

    assert set(frame["verdict"]) == {"valid", "level kept", "never larger", "order kept", "biased"}
    assert frame[frame["verdict"] == "valid"]["columns"].tolist() == ["region"]
    for analysis in ("M, with this column in the rows", "U and tau, with this column in the columns"):
        assert frame[frame["analysis"].str.startswith(analysis)]["columns"].tolist() == ["sex, age"]
    assert "level kept: a test on the released data" in held.summary()
    assert held.to_dict()["schema"] == "rrpolicy.what-holds/1"


def test_rules_have_corrected_supports_and_confidences(survey):
    release, truth = survey
    found = release.rules(0.1, 0.4, longest=3)

    assert found.rules
    for rule in found.rules[:12]:
        names = [c for c, _ in rule.given] + [rule.then[0]]
        table = release.crosstab(names)
        index = {tuple(r.group.values()): i for i, r in enumerate(table.rows)}
        labels = release.domain(rule.then[0])
        given = tuple(v for _, v in rule.given)
        cells = [index[(*given, v)] for v in labels]
        k = index[(*given, rule.then[1])]
        x, N = table.estimate.reshape(-1), release.records
        assert rule.support == pytest.approx(x[k] / N)
        assert rule.confidence == pytest.approx(x[k] / x[cells].sum())
        gradient = np.zeros(x.size)
        gradient[cells] = -rule.confidence / x[cells].sum()
        gradient[k] += 1 / x[cells].sum()
        assert rule.confidence_se**2 == pytest.approx(gradient @ table.covariance() @ gradient, rel=1e-6)
        assert rule.support_se == pytest.approx(table.se().reshape(-1)[k] / N)
        low, high = rule.confidence_chebyshev
        assert low <= rule.confidence_interval[0] <= rule.confidence_interval[1] <= high
    assert [r.confidence for r in found.rules] == sorted((r.confidence for r in found.rules), reverse=True)
    assert found.to_frame().shape == (len(found.rules), 16)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["rows"]
    assert {str(r) for r in found.rules} == {m.name for p in chart(found).panels for m in p.marks}
    assert found.plot().startswith("<svg")
    two = release.rules(0.1, 0.4, ["sex", "ill"], where="region = 'north' AND sex = 'F'", target="population")
    assert {r.given for r in two.rules} <= {(("sex", "F"),), (("ill", "no"),), (("ill", "yes"),)}
    certain = next(r for r in two.rules if r.then == ("sex", "F"))
    assert (certain.confidence, certain.confidence_se) == (pytest.approx(1), pytest.approx(0, abs=1e-9))
    with pytest.raises(PolicyError, match="RR277"):
        rule_errors(two, truth)


def test_rules_are_compared_with_the_true_ones(survey, publish, made):
    release, truth = survey
    errors = release.rules(0.1, 0.4).compared(truth)

    frame = errors.to_frame().set_index("by")
    assert frame.loc["lower", "found"] <= frame.loc["point", "found"] <= frame.loc["upper", "found"]
    assert frame.loc["upper", "false_negatives"] <= frame.loc["lower", "false_negatives"]
    assert frame.loc["lower", "false_positives"] <= frame.loc["upper", "false_positives"]
    assert 0 < frame.loc["point", "support_error"] < 0.1
    assert "true rules" in errors.summary()
    page = errors._repr_html_()
    assert f"<strong>{errors.true:,} true rules; errors in percent</strong>" in page
    for by in ("lower", "point", "upper"):
        assert f">{100 * errors.support_error[by]:.2f}</td>" in page
    assert errors.to_dict()["by"]["point"]["found"] == frame.loc["point", "found"]
    plain = publish([made.identity(c, sorted(set(truth[c]))) for c in truth], truth.to_dict("list"), name="plain")
    exact = rule_errors(rrpolicy.open_release(plain).rules(0.1, 0.4), truth)
    for by in ("lower", "point", "upper"):
        assert exact.found[by] == exact.true == errors.true
        assert exact.support_error[by] == pytest.approx(0, abs=1e-12)
        assert exact.false_positives[by] == exact.false_negatives[by] == 0


def test_rules_of_what_a_condition_leaves_out_are_refused(survey):
    release, _ = survey
    assert release.rule(["region = north -> ill = yes"], where="region = 'north'").rules
    with pytest.raises(PolicyError, match="RR277.*the condition leaves no record with region = south"):
        release.rule(["region = south -> ill = yes"], where="region = 'north'")


def test_too_many_sets_of_items_are_refused(survey, monkeypatch):
    release, _ = survey
    monkeypatch.setattr(itemsets, "MOST_ITEMSETS", 3)
    with pytest.raises(PolicyError, match="more than 3 sets of 2 items reach up to the least support"):
        release.rules(0.05, 0.1)
    assert release.rules(0.05, 0.1, longest=2).rules


def test_rules_of_other_records_than_the_manifest_states_are_refused(survey, made):
    release, _ = survey
    document = json.loads((release.folder / "release.json").read_text())
    (release.folder / "release.json").write_text(json.dumps(document | {"records": 19_999}))
    made.seal(release.folder)
    with pytest.raises(PolicyError, match="RR269.*it has 20,000 records, not 19,999"):
        rrpolicy.open_release(release.folder).rules(0.05, 0.1)


@pytest.mark.parametrize("arguments", [(0, 0.5), (0.1, 1.5), (0.1, 0.5, None, None)])
def test_rules_without_sense_are_refused(survey, arguments):
    release, _ = survey
    options = {"longest": 1} if len(arguments) == 4 else {}
    with pytest.raises(PolicyError, match="RR277"):
        release.rules(*arguments, **options)
