"""Evidence as Markdown and as one HTML page that refers to nothing outside itself."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from rrpolicy.compliance.evidence import ComplianceEvidence
from rrpolicy.compliance.inventory import Inventory, inventory_facts, release_label
from rrpolicy.escaping import markdown
from rrpolicy.escaping.printable import visible
from rrpolicy.escaping.templates import template_environment

NOT_COVERED = "not covered"


def as_markdown(evidence: ComplianceEvidence) -> bytes:
    """Return the evidence in Markdown."""
    return _environment().get_template("evidence.md").render(found=evidence, not_covered=NOT_COVERED).encode()


def as_html(evidence: ComplianceEvidence) -> bytes:
    """Return the evidence as a page of its own."""
    return _environment().get_template("evidence.html").render(found=evidence, not_covered=NOT_COVERED).encode()


def inventory_page(found: Inventory) -> bytes:
    """Return an inventory as a page of its own."""
    template = _environment().get_template("inventory.html")
    return template.render(found=found, called=release_label, facts=inventory_facts).encode()


@cache
def _environment() -> Environment:
    """Return the templates' environment: HTML is escaped, and text in Markdown passes its own filters."""
    made = template_environment(__package__, lambda value: value, keep_trailing_newline=True)
    made.filters |= {
        "visible": lambda text: visible(str(text)),
        "prose": lambda text: Markup(markdown.markdown_prose(str(text))),  # noqa: S704 - the filter is the escaping
        "code": lambda text: Markup(markdown.markdown_code(str(text))),  # noqa: S704 - likewise
    }
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    made.globals |= {"style": Markup(style), "style_source": f"sha256-{digest}"}  # noqa: S704 - the package's own file
    return made


@cache
def _style() -> str:
    return "\n" + importlib.resources.files(__package__).joinpath("templates", "evidence.css").read_text("utf-8")
