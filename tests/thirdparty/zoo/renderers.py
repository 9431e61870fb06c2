"""A renderer of the report, and what is wrong with others."""

from __future__ import annotations

import hashlib
import html
import itertools
import json
import re
import textwrap
from typing import Any

from rrpolicy.frozen import replace
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
        return f"<!doctype html><title>{self.say(report.title)}</title>{self.head}{self.body(report)}<ul>{rows}</ul>".encode()

    def body(self, report: Report) -> str:
        return f"<p>{self.say(report.decision)}</p>"


class Lines(Page):
    """The same as JSON."""

    name = "acme-lines"
    suffix = ".json"

    def render(self, report: Report) -> Any:
        return json.dumps([report.title, report.decision, *(f.requirement for f in report.findings)]).encode()


class Plain(Page):
    """Plain text in narrow lines: a `<` means nothing in it."""

    name = "acme-text"
    suffix = ".txt"

    def say(self, text):
        return visible(text)

    def render(self, report):
        said = [report.title, report.decision, *(f.model for f in report.findings), *report.assumptions]
        return "\n\n".join(textwrap.fill(self.say(text), 40) for text in said).encode()


class Steering(Plain):
    def say(self, text):
        return re.sub("[\u202e\u2066]", "", text)


class Marked(Page):
    """Markdown, every sign of it escaped."""

    name = "acme-marked"
    suffix = ".md"
    picture = ""

    def render(self, report):
        said = [report.title, report.decision, *(f.requirement for f in report.findings)]
        lines = [re.sub(r"([\\`*_{}\[\]()#+!|~-])", r"\\\1", self.say(text)) for text in said]
        return "\n\n".join([*lines, self.picture]).encode()


class Badged(Marked):
    picture = "![passed](http://example.invalid/badge.png)"


class Slashed(Marked):
    """Markdown in which a backslash makes text of a `<`."""

    def say(self, text):
        return visible(text).replace("<", r"\<").replace("&", r"\&")

    def render(self, report):
        said = [report.title, report.decision, *(f.model for f in report.findings)]
        return "\n\n".join(map(self.say, said)).encode()


class Evasive(Page):
    def body(self, report):
        return ""


class Modest(Page):
    def render(self, report):
        return super().render(replace(report, findings=()))


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


class Refreshing(Page):
    head = '<meta http-equiv="refresh" content="0; url=https://example.invalid/">'


class Dressed(Page):
    head = '<p style="background: url(https://example.invalid/p.png)">a table</p>'


class Sheet(Page):
    """XML with text in sections of plain characters."""

    name = "acme-sheet"
    suffix = ".xml"
    sheet = '<?xml version="1.0"?>'

    def say(self, text):
        return f"<![CDATA[{visible(text).replace('<', '<]]><![CDATA[')}]]>"

    def render(self, report):
        said = [report.title, report.decision, *(f.requirement for f in report.findings)]
        return f"{self.sheet}<page>{''.join(f'<p>{self.say(text)}</p>' for text in said)}</page>".encode()


class SheetFromElsewhere(Sheet):
    sheet = '<?xml-stylesheet href="https://example.invalid/page.xsl"?>'


class Drawn(Page):
    """No text: the digest of the report, as a picture is of no text."""

    name = "acme-picture"
    suffix = ".png"

    def render(self, report):
        return b"\x89PNG" + hashlib.sha256(super().render(report)).digest()


class Broken(Page):
    name = "acme-broken"
    suffix = ".json"

    def render(self, report):
        return b"[" + super().render(report)


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
        said = [*(visible(f.requirement) for f in report.findings), report.decision, report.title]
        return ("[" + ", ".join(f'"{text}"' for text in said) + "]").encode()


def check(kind: type[Page]) -> None:
    check_renderer(kind())


HONEST = {
    "a page": Page,
    "lines": Lines,
    "plain text": Plain,
    "Markdown": Marked,
    "Markdown with backslashes": Slashed,
    "XML": Sheet,
    "a picture": Drawn,
}
WRONG = {
    "the decision is not told": (Evasive, "does not contain the decision: 'Both privacy requirements"),
    "the requirements are not told": (Modest, "does not contain the requirement 'epsilon <= 6 .*of local-dp"),
    "text that steers a terminal": (Steering, "a control character of a text"),
    "Markdown with a picture from elsewhere": (Badged, "refers to what is outside of it: .*http://example.invalid/badge.png"),
    "markup is not escaped": (Trusting, "is on the page as markup: it is not escaped"),
    "quotes are not escaped": (Unquoted, "a text of the report becomes markup"),
    "text that turns its direction": (Seen, "turns the direction of writing"),
    "a style from elsewhere": (Linked, "refers to what is outside of it: .*page.css"),
    "a picture from elsewhere": (Styled, "refers to what is outside of it: .*page.png"),
    "a script that asks elsewhere": (Asking, "refers to what is outside of it: .*fetch"),
    "a page that leaves": (Refreshing, "refers to what is outside of it: .*meta refresh"),
    "an attribute with a style from elsewhere": (Dressed, "refers to what is outside of it: .*p.png"),
    "XML with a style from elsewhere": (SheetFromElsewhere, "refers to what is outside of it: .*page.xsl"),
    "no JSON": (Broken, "it is not JSON"),
    "other bytes each time": (Ticking, "the same report gives other bytes"),
    "text for bytes": (Text, "render.. returns bytes"),
    "always the same page": (Constant, "another report gives the same bytes"),
    "what was printed before": (Keeping, "contains a text of the audit page"),
    "JSON that a quote breaks": (Spliced, "it is not JSON|turns the direction"),
}  # fmt: skip
