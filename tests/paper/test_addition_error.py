"""The errors of randomised addition: both formulas, by simulation through the sampler and the estimator."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rrpolicy.channels.axes.sets import Sets, addition_mean_squared_error
from rrpolicy.channels.sampling.prng import Stream, Streams
from rrpolicy.estimate.weights.sets import set_weights

CASES = 4


def deviations(
    counts: np.ndarray, l: int, draws: int, stream: Stream, shares: np.ndarray | None, *, seed: int
) -> np.ndarray:
    """Mean squared errors of draws: of a table's shares, or of a population's, from which a table is drawn each time."""
    axis = Sets.of("a", tuple(range(len(counts))), l)
    weights = set_weights(axis.decoder())
    generator = np.random.default_rng(seed)
    n = int(counts.sum())
    found = np.empty(draws)
    for i in range(draws):
        table = counts if shares is None else generator.multinomial(n, shares)
        _, released, _ = axis.split(np.arange(len(counts)), table, stream)
        x = np.concatenate(([n], np.bincount(released.ravel(), minlength=len(counts)))).astype(float)
        truth = counts / n if shares is None else shares
        found[i] = np.mean((weights.contract(x, 0, None, 1) / n - truth) ** 2)
    return found


def agrees(found: np.ndarray, expected: float) -> bool:
    return abs(found.mean() - expected) <= 5 * found.std(ddof=1) / np.sqrt(len(found))


@pytest.mark.parametrize("number", range(CASES))
def test_both_formulas_are_those_of_the_reference(vectors: dict[str, Any], number: int) -> None:
    case = vectors["addition"]["cases"][number]

    for target, known in (("table", "this_table"), ("population", "population")):
        error = addition_mean_squared_error(case["S"], case["l"], case["N"], target)  # type: ignore[arg-type]
        assert float(error) == pytest.approx(case[known], rel=1e-12)


def test_there_are_no_more_cases(vectors: dict[str, Any]) -> None:
    assert len(vectors["addition"]["cases"]) == CASES


@pytest.mark.slow
@pytest.mark.parametrize("number", range(CASES))
def test_simulated_errors_are_those_of_the_formulas(vectors: dict[str, Any], number: int) -> None:
    case = vectors["addition"]["cases"][number]
    n, size, l = case["N"], case["S"], case["l"]
    counts = np.full(size, n // size) + (np.arange(size) < n % size)
    stream = Streams.for_tests(70 + number).stream("simulation")

    this_table = deviations(counts, l, 300, stream, None, seed=1)
    population = deviations(counts, l, 300, stream, np.full(size, 1 / size), seed=2 + number)

    assert agrees(this_table, case["this_table"])
    assert agrees(population, case["population"])
    assert not agrees(this_table, 1.5 * case["this_table"])


@pytest.mark.slow
@pytest.mark.adult
def test_simulated_errors_on_adult_relationship_by_sex(adult_csv: Path) -> None:
    with gzip.open(adult_csv, "rt", newline="") as file:
        found = Counter((row["sex"], row["relationship"]) for row in csv.DictReader(file))
    values = sorted({value for _, value in found})
    assert (sum(found.values()), len(values)) == (45_222, 6)

    for number, sex in enumerate(sorted({sex for sex, _ in found})):
        counts = np.array([found[sex, value] for value in values])
        n, shares = int(counts.sum()), counts / counts.sum()
        for l in (2, 4):
            stream = Streams.for_tests(80 + number).stream("simulation", str(l))
            expected = float(addition_mean_squared_error(6, l, n, "table"))
            population = expected + (1 - float((shares**2).sum())) / (n * 6)

            assert agrees(deviations(counts, l, 150, stream, None, seed=1), expected)
            assert agrees(deviations(counts, l, 150, stream, shares, seed=9 + number), population)
            assert population < float(addition_mean_squared_error(6, l, n, "population"))
