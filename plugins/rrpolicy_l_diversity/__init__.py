"""k-anonymity, l-diversity and t-closeness by generalisation: full-domain, Mondrian, and TP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rrpolicy.plugin import Mechanism, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Mechanism[Any]]:
    """Offer `l-diversity`."""
    from rrpolicy_l_diversity.mechanism import LDiversity

    return [LDiversity()]
