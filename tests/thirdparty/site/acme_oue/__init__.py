"""Optimised unary encoding, as a distribution of its own: a mechanism, its axis, a privacy model and its assessor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rrpolicy.plugin import Assessor, Axis, Channel, Mechanism, PrivacyModel, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Mechanism[Any]]:
    """Offer `acme-oue`."""
    from acme_oue.mechanism import UnaryEncoding

    return [UnaryEncoding()]


@hookimpl
def rrpolicy_channels() -> Iterable[type[Channel | Axis]]:
    """Offer the axis kind `acme.unary`."""
    from acme_oue.axis import Unary

    return [Unary]


@hookimpl
def rrpolicy_privacy_models() -> Iterable[PrivacyModel[Any]]:
    """Offer `acme-amplification`."""
    from acme_oue.amplification import Amplification

    return [Amplification()]


@hookimpl
def rrpolicy_assessors() -> Iterable[Assessor]:
    """Offer the assessor of `acme-amplification`."""
    from acme_oue.amplification import assessor

    return [assessor()]
