"""What a policy's file says without data, and with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.planning.check import check
from rrpolicy.planning.plan_result import PlanResult, plan_and_assess
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original


def problems(path: Path) -> list[Problem]:
    """Return what `check` refuses."""
    with pytest.raises(PolicyError) as caught:
        check(open_policy(path))
    return list(caught.value.problems)


def planned(path: Path) -> PlanResult:
    """Return what `plan` tells."""
    opened = open_policy(path)
    with open_original(opened.policy, opened.registry.sources, path.parent) as original:
        return plan_and_assess(opened.policy, opened.registry, original)
