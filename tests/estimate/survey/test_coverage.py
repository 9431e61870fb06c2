"""Intervals cover the finite population: a stratified sample of clusters with unequal weights, then randomised.

Each draw samples villages with replacement inside regions, people inside villages, and randomises sex, illness and visits.
At a false-alarm rate of 1e-6 over all questions, none covers less than 93 %; and the same test finds out who leaves out
the clusters, and who leaves out the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from rrpolicy.estimate.release import Release
from rrpolicy.frozen import replace

from .conftest import sample

DRAWS, VILLAGES, PEOPLE = 160, 14, 12
KEEP = {"sex": "9/10", "ill": "4/5", "visits": "4/5"}
DOMAINS = {"sex": ["F", "M"], "ill": ["no", "yes"], "visits": [0, 1, 2, 3]}
FALSE_ALARM = 1e-6


def population() -> pd.DataFrame:
    """Return a population of three regions, whose villages differ in size and in health; larger ones are healthier."""
    rng = np.random.default_rng(20)
    rows = []
    for h, region in enumerate(["north", "south", "west"]):
        for c in range(50):
            size = int(40 + 160 * rng.random() ** 2)
            near = rng.normal(0, 0.8) - size / 150
            female = rng.random(size) < 0.5
            ill = rng.random(size) < 1 / (1 + np.exp(0.3 - near - 0.6 * h - 0.7 * female))
            rows.append(
                pd.DataFrame(
                    {
                        "region": region,
                        "village": c,
                        "sex": np.where(female, "F", "M"),
                        "ill": np.where(ill, "yes", "no"),
                        "visits": np.minimum(rng.poisson(0.5 + 1.2 * ill), 3),
                        "income": np.round(20 + 4 * h + 5 * near - 3 * ill + 5 * rng.normal(size=size), 2),
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def drawn(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return a sample; a village that is drawn twice is two clusters."""
    parts = []
    for h, (_, region) in enumerate(people.groupby("region")):
        of = dict(iter(region.groupby("village")))
        n = VILLAGES + 4 * h
        for i, village in enumerate(rng.choice(len(of), n)):
            chosen = of[village].iloc[rng.choice(len(of[village]), PEOPLE, replace=False)]
            parts.append(chosen.assign(village=100 * h + i, weight=len(of) / n * len(of[village]) / PEOPLE))
    return pd.concat(parts, ignore_index=True)


