"""RR-Both, RR-QI and RR-S: randomised response whose retention probabilities are the best that a policy allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rrpolicy.plugin import Mechanism, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Mechanism[Any]]:
    """Offer `rr-both`, `rr-qi` and `rr-s`."""
    from rrpolicy_rr.mechanism import BOTH, QUASI_IDENTIFIERS, SENSITIVE

    return [BOTH, QUASI_IDENTIFIERS, SENSITIVE]
