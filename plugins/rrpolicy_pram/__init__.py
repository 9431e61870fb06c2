"""PRAM, the post-randomisation method: every attribute is randomised by a matrix that is published with the release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rrpolicy.plugin import Mechanism, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Mechanism[Any]]:
    """Offer `pram`."""
    from rrpolicy_pram.mechanism import Pram

    return [Pram()]
