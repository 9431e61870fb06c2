"""The report's renderers: a self-contained HTML page, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_renderers() -> Iterable[Offer]:
    """Offer the HTML page and the JSON document."""
    return [
        Offer("html", "rrpolicy_reports.html:HtmlRenderer"),
        Offer("json", "rrpolicy_reports.json_renderer:JsonRenderer"),
    ]
