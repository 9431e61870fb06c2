"""k-anonymity, l-diversity and t-closeness by generalisation: full-domain, Mondrian, and TP."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Offer]:
    """Offer `l-diversity`."""
    return [Offer("l-diversity", "rrpolicy_l_diversity.mechanism:LDiversity")]
