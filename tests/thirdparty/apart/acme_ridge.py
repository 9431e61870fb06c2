"""An estimator alone."""

from __future__ import annotations

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_estimators():
    return [Offer("acme-ridge", "acme_arrow.ridge:Ridge")]
