"""A format of released tables and an estimator, as a distribution of its own."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Estimator, Format, Offer, hookimpl


@hookimpl
def rrpolicy_formats() -> Iterable[Format | Offer]:
    """Offer `arrow`: it is imported when a policy or a release names it."""
    return [Offer("arrow", "acme_arrow.ipc:Arrow")]


@hookimpl
def rrpolicy_estimators() -> Iterable[Estimator | Offer]:
    """Offer `acme-ridge`."""
    return [Offer("acme-ridge", "acme_arrow.ridge:Ridge")]
