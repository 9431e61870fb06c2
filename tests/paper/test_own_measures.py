"""What benchmarks/papers/ computes itself, where no metric does: held to the tool's own numbers where both are defined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.papers import guo, guo_ying_wu, sei_ohsuga
from benchmarks.papers.asking import drawn
from benchmarks.papers.data import CENSUS, baskets, mixed
from benchmarks.papers.ikarashi import SEED, SEVEN
from rrpolicy.frozen import replace


def one(asked: Any, table: pd.DataFrame, read: Callable[[Any], Any]) -> Any:
    (found,) = drawn(asked, table, 1, read)
    return found


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    group = rng.choice(["north", "south"], 6_000)
    value = np.where(group == "north", rng.choice(3, 6_000, p=(0.5, 0.3, 0.2)), rng.choice(3, 6_000, p=(0.3, 0.3, 0.4)))
    return pd.DataFrame({"group": group, "value": [f"v{v}" for v in value]})


def test_kl_is_the_sum_over_cells() -> None:
    table = people()
    names = list(table)

    def both(release: Any) -> tuple[float, float]:
        estimate = release.crosstab(names).to_frame()
        counts = {tuple(row[n] for n in names): max(row["estimate"], 0) for _, row in estimate.iterrows()}
        total = 0.0
        for cell, n in table.value_counts(names).items():
            total += n / len(table) * math.log(n / len(table) / (counts[cell] / sum(counts.values())))
        return guo_ying_wu.kl(table, names, release, "moment"), total

    found, expected = one(guo.question(names, ["0.8", "0.9"]), table, both)

    assert found == pytest.approx(expected, rel=1e-9)
    assert found > 1e-6


def test_measures_of_a_pair_are_those_of_a_release_that_keeps_everything() -> None:
    table = baskets(2_000, 3, seed=4)
    asked = guo.question(list(table), ["1"] * 3)
    asked = replace(asked, attributes={name: {"unchanged": "made up"} for name in table})

    found = one(asked, table, lambda release: guo._measures(release, ("item1", "item3")))

    assert found == pytest.approx([guo._true(table, "item1", "item3")[name] for name in guo.MEASURES], rel=1e-9)


def test_uncertainty_of_a_table_is_its_release_s() -> None:
    table = people()
    asked = replace(
        guo.question(list(table), ["1", "1"]), attributes={name: {"unchanged": "made up"} for name in table}
    )

    found = one(asked, table, lambda release: release.association("group", "value", "u")["u"])

    assert guo_ying_wu._u(table, "group", "value") == pytest.approx(100 * found, rel=1e-9)


def test_em_of_sets_is_the_unbiased_estimate_inside_the_simplex(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its fixed point there: the likelihood has one maximum, which the moment estimate is where it is positive."""
    monkeypatch.setattr(sei_ohsuga, "KNOWN", ("group",))
    monkeypatch.setattr(sei_ohsuga, "SENSITIVE", "value")
    table = people()
    true = table.value_counts(["group", "value"])

    def both(release: Any) -> tuple[float, float]:
        moment = release.crosstab(["group", "value"]).to_frame().set_index(["group", "value"])["estimate"]
        assert moment.min() > 0
        return sei_ohsuga._likeliest_of_sets(release, true), sei_ohsuga._relative(moment, true)

    likeliest, moment = one(sei_ohsuga.question(["group"], "value", 2, sei_ohsuga.ADDITION), table, both)

    assert likeliest == pytest.approx(moment, rel=1e-6)
    assert moment > 0.001


def test_the_census_table_has_the_listed_sizes(vectors: dict[str, Any]) -> None:
    listed = [c["domain_sizes"] for c in vectors["pk_anonymity"]["retention_for_k"] if c["N"] == CENSUS]

    table = mixed(50_000, SEVEN, SEED)

    assert list(SEVEN) in listed
    assert [table[name].nunique() for name in table] == list(SEVEN)


def test_the_same_releases_come_out_again() -> None:
    asked = guo.question(["group", "value"], ["0.8", "0.8"])

    def counts(release: Any) -> list[float]:
        return release.crosstab(["group", "value"]).estimate.ravel().tolist()

    first, again = (drawn(asked, people(), 2, counts) for _ in range(2))

    assert first == again
    assert first[0] != first[1]
