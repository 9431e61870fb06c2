"""k-anonymity, l-diversity and t-closeness by generalisation: full-domain, Mondrian, and TP."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Offer]:
    """Offer `generalisation`, which was called `l-diversity`, like the privacy model."""
    where = "rrpolicy_l_diversity.mechanism:Generalisation"
    return [Offer("generalisation", where, recorded="l-diversity", aliases=("generalization",))]
