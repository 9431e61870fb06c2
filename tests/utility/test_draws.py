"""Simulated draws of several gates: made once, with the numbers that each has alone; and draws that are all alike."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import ERRORS, Standing
from rrpolicy.planning.assess import assess
from rrpolicy.planning.plan import make_plan
from rrpolicy.testing import TableInMemory, open_policy, policy_text
from rrpolicy.utility.simulation import mean_over_draws

OF_TABLE = ("total-variation", "l1", "hellinger", "kl-divergence", "pmse", "cube-error")
OF_PAIRS = ("cramers-v-change", "mutual-information-change")
TEXT = """
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s"], unchanged = "so" }
disease = { role = "sensitive", domain = ["none", "flu"], unchanged = "so" }
[mechanism]
name = "pram"
keep_probability = { sex = "3/4", region = "3/5", disease = "9/10" }
[[privacy]]
model = "local-dp"
epsilon = 8
"""


def gate(metric: str, more: str = "") -> str:
    return f'[[utility]]\nmetric = "{metric}"\nmax = 1000\ndraws = 20\n{more}'


def found(*gates: str, counting: list[int] | None = None) -> list[tuple[float, float, tuple[float, ...]]]:
    """Return each gate's expectation and error in a plan of all of them, with what stands beside it."""
    policy = open_policy(policy_text(TEXT + "\n".join(gates)))
    table = TableInMemory.random(policy.policy, 60, 3)
    plan = make_plan(policy.policy, policy.registry, table)
    if counting is not None:
        counting.clear()
    utility = assess(plan.policy, policy.registry, plan.channel, table).utility
    return [(u.expected.value, u.expected.error, tuple(c.measure.value for c in u.companions)) for u in utility]


def test_gates_of_one_table_see_one_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    counting: list[int] = []
    draw = Product.draw

    def counted(self, *arguments, **more):
        counting.append(1)
        return draw(self, *arguments, **more)

    monkeypatch.setattr(Product, "draw", counted)
    alone = [found(gate(name))[0] for name in (*OF_TABLE, *OF_PAIRS)]
    together = found(*map(gate, (*OF_TABLE, *OF_PAIRS)), counting=counting)
    assert together == alone
    assert len(counting) == 20 + 20  # of the whole table, and of all pairs
    found(gate("l1"), gate("l1", "seed = 2\n"), gate("l1", 'attributes = ["sex"]\n'), counting=counting)
    assert len(counting) == 60  # other draws, and another table, are none of these


def test_draws_that_are_all_alike_bound_what_was_not_seen() -> None:
    """If another value has any larger probability, draws that are all alike have one below that of the limit's end."""
    tail = math.erfc(ERRORS / math.sqrt(2)) / 2
    for number in (20, 100, 1000):
        measure = mean_over_draws([0.25] * number, (0.0, 1.0))
        assert measure.standing is Standing.ESTIMATE
        missed = (measure.end("max") - 0.25) / 0.75
        assert (1 - missed) ** number == pytest.approx(tail)
        assert measure.end("min") <= 0.25 - 0.25 * missed
    assert mean_over_draws([0.1 + 0.2, 0.3], (0.0, 1.0)).error > 0.1
    assert mean_over_draws([0.25] * 20).error == 0
    some = mean_over_draws([0.25] * 19 + [0.5], (0.0, 1.0))
    assert some.error == pytest.approx(float(np.std([0.25] * 19 + [0.5], ddof=1)) / math.sqrt(20))


def test_a_rare_change_that_no_draw_shows_passes_no_tight_gate() -> None:
    """One record in 10^9 is changed: 20 draws show none, and tell of the distance no more than their number allows."""
    keep = Fraction(10**9 - 1, 10**9)
    rare = TEXT.replace('"3/4"', f'"{keep}"').replace('"3/5"', '"1"').replace('"9/10"', '"1"')
    rare = rare.replace('model = "local-dp"\nepsilon = 8', 'model = "identity-disclosure"\nthreshold = 1')
    policy = open_policy(policy_text(rare + gate("hellinger") + gate("l1")))
    table = TableInMemory.random(policy.policy, 60, 3)
    plan = make_plan(policy.policy, policy.registry, table)
    hellinger, l1 = assess(plan.policy, policy.registry, plan.channel, table).utility
    assert hellinger.expected.value == pytest.approx(0, abs=1e-6)
    assert hellinger.expected.end("max") > 0.25
    assert hellinger.simulated == "20 draws, seed 1"
    assert l1.expected.value == pytest.approx(0, abs=1e-6)
    assert l1.simulated == "20 draws, all equal, seed 1"
