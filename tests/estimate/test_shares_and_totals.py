"""Shares and totals of a release: the numbers of `query`, with their own text, JSON and errors."""

from __future__ import annotations

import numpy as np
import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release


@pytest.fixture
def release(mixed):
    return open_release(mixed)


def same(found, quantity):
    np.testing.assert_array_equal(found.estimate, quantity.estimate)
    for target in ("table", "population"):
        np.testing.assert_array_equal(found.se(target), quantity.errors[target])
        np.testing.assert_array_equal(found.conf_int(0.9, target), quantity.ends(0.9, target))
    assert found.flags == quantity.flags


def test_totals_are_the_sums_of_a_query(release):
    found = release.totals("hours", by="sex", where="plain = 10")
    asked = release.query("SELECT sex, sum(hours) FROM release WHERE plain = 10 GROUP BY sex")

    same(found, asked.quantities[0])
    assert found.to_dict()["schema"] == "rrpolicy.total/1"
    assert (found.to_dict()["value"], found.where, found.by) == ("hours", "plain = 10", ("sex",))
    assert found.title == "Estimated total of hours by sex"
    assert "low and high are normal 95 % intervals" in found.summary()


def test_totals_of_all_records_and_of_stated_numbers(release):
    hours, sizes = release.totals("hours"), release.mean("hours").sizes
    stated = release.totals("square", values={True: 1, False: 0})

    assert hours.estimate[0] == pytest.approx(release.mean("hours").estimate[0] * sizes[0], rel=1e-12)
    assert stated.estimate[0] == pytest.approx(release.crosstab((), "square = true").estimate.item(), rel=1e-12)
    assert stated.se("population")[0] == pytest.approx(
        release.crosstab((), "square = true").se("population").item(), rel=1e-12
    )
    with pytest.raises(PolicyError, match="RR274"):
        release.totals("sex")


def test_shares_within_groups_are_those_of_a_query(release):
    found = release.shares("square", within="sex", where="plain = 10")
    asked = release.query(
        "SELECT sex, square, count(*) / sum(count(*)) OVER (PARTITION BY sex) FROM release "
        "WHERE plain = 10 GROUP BY sex, square"
    )

    same(found, asked.quantities[0])
    assert found.by == ("sex", "square")
    assert found.title == "Estimated shares by sex, square within sex"
    assert found.to_dict()["within"] == ["sex"]
    assert found.estimate.reshape(2, 2).sum(axis=1) == pytest.approx(1)
    same(release.shares(["sex", "square"], ["sex"], "plain = 10"), asked.quantities[0])


def test_the_share_of_a_condition_in_each_group(release):
    found = release.shares(within="sex", part="wide = 'a'")
    asked = release.query("SELECT sex, count(*) FILTER (WHERE wide = 'a') / count(*) FROM release GROUP BY sex")

    same(found, asked.quantities[0])
    assert found.title == "Estimated shares of records with wide = 'a' by sex"
    assert found.to_dict()["part"] == "wide = 'a'"


def test_shares_of_all_records_and_of_exact_columns(release):
    found = release.shares("sex")
    counts = release.crosstab("sex")
    plain = release.shares("plain")

    np.testing.assert_allclose(found.estimate, counts.estimate / release.records, rtol=1e-12)
    assert plain.exact
    assert plain.estimate.sum() == 1
    assert release.shares("sex", target="population").target == "population"
    with pytest.raises(PolicyError, match="RR262"):
        release.shares("sex", within="town")
    with pytest.raises(PolicyError, match="RR271"):
        release.shares("sex", level=2)


def test_shares_of_generalised_columns_have_certain_bounds(publish, made):
    age = made.recoded("age", {"young": ["0", "1"], "old": ["2", "3"]})
    rows = {"age": ["young", "old", "old"], "sex": ["f", "f", "m"]}
    release = open_release(publish([age, made.identity("sex", ["f", "m"])], rows))

    found = release.shares(within="sex", part="age = '2'")

    assert found.estimate == pytest.approx([0.25, 0.5])
    np.testing.assert_array_equal(found.conf_int(), [[0, 0.5], [0, 1]])
    assert "spread" in found.flags[0]


def test_rows_of_shares_are_compared(release):
    found = release.pairwise(lambda r: r.shares(within="sex", part="square = true"))

    assert len(found.quantities[0].estimate) == 1
