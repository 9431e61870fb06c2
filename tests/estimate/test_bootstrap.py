"""The parametric bootstrap: errors that are known by formula, coverage where none is, what is drawn, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.bootstrap import draw_released, round_to_total


@pytest.fixture
def survey(made, publish):
    def make(records, shares=(0.5, 0.3, 0.2), name="bundle", seed=2):
        rng = np.random.default_rng(seed)
        axes = [
            made.matrix("a", "xyz", "xyz", [["4/5", "1/10", "1/5"], ["1/10", "4/5", "1/5"], ["1/10", "1/10", "3/5"]]),
            made.retention("b", ("no", "yes"), [((0, 1), "17/20")]),
            made.identity("c", ("in", "out")),
        ]
        a = rng.choice(3, records, p=shares)
        b = (rng.random(records) < 0.25 + 0.2 * a).astype(int)
        rows = made.draw(axes[0], a, rng) | made.draw(axes[1], b, rng)
        rows |= {"c": ["in" if i % 4 else "out" for i in range(records)], "y": list(range(records))}
        folder = publish(axes, rows, carried=[made.column("y", (), "carried", "BIGINT")], name=name)
        return rrpolicy.open_release(folder), np.bincount(a, minlength=3)

    return make


@pytest.mark.slow
def test_released_counts_are_drawn_by_the_matrices():
    """The mean of every released cell, and its variance, are those of the channel; a transposed matrix is caught."""
    rng = np.random.default_rng(5)
    P, Q = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]), np.array([[0.9, 0.4], [0.1, 0.6]])
    original = np.array([[40, 10], [5, 30], [15, 20]])
    draws = np.stack([draw_released(original, [P, Q], rng) for _ in range(20_000)]).reshape(20_000, -1)
    joint = np.kron(P, Q)
    mean = joint @ original.reshape(-1)
    variance = (joint * (1 - joint)) @ original.reshape(-1)

    assert (draws.sum(axis=1) == 120).all()
    assert np.abs(draws.mean(axis=0) - mean).max() < 5.5 * np.sqrt(variance.max() / 20_000)
    assert draws.var(axis=0) == pytest.approx(variance, rel=0.08)
    wrong = np.kron(P, Q.T / Q.T.sum(axis=0)) @ original.reshape(-1)
    assert np.abs(draws.mean(axis=0) - wrong).max() > 5.5 * np.sqrt(variance.max() / 20_000)
    rounded = round_to_total(np.array([1.5, 2.25, 0.25]), 4)
    assert (rounded.sum(), rounded.tolist()) == (4, [2, 2, 0])


@pytest.mark.slow
@pytest.mark.parametrize("target", ["table", "population"])
def test_the_errors_of_unbiased_counts_are_those_of_the_formula(survey, target):
    """Standard errors over 600 draws are within 16 % of the formula: 5.5 standard errors of such a one."""
    release, _ = survey(3000)
    for by, where in (("a", None), (["a", "b"], "c = 'in'"), ("a", "b = 'yes'")):
        found = release.bootstrap(lambda r, by=by, where=where: r.crosstab(by, where, target), draws=600, seed=3)
        table = release.crosstab(by, where, target)
        (counts,) = found.quantities
        assert counts.estimate == pytest.approx(table.estimate.reshape(-1))
        assert counts.errors[target] == pytest.approx(table.se(target).reshape(-1), rel=0.16)
        ends, normal = counts.ends(0.95, target), table.conf_int(0.95, target)
        assert np.abs(ends - normal).max() < 0.5 * table.se(target).max()
    measured = release.bootstrap(lambda r: r.association("a", "b", ["cramers_v", "chi2"], target=target), 600)
    own = release.association("a", "b", ["cramers_v", "chi2"], target=target)
    assert measured.quantities[0].errors[target] == pytest.approx(own.se(target), rel=0.2)


@pytest.mark.slow
def test_intervals_of_other_estimators_cover(survey):
    """EM counts of a category that is rarely there, 90 %: 100 releases, a false alarm in a million."""
    hits = np.zeros(3)
    for seed in range(100):
        release, true = survey(400, shares=(0.6, 0.37, 0.03), name=f"r{seed}", seed=seed)
        found = release.bootstrap(lambda r: r.crosstab("a", estimator="em", level=0.9), draws=99, seed=seed)
        (counts,) = found.quantities
        ends = counts.ends(0.9, "table")
        hits += (ends[:, 0] <= true) & (true <= ends[:, 1])
    # 5.4 standard errors of a share of 0.9 in 100
    assert hits.min() / 100 > 0.9 - 5.4 * np.sqrt(0.9 * 0.1 / 100)


def test_a_seed_gives_the_same_and_every_form_says_what_it_is(survey, capsys, tmp_path):
    release, _ = survey(900)
    question = ["estimate", str(release.folder), "--by", "a", "--estimator", "em", "--bootstrap", "60", "--seed", "4"]

    def asked(r):
        return r.crosstab("a", estimator="em")

    found = release.bootstrap(asked, 60, 4)
    assert main([*question, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(json.dumps(found.to_dict()))
    assert (document["schema"], document["of"], document["draws"], document["seed"]) == (
        "rrpolicy.bootstrap/1", "rrpolicy.estimate/1", 60, 4
    )  # fmt: skip
    assert found.to_dict() == release.bootstrap(asked, 60, 4).to_dict()
    assert found.to_dict() != release.bootstrap(asked, 60, 5).to_dict()
    assert "60 releases drawn from the most probable table (seed 4)" in found.summary()
    assert main([*question, "--plot", str(tmp_path / "em.svg")]) == 0
    assert found.summary() in capsys.readouterr().out
    assert (tmp_path / "em.svg").read_text() == found.plot()
    assert found.to_csv().splitlines()[0] == asked(release).to_csv().splitlines()[0]
    measures = [
        "estimate",
        "association",
        str(release.folder),
        "a",
        "b",
        "--deflate",
        "--measure",
        "chi2",
        "--bootstrap",
        "60",
    ]
    assert main(measures) == 0
    assert "chi2" in capsys.readouterr().out
    sql = "SELECT a, share() AS s FROM release WHERE c = 'in' GROUP BY a"
    assert main(["estimate", "query", str(release.folder), sql, "--bootstrap", "60", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [r["s"] for r in rows] == [r["s"] for r in release.query(sql).rows]
    assert all(r["s_low"] < r["s"] < r["s_high"] for r in rows)


def test_what_cannot_be_bootstrapped_is_refused(survey, capsys, monkeypatch):
    release, _ = survey(300)
    for question in (
        lambda r: r.mean("y", "a"),
        lambda r: r.rules(0.1, 0.1),
        lambda r: r.independence("a", "b"),
        lambda r: r.query("SELECT a, count(*) AS n FROM release GROUP BY a ORDER BY n LIMIT 1"),
        lambda r: r.query("SELECT count(*), count(*) FILTER (WHERE c = 'in') FROM release"),
        lambda r: r.query("SELECT max(y), count(*) FROM release"),
    ):
        with pytest.raises(PolicyError, match="RR509"):
            release.bootstrap(question, 60)
    with monkeypatch.context() as patched:
        patched.setattr("rrpolicy.estimate.bootstrap.CELLS", 3)
        with pytest.raises(PolicyError, match="RR509.*a joint table of more than 3 cells"):
            release.bootstrap(lambda r: r.crosstab(["a", "b"]), 60)
    for draws, seed in ((49, 0), (60, -1), (10**6, 0)):
        with pytest.raises(PolicyError, match="RR509"):
            release.bootstrap(lambda r: r.crosstab("a"), draws, seed)
    call = ["estimate", str(release.folder), "--since", str(release.folder), "--bootstrap", "60"]
    assert main(call) == 2
    assert "RR250" in capsys.readouterr().err
