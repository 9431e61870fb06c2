"""What must be read beside an expected number: cells that are clipped or left out, and over how many groups a mean is."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.cli.main import main
from rrpolicy.declarations import Role
from rrpolicy.finding import Standing
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, policy_of
from rrpolicy.utility.distances import ChiSquare, KLDivergence
from rrpolicy.utility.query_metrics import CubeError, GroupByError, QueryOptions, RandomQueryError
from rrpolicy.utility.table_metric import TableMetricOptions

A, B = ("a", "b", "c"), ("u", "v", "w")
POLICY = policy_of(
    [
        Attribute("x", Role.QUASI_IDENTIFIER, A, release_as="x"),
        Attribute("y", Role.SENSITIVE, B, release_as="y"),
    ]
)
TABLE = TableInMemory.of(POLICY, {"x": [0, 0, 1, 1, 1, 2], "y": [0, 0, 1, 1, 0, 0]})
KEPT = Product.of(
    tuple(POLICY.attributes.values()),
    [Retention.uniform("x", A, Fraction(3, 5)), Retention.uniform("y", B, Fraction(4, 5))],
)
IN_SETS = Product.of(tuple(POLICY.attributes.values()), [Sets.of("y", B, 2)])
BOTH = TableMetricOptions(attributes=("x", "y"), draws=400)


def beside(metric, options, channel):
    return {c.name: c.measure for c in metric.beside(options, channel, TABLE)}


def test_what_chi_square_leaves_out_is_said():
    found = beside(ChiSquare(), BOTH, KEPT)

    assert found["cells left out"].value == 5
    # the variances of the moment estimates of the five cells, from the covariance of one record's weights
    P = np.full((3, 3), 0.2) + np.eye(3) * 0.4
    Q = np.full((3, 3), 0.1) + np.eye(3) * 0.7
    W = np.kron(np.linalg.inv(P), np.linalg.inv(Q))
    channel = np.kron(P, Q)
    p = TABLE.counts("x", "y").dense().ravel() / 6
    variance = [((channel @ p) @ W[cell] ** 2 - p[cell]) / 6 for cell in range(9)]
    assert found["squared estimates there"].standing is Standing.EXACT
    assert found["squared estimates there"].value == pytest.approx(sum(np.array(variance)[p == 0]))


def test_where_it_is_simulated_it_is_an_estimate():
    found = beside(ChiSquare(), BOTH, IN_SETS)

    there = found["squared estimates there"]
    assert there.standing is Standing.ESTIMATE
    # of n people of one x, a value that none of them has stands in a set with chance 1/2: its estimate is (W - n/2)/(1/2)
    expected = sum(n * (1 / 4) * 4 / 36 for n, absent in ((2, 2), (3, 1), (1, 2)) for _ in range(absent))
    assert abs(there.value - expected) < 5 * there.error


def test_clipped_cells_are_counted():
    found = beside(KLDivergence(), BOTH, KEPT)

    assert found["cells that occur"].value == 4
    assert 0 < found["cells counted as 1e-12"].value < 4
    assert found["cells counted as 1e-12"].standing is Standing.ESTIMATE


def test_groups_and_queries_are_counted():
    assert beside(GroupByError(), BOTH, KEPT)["groups"].value == 4
    assert beside(CubeError(), BOTH, KEPT)["groups"].value == 4 + 3 + 2 + 1
    options = QueryOptions(attributes=("x", "y"), dimensions=1, queries=500, selectivity=Fraction(1, 9))
    # one value of each: a query has an answer in 4 of 9 cells
    answered = beside(RandomQueryError(), options, KEPT)["queries"].value
    assert abs(answered - 500 * 4 / 9) < 5 * (500 * 20 / 81) ** 0.5


def test_plan_and_audit_page_show_it_and_the_public_never(tmp_path, capsys):
    (tmp_path / "people.csv").write_text("x,y\n" + "a,u\na,u\nb,v\nb,v\nb,u\nc,u\n" * 50)
    (tmp_path / "policy.toml").write_text(
        'schema = 1\n[policy]\nname = "p"\nversion = "1.0.0"\nowner = "office"\npurpose = "a test"\n'
        '[source]\nuri = "people.csv"\n[attributes]\n'
        'x = { role = "quasi-identifier", domain = ["a", "b", "c"] }\n'
        'y = { role = "sensitive", domain = ["u", "v", "w"] }\n'
        '[mechanism]\nname = "pram"\nkeep_probability = { x = "3/5", y = "4/5" }\n'
        '[release]\naccept = ["released"]\n[[privacy]]\nmodel = "local-dp"\nepsilon = 9\n'
        '[[utility]]\nmetric = "kl-divergence"\nmax = 5\n[[utility]]\nmetric = "cube-error"\nmax = 9\n'
    )
    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "made")]) == 0
    assert main(["plan", str(tmp_path / "policy.toml")]) == 0
    assert "related: cells that occur: 4" in capsys.readouterr().out

    findings = json.loads((tmp_path / "made/audit/findings.json").read_text())
    assert [c["name"] for c in findings["utility"][0]["companions"]] == ["cells counted as 1e-12", "cells that occur"]
    assert "<bdi>groups</bdi>: <strong><bdi>10</bdi></strong>" in (tmp_path / "made/audit/report.html").read_text()
    for path in (p for p in (tmp_path / "made/public").rglob("*") if p.is_file()):
        assert b"cells that occur" not in path.read_bytes()
    assert main(["verify", str(tmp_path / "made"), "--source", str(tmp_path / "people.csv")]) == 0
