"""A renderer of the report, and what is wrong with others."""

from __future__ import annotations

import html
import itertools
import json
from typing import Any

from rrpolicy.plugin import Report, visible
from rrpolicy.testing import check_renderer

ticks = itertools.count(1)


class Page:
    """A page with a heading and a list of findings."""

    name = "acme-page"
    suffix = ".html"
    head = "<style>li { color: #333 }</style>"

    def say(self, text: str) -> str:
        return html.escape(visible(text))

    def render(self, report: Report) -> Any:
        said = [f"{f.requirement}: {f.verdict}" for f in report.findings] + [
            f"{f.name}: {f.value}" for f in report.facts
        ]
        rows = "".join(f'<li title="{self.say(text)}">{self.say(text)}</li>' for text in said)
        return f"<!doctype html><title>{self.say(report.title)}</title>{self.head}<ul>{rows}</ul>".encode()


class Lines(Page):
    """The same as JSON."""

    name = "acme-lines"
    suffix = ".json"

    def render(self, report: Report) -> Any:
        return json.dumps([report.title, *(f.requirement for f in report.findings)]).encode()


class Trusting(Page):
    def say(self, text):
        return visible(text)


class Unquoted(Page):
    def say(self, text):
        return html.escape(visible(text), quote=False)


class Seen(Page):
    def say(self, text):
        return html.escape(text)


class Linked(Page):
    head = '<link rel="stylesheet" href="https://example.invalid/page.css">'


class Styled(Page):
    head = "<style>ul { background: url(https://example.invalid/page.png) }</style>"


class Asking(Page):
    head = '<script>fetch("https://example.invalid/page")</script>'


class Ticking(Page):
    def render(self, report):
        return super().render(report) + f"<!-- {next(ticks)} -->".encode()


class Text(Page):
    def render(self, report):
        return super().render(report).decode()


class Constant(Page):
    def render(self, report):
        return b"<!doctype html><title>a report</title>"


class Keeping(Page):
    """Shows what it printed before."""

    def __init__(self) -> None:
        self.before = b""

    def render(self, report):
        now, shown = super().render(report), self.before
        self.before = now if report.page == "audit" else self.before
        return now + (shown if report.page == "public" else b"")


class Spliced(Lines):
    def render(self, report):
        return (
            "[" + ", ".join(f'"{visible(f.requirement)}"' for f in report.findings) + f', "{report.title}"]'
        ).encode()


def check(kind: type[Page]) -> None:
    check_renderer(kind())


HONEST = {"a page": Page, "lines": Lines}
WRONG = {
    "markup is not escaped": (Trusting, "stands on the page as markup: it is not escaped"),
    "quotes are not escaped": (Unquoted, "a text of the report becomes markup"),
    "text that turns its direction": (Seen, "turns the direction of writing"),
    "a style from elsewhere": (Linked, "refers to what is outside of it: .*page.css"),
    "a picture from elsewhere": (Styled, "refers to what is outside of it: .*page.png"),
    "a script that asks elsewhere": (Asking, "refers to what is outside of it: .*fetch"),
    "other bytes each time": (Ticking, "the same report gives other bytes"),
    "text for bytes": (Text, "render.. returns bytes"),
    "always the same page": (Constant, "another report gives the same bytes"),
    "what was printed before": (Keeping, "holds a text of the audit page"),
    "JSON that a quote breaks": (Spliced, "it is no JSON|turns the direction"),
}  # fmt: skip
