"""A gate that states the least that a number may be, of a metric of which larger is better."""

from __future__ import annotations

from types import ModuleType

import pytest
from pydantic import BaseModel, ConfigDict

from rrpolicy.errors import PolicyError
from rrpolicy.planning.check import check
from rrpolicy.planning.plan_result import plan_and_assess
from rrpolicy.plugin import Measure, Standing, hookimpl
from rrpolicy.testing import TableInMemory, open_policy, policy_text


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    standing: str = "estimate"


class Kept:
    """An estimate of 0.8, with a standard error of 0.02; or a bound."""

    name = "acme-kept"
    options = Options
    better = "larger"
    meaning = "how much is kept"

    def unfit(self, options, channel, axes):
        return None

    def expected(self, options, channel, original):
        if isinstance(original, int):
            return None
        return Measure(0.8, Standing(options.standing), 0.02 if options.standing == "estimate" else 0.0)

    def realised(self, options, release, original):
        return None


@pytest.fixture
def plugin():
    module = ModuleType("acme_kept")
    module.rrpolicy_utility_metrics = hookimpl(rrpolicy_utility_metrics)
    return module


def rrpolicy_utility_metrics():
    return [Kept()]


TEXT = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
disease = { role = "sensitive", domain = ["none", "flu"] }
[mechanism]
name = "pram"
keep_probability = { sex = "3/4", disease = "9/10" }
[release]
accept = ["released"]
[[privacy]]
model = "local-dp"
epsilon = 8
[[utility]]
metric = "acme-kept"
"""


@pytest.mark.parametrize(
    ("gate", "passes", "told"),
    [
        ("min = 0.7", True, ""),
        ("min = 0.75", False, "whose lower end at 3 standard errors is 0.74, is under 0.75"),
        ('min = 0.75\nstanding = "exact"', True, ""),
        ('min = 0.75\nstanding = "upper bound"', False, "is undecided"),
        ('min = 0.85\nstanding = "upper bound"', False, "is under 0.85"),
    ],
)
def test_the_least_is_decided_by_the_lower_end(gate, passes, told, plugin):
    policy = open_policy(policy_text(TEXT + gate), [plugin])
    outlook = plan_and_assess(policy.policy, policy.registry, TableInMemory.random(policy.policy, 200, 1))

    assert outlook.passed is passes
    assert told in " ".join(problem.message for problem in outlook.problems)
    if "lower end" in told:
        assert "`min = 0.74`: lower the limit" in outlook.problems[0].hint


def test_the_most_is_no_limit_of_it(plugin):
    with pytest.raises(PolicyError, match="RR286.*larger is better"):
        check(open_policy(policy_text(TEXT + "max = 0.9"), [plugin]))
