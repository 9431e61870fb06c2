"""Association without what randomisation alone puts into it: the same numbers as the metric's, nearer to the truth."""

from __future__ import annotations

import numpy as np
import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.testing import TableInMemory, open_policy, policy_text
from rrpolicy.testing.draws import draw_release, plan_kit_release
from rrpolicy.utility.association_tables import cramers_v, mutual_information, uncertainty_coefficients, written_pair
from rrpolicy.utility.simulation import original_shares

WIDE, WIDER = 8, 10
TEXT = f"""\
[attributes]
a = {{ role = "quasi-identifier", domain = {[*range(WIDE)]} }}
b = {{ role = "quasi-identifier", domain = {[*range(WIDER)]} }}
s = {{ role = "sensitive", domain = ["x", "y", "z"] }}
[mechanism]
name = "pram"
%s
[[privacy]]
model = "local-dp"
epsilon = 20
"""
APART = 'keep_probability = { a = "1/2", b = "1/2", s = "9/10" }'
TOGETHER = 'together = [["a", "b"]]\nretention_probability = { a = "1/2", s = "9/10" }'


def table_of(policy, records: int = 6_000) -> TableInMemory:
    chance = np.random.default_rng(5)
    a = chance.integers(0, WIDE, records)
    b = np.where(chance.random(records) < 0.15, a % WIDER, chance.integers(0, WIDER, records))
    return TableInMemory.of(policy, {"a": a.tolist(), "b": b.tolist(), "s": (b % 3).tolist()})


def test_two_columns_that_are_hidden_in_one_set_are_not_deflated(publish, made):
    columns = [made.column(name, values, "set", "VARCHAR[]") for name, values in (("a", "xy"), ("b", "uv"))]
    labels = [["x", "u"], ["x", "v"], ["y", "u"], ["y", "v"]]
    decoder = made.decoder(["a", "b"], "addition", {"columns": ["a", "b"], "labels": labels, "set_size": 2})
    rows = {"a": [["x", "y"], ["x", "x"]] * 9, "b": [["u", "v"], ["u", "v"]] * 9}
    release = open_release(publish([made.Axis(decoder, tuple(columns), [])], rows))
    assert release.crosstab(["a", "b"]).estimate.sum() == pytest.approx(18)
    with pytest.raises(PolicyError, match="RR278.*hidden in one set are not deflated"):
        release.association("a", "b", ["i"], deflate=True)


@pytest.mark.parametrize("how", [APART, TOGETHER])
def test_it_is_the_metrics_table_and_nearer_to_the_truth(how):
    policy = open_policy(policy_text(TEXT % how))
    table = table_of(policy.policy)
    plan = plan_kit_release(policy, table)
    true = original_shares(table, ("a", "b"))
    with draw_release(plan, policy, table, 1) as made:
        raw = made.release.association("a", "b", ["i", "u", "chi2"])
        found = made.release.association("a", "b", ["i", "u", "chi2"], deflate=True)
        shares = written_pair(made.release, table, ("a", "b"))

    assert found["i"] == pytest.approx(mutual_information(shares), rel=1e-9)
    assert found["u"] == pytest.approx(uncertainty_coefficients(shares)[0], rel=1e-9)
    assert found["chi2"] == pytest.approx(6_000 * (WIDE - 1) * cramers_v(shares) ** 2, rel=0.02)
    original = {"i": mutual_information(true), "chi2": 6_000 * (WIDE - 1) * cramers_v(true) ** 2}
    for measure, own in original.items():
        assert raw[measure] > 1.1 * own
        assert abs(found[measure] - own) < abs(raw[measure] - own) / 2
    assert found.estimator == ("deflated",) * 3
    assert np.isnan(found.errors["table"]).all()
    assert "deflated" in found.summary()
    assert np.isnan(found.conf_int()).all()  # 80 cells: a normal interval around what is too large would say nothing


def test_what_is_certain_is_the_same_and_a_condition_is_refused():
    policy = open_policy(policy_text(TEXT % APART))
    table = table_of(policy.policy, 2_000)
    with draw_release(plan_kit_release(policy, table), policy, table, 1) as made:
        with pytest.raises(PolicyError, match="RR278"):
            made.release.association("a", "b", "u", where="s = 'x'", deflate=True)
        two = made.release.association("a", "s", ["u", "phi"], present=([0, 1], ["x"]), deflate=True)
    low, high = two.conf_int().T
    assert ((low <= two.estimate) & (two.estimate <= high)).all()
    assert two.estimator == ("deflated",) * 2
