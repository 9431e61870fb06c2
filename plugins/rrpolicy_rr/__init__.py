"""RR-Both, RR-QI and RR-S: randomised response whose retention probabilities are the best that a policy allows."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Offer]:
    """Offer `rr-both`, `rr-qi` and `rr-s`."""
    return [
        Offer("rr-both", "rrpolicy_rr.mechanism:BOTH"),
        Offer("rr-qi", "rrpolicy_rr.mechanism:QUASI_IDENTIFIERS"),
        Offer("rr-s", "rrpolicy_rr.mechanism:SENSITIVE"),
    ]
