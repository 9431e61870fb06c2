"""The report's renderers: a self-contained HTML page, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Renderer, hookimpl


@hookimpl
def rrpolicy_renderers() -> Iterable[Renderer]:
    """Offer the HTML page and the JSON document."""
    from rrpolicy_reports.document import JsonRenderer
    from rrpolicy_reports.html import HtmlRenderer

    return [HtmlRenderer(), JsonRenderer()]
