"""A format alone."""

from __future__ import annotations

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_formats():
    return [Offer("arrow", "acme_arrow.ipc:Arrow")]
