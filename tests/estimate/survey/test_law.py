"""Over every sample and every randomisation of a tiny population: no bias, and variances that are right on average."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.estimate.opening import open_release
from rrpolicy.frozen import replace

VILLAGES = {
    "a": ([("yes", 2, 3.0)], 1 / 2),
    "b": ([("no", 1, 1.0), ("yes", 2, 5.0)], 1 / 4),
    "c": ([("no", 2, 4.0)], 1 / 4),
}
"""Village -> its people (ill, size of the household, income) and how probably each draw takes it."""
LABELS = {"ill": ["no", "yes"], "size": [1, 2]}


def samples(strata=1):
    """Yield every sample of two villages, drawn with replacement, with its probability and its rows."""
    for drawn in product(VILLAGES, repeat=2 * strata):
        probability = np.prod([VILLAGES[v][1] for v in drawn])
        rows = [
            (h, c, ill, size, income, 1 / (2 * VILLAGES[v][1]))
            for h in range(strata)
            for c, v in enumerate(drawn[2 * h : 2 * h + 2])
            for ill, size, income in VILLAGES[v][0]
        ]
        yield probability, rows


def kept(name, value, released, keep):
    return keep if value == released else (1 - keep) / (len(LABELS[name]) - 1)


@pytest.fixture
def asked(made, publish, tmp_path):
    """Return a function (keep, questions) -> for each sample, for each outcome: its probability and the answers."""

    def ask(keep, question, design, strata=1):
        axes = [made.retention(name, LABELS[name], [((0, 1), keep[name])]) for name in LABELS]
        carried = [made.column(n, (), "carried", "DOUBLE") for n in ("weight", "income")]
        carried += [made.column(n, (), "carried", "BIGINT") for n in ("h", "c")]
        first = {"ill": ["no"], "size": [1], "weight": [1.0], "income": [1.0], "h": [0], "c": [0]}
        base = open_release(publish(axes, first, carried=carried))
        probabilities = {name: float(Fraction(p)) for name, p in keep.items()}
        for place, (probability, rows) in enumerate(samples(strata)):
            h, c, *values, income, weight = zip(*rows, strict=True)
            outcomes = []
            drawn = [n for n in LABELS if probabilities[n] < 1]
            own = dict(zip(LABELS, values, strict=True))
            for number, released in enumerate(product(*(LABELS[n] for n in drawn for _ in rows))):
                told = dict(own)
                likely = 1.0
                for i, name in enumerate(drawn):
                    told[name] = released[i * len(rows) : (i + 1) * len(rows)]
                    pairs = zip(own[name], told[name], strict=True)
                    likely *= np.prod([kept(name, v, u, probabilities[name]) for v, u in pairs])
                path = tmp_path / f"{place}-{number}.parquet"
                pq.write_table(
                    pa.table(
                        {**{n: list(told[n]) for n in LABELS}, "weight": weight, "income": income, "h": h, "c": c}
                    ),
                    path,
                )
                data = replace(base.data, paths=(path,))
                manifest = replace(base.manifest, records=len(rows))
                release = replace(base, data=data, manifest=manifest).with_design(**design)
                outcomes.append((likely, question(release)))
            yield probability, outcomes

    return ask


def moments(found, of):
    """Return mean and variance of estimates, and the means of both variance estimates, over everything."""
    table = [(p * q, *answer[of]) for p, outcomes in found for q, answer in outcomes]
    p, x, population, _ = map(np.array, zip(*table, strict=True))
    assert p.sum() == pytest.approx(1)
    mean = p @ x
    within = sum(
        p * (sum(q * a[of][0] ** 2 for q, a in outcomes) - sum(q * a[of][0] for q, a in outcomes) ** 2)
        for p, outcomes in found
    )
    randomised = sum(p * q * a[of][2] for p, outcomes in found for q, a in outcomes)
    return mean, p @ (x - mean) ** 2, p @ population, within, randomised


def totals(release):
    """Return (estimate, variance of the population's, of this table's) of totals; raw, before any stand-in."""
    table = release.crosstab("ill")
    survey, functions = table.survey, table._functions
    both = [survey.variance(functions, target) for target in ("population", "table")]
    return {"ill": (float(table.estimate[1]), both[0][1], both[1][1])}


DESIGN = {"weight": "weight", "clusters": "c"}


def test_totals_are_unbiased_and_so_are_both_variances(asked):
    found = list(asked({"ill": "3/4", "size": "1"}, totals, DESIGN))
    mean, variance, expected, within, randomised = moments(found, "ill")

    assert mean == pytest.approx(2)
    assert expected == pytest.approx(variance)
    assert randomised == pytest.approx(within)


def test_strata_add_up(asked):
    found = list(asked({"ill": "1", "size": "1"}, totals, {**DESIGN, "strata": "h"}, strata=2))
    mean, variance, expected, *_ = moments(found, "ill")

    assert mean == pytest.approx(4)
    assert expected == pytest.approx(variance)


def test_the_law_tells_a_design_without_clusters(asked):
    found = list(asked({"ill": "1", "size": "1"}, totals, {"weight": "weight"}))
    _, variance, expected, *_ = moments(found, "ill")

    assert abs(expected - variance) > 0.1


def test_weights_that_were_randomised_are_undone(asked):
    """Each household weighs its size, which is released through a matrix; villages are drawn as before."""
    found = list(asked({"ill": "1", "size": "2/3"}, totals, {"weight": "size", "clusters": "c"}))
    expected = sum(
        p * sum(size for _, _, ill, size, *_ in rows if ill == "yes") for p, rows in samples()
    )  # no village's chance is undone here: the sample's own sum
    mean, variance, expected_variance, within, randomised = moments(found, "ill")

    assert mean == pytest.approx(expected)
    assert randomised == pytest.approx(within)
    assert expected_variance == pytest.approx(variance)


@pytest.mark.slow
def test_sums_of_numbers(asked):
    def question(release):
        (row,) = release.query("SELECT sum(income) FROM release WHERE ill = 'yes'").to_dict()["rows"]
        return {"sum": (row["estimate"], row["se"] ** 2, 0.0)}

    found = list(asked({"ill": "3/4", "size": "1"}, question, DESIGN))
    mean, variance, expected, *_ = moments(found, "sum")

    assert mean == pytest.approx(8)
    assert expected == pytest.approx(variance)
