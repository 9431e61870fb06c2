"""Randomised response with a sampling design: the data and the formulas of the R package RRTCS 0.0.4 (GPL-2 or later).

Of its data sets only what the estimators need stands here: how many of each cluster said yes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rrpolicy.estimate.opening import open_release

YES = {
    1: ([10, 20, 10, 15, 15, 10, 15, 10, 15, 20, 10, 10, 15, 20], [7, 6, 2, 5, 6, 7, 7, 4, 3, 8, 4, 3, 8, 11]),
    2: ([20, 15, 20, 10, 15, 15, 10, 20, 15, 10, 20], [10, 10, 5, 3, 6, 6, 5, 8, 9, 5, 12]),
}
"""HorvitzDataStCl: stratum -> students of each cluster, and those who said yes; 1500 students in all."""
PROBABILITY = {1: 0.28, 2: 0.22}


@pytest.fixture
def told(made, publish) -> Callable:
    """Return a function (keep, said yes of each record, more columns) -> a release that was randomised so."""

    def tell(keep, yes, **more):
        axis = made.retention("yes", [0, 1], [((0, 1), keep)])
        carried = [made.column(n, (), "carried", "DOUBLE" if n == "weight" else "BIGINT") for n in more]
        return open_release(publish([axis], {"yes": yes, **more}, carried=carried))

    return tell


def test_warners_students(told):
    """WarnerData: 125 of 802 students, drawn without replacement; 60 answers say yes, the card is true with 0.7.

    `Warner(z, 0.7, Pi, "total", 0.95)` gives 360.9 with the variance 7883.336613: that of drawing without replacement,
    and what randomisation adds. Drawn with replacement the sample's part is 1 / (1 - n/N) times as large, and holds the
    randomisation already.
    """
    n, N = 125, 802
    release = told("7/10", [1] * 60 + [0] * 65, weight=[N / n] * n).with_design(weight="weight")
    table = release.crosstab("yes")
    population, randomised = (table.se(target)[1] ** 2 for target in ("population", "table"))

    assert table.estimate[1] == pytest.approx(360.9)
    assert (1 - n / N) * population + n / N * randomised == pytest.approx(7883.336613)


def test_students_in_strata_and_clusters(told):
    """HorvitzDataStCl: unrelated question, p = 0.6 and alpha = 0.5, which is a truth kept with 0.8.

    The numbers are svytotal and svymean of R's survey 4.1-1 for (z - 0.2) / 0.6, RRTCS's transformed variable.
    """
    records = [
        (int(i < yes), h, c, 1 / PROBABILITY[h])
        for h, (sizes, told_yes) in YES.items()
        for c, (size, yes) in enumerate(zip(sizes, told_yes, strict=True))
        for i in range(size)
    ]
    yes, h, c, weight = (list(column) for column in zip(*records, strict=True))
    release = told("4/5", yes, h=h, c=c, weight=weight).with_design(weight="weight", strata="h", clusters="c")
    table, mean = release.crosstab("yes"), release.mean("yes")

    assert (table.estimate[1], table.se()[1]) == pytest.approx((590.9090909, 74.85476036))
    assert (mean.estimate[0], mean.se()[0]) == pytest.approx((0.4022099448, 0.04741749813))
