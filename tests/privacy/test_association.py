"""Cramér's V of what is assumed unlinkable."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.contingency import association

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.counts import Counts, tabulate
from rrpolicy.finding import Basis, Standing
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.epsilon.association import cramers_v, largest_cramers_v
from rrpolicy.privacy.models import pk_anonymity
from rrpolicy.privacy.models.pk_anonymity import PkAnonymityOptions
from rrpolicy.source.run_length import MOST, SystematicSampler, systematic_sample


class Table:
    """A table in memory: int codes are categorical, arrow arrays are carried."""

    def __init__(self, most: int = MOST, **columns: Any) -> None:
        self.columns = columns
        self.most = most
        self.records = len(next(iter(columns.values())))
        self.passes = 0
        self.policy = SimpleNamespace(
            attributes={n: SimpleNamespace(categorical=isinstance(c, np.ndarray)) for n, c in columns.items()}
        )

    def counts(self, *attributes: str) -> Counts:
        codes = np.stack([self.columns[a] for a in attributes], axis=1).astype(np.int32)
        return tabulate(attributes, tuple(codes.max(axis=0) + 1), codes, np.ones(self.records, np.int64))

    def sample(self, *columns: str) -> pa.Table:
        self.passes += 1
        table = pa.table({c: pa.array(self.columns[c]) for c in columns})
        batches = table.sort_by([(c, "ascending") for c in columns]).to_batches(max_chunksize=70)
        return systematic_sample(batches, self.records, self.most)


@given(st.lists(st.integers(0, 30), min_size=12, max_size=12))
def test_v_is_that_of_scipy(n: list[int]) -> None:
    table = np.array(n).reshape(3, 4)
    occupied = table[table.any(axis=1)][:, table.any(axis=0)]
    codes = np.array(list(np.ndindex(3, 4)))

    v = cramers_v(codes[:, 0], codes[:, 1], table.ravel()) if table.any() else 0.0

    if min(occupied.shape, default=0) < 2:
        assert v == 0.0
    else:
        assert v == pytest.approx(association(occupied, method="cramer", correction=False), abs=1e-9)


def test_the_largest_is_named_and_remembered() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, 600), rng.integers(0, 3, 600)
    original: Any = Table(x=a.copy(), a=a, b=b)

    found = largest_cramers_v(original, ["x"], ["b", "a"])

    assert found["x"].other == "a"
    assert found["x"].measure.value == pytest.approx(1.0)
    assert found["x"].measure.standing is Standing.EXACT
    assert largest_cramers_v(original, ["x"], ["b", "a"])["x"] is found["x"]


def test_carried_columns_are_grouped_by_rank_in_one_pass() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 5000)
    hours, noise = a * 10 + rng.random(5000), rng.random(5000)
    few = [None if v == 0 else f"label {v}" for v in a]
    original: Any = Table(hours=pa.array(hours), noise=pa.array(noise), few=pa.array(few), a=a)

    found = largest_cramers_v(original, ["hours", "noise", "few"], ["a"])

    assert original.passes == 1
    assert found["hours"].measure.value > 0.95
    assert found["noise"].measure.value < 0.1
    assert found["few"].measure.value == pytest.approx(1.0)


def test_large_tables_are_sampled_and_say_so() -> None:
    a = np.random.default_rng(3).integers(0, 2, 5001)
    original: Any = Table(500, hours=pa.array(a * 1.0), a=a)

    measure = largest_cramers_v(original, ["hours"], ["a"])["hours"].measure

    assert measure.standing is Standing.ESTIMATE
    assert measure.error == pytest.approx(1 / np.sqrt(455))
    assert measure.value == pytest.approx(1.0)


def test_findings_show_it_in_audit_only_and_warn() -> None:
    a = np.random.default_rng(4).integers(0, 2, 400)
    original: Any = Table(a=a, b=a.copy(), c=pa.array(np.ones(400)))
    axes = (Retention.uniform("a", [0, 1], Fraction(3, 4)), Identity.of("b", [0, 1], None, "drawn by lot"))
    carried = (Column("c", "carried", (), "DOUBLE", "c", "constant"),)
    channel = Product(axes, carried, ("a", "b", "c"))

    finding = pk_anonymity.assess(Requirement("pk-anonymity", PkAnonymityOptions(k=2)), channel, original)

    shown = {c.name: c for c in finding.companions if c.basis is Basis.ORIGINAL}
    assert shown["Cramér's V of b"].measure.value == pytest.approx(1.0)
    assert "doubtful" in shown["Cramér's V of b"].meaning
    assert shown["Cramér's V of c"].measure.value == 0.0
    assert "doubtful" not in shown["Cramér's V of c"].meaning
    public: Any = finding.up_to(Basis.RELEASE).to_json()
    assert not any("Cramér" in c["name"] for c in public["companions"])
    assert public["achieved"]["value"] == finding.achieved.value  # type: ignore[union-attr]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 60))
def test_a_systematic_sample_takes_every_so_many_th_record(n: list[int], most: int) -> None:
    """However the distinct rows come in batches, record 0, s, 2s, … of the sorted table is taken."""
    records = [i for i, times in enumerate(n) for _ in range(times)]
    sample = SystematicSampler(len(records), most)
    rows = pa.record_batch([pa.array(range(len(n))), pa.array(n)], names=["value", "n"])
    for start in range(0, len(n), 7):
        sample.take(rows.slice(start, 7))

    taken = sample.table().column(0).to_pylist()

    assert taken == records[:: -(-len(records) // most)]
    assert len(taken) <= most
