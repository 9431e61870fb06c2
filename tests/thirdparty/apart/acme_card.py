"""A renderer alone."""

from __future__ import annotations

from rrpolicy.plugin import hookimpl


class Card:
    name = "acme-card"
    suffix = ".txt"

    def render(self, report):
        return report.title.encode()


@hookimpl
def rrpolicy_renderers():
    return [Card()]
