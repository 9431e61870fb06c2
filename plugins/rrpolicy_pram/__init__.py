"""PRAM, the post-randomisation method: every attribute is randomised by a matrix that is published with the release."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Offer]:
    """Offer `pram`."""
    return [Offer("pram", "rrpolicy_pram.mechanism:Pram")]
