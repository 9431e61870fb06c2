"""The report as one HTML page that refers to nothing outside itself and needs no script."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import fields
from functools import cache
from importlib import resources

from jinja2 import Environment
from markupsafe import Markup

from rrpolicy.plugin import Report, percent, template_environment
from rrpolicy_reports import drawing, measures, wording

_OF = {"audit": "audit", "plan": "audit", "public": "public"}


@cache
def _style(page: str) -> str:
    """Return what both pages share, and what one adds to it."""
    folder = resources.files("rrpolicy_reports") / "templates"
    return "\n" + "".join((folder / name).read_text(encoding="utf-8") for name in ("report.css", f"{_OF[page]}.css"))


def inline_style(page: str) -> Markup:
    """Return the stylesheet of `audit` or `public`, for the page's only style element."""
    return Markup(_style(page))  # noqa: S704 - the package's own files, no value of a report is in them


def style_source(page: str) -> str:
    """Return the hash under which the page's policy admits that stylesheet and no other."""
    digest = hashlib.sha256(_style(page).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def environment() -> Environment:
    """Return the templates' environment: everything is escaped, nothing may be undefined."""
    made = template_environment("rrpolicy_reports", wording.shown)
    made.filters |= {
        "beside": wording.beside,
        "code": wording.code,
        "label": wording.label,
        "sentence": wording.sentence,
        "prose": wording.prose,
        "names": wording.names,
        "numeric": wording.numeric,
        "percent": percent,
        "probability": wording.probability,
        "whole": wording.whole,
        "number": wording.number,
        "basis": wording.basis,
        "shade": drawing.shade,
        "spot": drawing.spot,
        "across": drawing.across,
        "up": drawing.up,
        "anchor": drawing.anchor,
        "forest": drawing.forest,
        "kind": drawing.kind,
        "bars": drawing.bars,
        "spread": drawing.spread,
        "parameters": measures.parameters,
        "related": measures.related,
        "shared": measures.shared,
        "used": wording.used,
        "lines": wording.lines,
        "cited": wording.cited,
        "limits": wording.limits,
        "shaded": drawing.shaded,
    }
    made.tests["constant"] = drawing.constant
    made.globals |= {"inline_style": inline_style, "style_source": style_source}
    return made


class HtmlRenderer:
    """Prints the page."""

    @property
    def name(self) -> str:
        """Return `html`."""
        return "html"

    @property
    def suffix(self) -> str:
        """Return `.html`."""
        return ".html"

    def render(self, report: Report) -> bytes:
        """Return the page as UTF-8; what cannot be encoded becomes a question mark."""
        shown = {field.name: getattr(report, field.name) for field in fields(report)}
        return environment().get_template(f"{_OF[report.page]}.html").render(shown).encode("utf-8", "replace")