def randomised(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return what is released: a value is kept with its probability, else another one."""
    found = {}
    for name, domain in DOMAINS.items():
        codes = table[name].map({v: i for i, v in enumerate(domain)}).to_numpy()
        moved = (codes + rng.integers(1, len(domain), len(codes))) % len(domain)
        keep = float(Fraction(KEEP[name]))
        found[name] = np.array(domain, dtype=object)[np.where(rng.random(len(codes)) < keep, codes, moved)]
    return table.assign(**found).astype({"visits": "int64"})


def releases(release: Release, people: pd.DataFrame, folder) -> Iterator[Release]:
    """Yield the release with the rows of each draw in the place of its own."""
    rng = np.random.default_rng(21)
    names = [column.name for column in release.data.columns]
    for i in range(DRAWS):
        table = randomised(drawn(people, rng), rng).assign(dice="a")
        path = folder / f"{i}.parquet"
        table[names].to_parquet(path, index=False)
        manifest = replace(release.manifest, records=len(table))
        yield replace(release, manifest=manifest, data=replace(release.data, paths=(path,)))


def asked(release: Release, known: dict[str, dict[str, float]]) -> dict[str, tuple[float, float, float, float]]:
    """Return (estimate, standard error, low, high) of each question."""
    found = {}

    def put(name, result, rows):
        ends, errors = result.conf_int(), np.ravel(result.se())
        for row in rows:
            found[f"{name} {row}"] = (np.ravel(result.estimate)[row], errors[row], *ends[row])

    put("people", release.crosstab(["ill", "sex"]), (0, 2))
    put("income", release.mean("income", "ill"), (0, 1))
    put("all income", release.mean("income"), (0,))
    put("visits", release.mean("visits"), (0,))
    put("slope", release.glm("ill ~ sex + region", "binomial"), (1, 3))
    put("calibrated", release.with_design(totals=known).crosstab(["ill"]), (1,))
    return found


def truth(people: pd.DataFrame) -> dict[str, float]:
    ill, female = people["ill"] == "yes", people["sex"] == "F"
    X = np.column_stack(
        [np.ones(len(people)), ~female, people["region"] == "south", people["region"] == "west"]
    ).astype(float)
    beta = np.zeros(4)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-X @ beta))
        beta += np.linalg.solve(X.T @ (X * (mean * (1 - mean))[:, None]), X.T @ (ill - mean))
    return {
        "people 0": float((~ill & female).sum()),
        "people 2": float((ill & female).sum()),
        "income 0": people["income"][~ill].mean(),
        "income 1": people["income"][ill].mean(),
        "all income 0": people["income"].mean(),
        "visits 0": people["visits"].mean(),
        "slope 1": beta[1],
        "slope 3": beta[3],
        "calibrated 1": float(ill.sum()),
    }


def least(covered: float, questions: int) -> int:
    """Return the least number of draws that no question of so many falls below where each covers so much."""
    return int(binom.ppf(FALSE_ALARM / questions, DRAWS, covered))


@pytest.mark.slow
def test_intervals_cover_the_population_and_those_of_other_designs_do_not(released, tmp_path):
    people = population()
    true = truth(people)
    base = released(sample(), KEEP)
    wrong = {
        "clusters": lambda r: r.without_design().with_design(weight="weight", strata="region"),
        "weights": lambda r: r.without_design().with_design(strata="region", clusters="village"),
    }
    held = {"right": [], **{name: [] for name in wrong}}
    known = {"sex": people["sex"].value_counts().to_dict(), "region": people["region"].value_counts().to_dict()}
    found = []
    for release in releases(base, people, tmp_path):
        of = {"right": release, **{name: other(release) for name, other in wrong.items()}}
        answered = asked(of["right"], known)
        found.append(answered)
        held["right"].append({q: low <= true[q] <= high for q, (_, _, low, high) in answered.items()})
        for name in wrong:
            ((low, high),) = of[name].mean("income").conf_int()
            held[name].append({"all income 0": low <= true["all income 0"] <= high})
    covered = {name: pd.DataFrame(draws).sum() for name, draws in held.items()}
    told = {name: (share / DRAWS).round(3).to_dict() for name, share in covered.items()}
    estimates = pd.DataFrame([{q: v[0] for q, v in draw.items()} for draw in found])
    errors = pd.DataFrame([{q: v[1] for q, v in draw.items()} for draw in found])
    ratio = errors.mean() / estimates.std()
    apart = (estimates.mean() - pd.Series(true)) / estimates.std() * np.sqrt(DRAWS)

    assert set(covered["right"].index) == set(true)
    assert (covered["right"] >= least(0.93, len(true))).all(), told
    assert 0.93 <= covered["right"].mean() / DRAWS <= 0.975, told
    assert ratio.between(0.75, 1.3).all(), ratio  # five standard errors of a standard deviation of 160 draws
    assert (apart.abs() < 5.5).all(), apart
    assert covered["clusters"].item() < least(0.93, len(true)), told
    assert covered["weights"].item() < least(0.93, len(true)), told


@pytest.mark.slow
def test_independent_columns_are_told_dependent_as_often_as_is_said(released, tmp_path):
    """Villages differ in who lives there and in how ill they are, each by itself; sex and illness are independent."""
    base = released(sample(), KEEP)
    rng = np.random.default_rng(22)
    names = [column.name for column in base.data.columns]
    rejected = {"right": 0, "clusters": 0}
    for i in range(DRAWS):
        parts = []
        for c in range(36):
            female, ill = rng.beta(0.5, 0.5, 2)
            sex, sick = (
                np.where(rng.random(40) < share, a, b) for share, a, b in ((female, "F", "M"), (ill, "yes", "no"))
            )
            own = {
                "region": ["north", "south", "west"][c % 3],
                "village": c,
                "weight": rng.uniform(1, 3),
                "income": 1.0,
            }
            parts.append(pd.DataFrame({"sex": sex, "ill": sick, "visits": 0}).assign(**own))
        path = tmp_path / f"{i}.parquet"
        randomised(pd.concat(parts, ignore_index=True), rng).assign(dice="a")[names].to_parquet(path, index=False)
        release = replace(base, data=replace(base.data, paths=(path,)))
        unclustered = release.without_design().with_design(weight="weight", strata="region")
        for name, one in (("right", release), ("clusters", unclustered)):
            rejected[name] += one.independence("sex", "ill").p_value < 0.05

    assert rejected["right"] <= binom.ppf(1 - FALSE_ALARM, DRAWS, 0.07)
    assert rejected["clusters"] > binom.ppf(1 - FALSE_ALARM, DRAWS, 0.07), rejected
