"""Evidence in the requested form, and as a file that is written whole."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment
from markupsafe import Markup
from msgspec import Struct

from rrpolicy.canonical_json import Json, pretty
from rrpolicy.compliance.evidence import ComplianceEvidence
from rrpolicy.compliance.inventory import Inventory, inventory_facts, release_label
from rrpolicy.compliance.oscal import as_oscal
from rrpolicy.escaping.printable import markdown_code, markdown_prose, visible
from rrpolicy.escaping.templates import inline_style, template_environment
from rrpolicy.safe_io.atomic_write import refuse_existing, write_new_file

NOT_COVERED = "not covered"


def as_markdown(evidence: ComplianceEvidence) -> bytes:
    """Return the evidence in Markdown."""
    return _environment().get_template("evidence.md").render(found=evidence, not_covered=NOT_COVERED).encode()


def as_html(evidence: ComplianceEvidence) -> bytes:
    """Return the evidence as a separate HTML page."""
    return _environment().get_template("evidence.html").render(found=evidence, not_covered=NOT_COVERED).encode()


def inventory_page(found: Inventory) -> bytes:
    """Return an inventory as a separate HTML page."""
    template = _environment().get_template("inventory.html")
    return template.render(found=found, called=release_label, facts=inventory_facts).encode()


@cache
def _environment() -> Environment:
    """Return the templates' environment: HTML is escaped, and text in Markdown passes through filters."""
    made = template_environment(__package__, lambda value: value, keep_trailing_newline=True)
    made.filters |= {
        "visible": lambda text: visible(str(text)),
        "prose": lambda text: Markup(markdown_prose(str(text))),  # noqa: S704 - the filter is the escaping
        "code": lambda text: Markup(markdown_code(str(text))),  # noqa: S704 - likewise
    }
    made.globals["styles"] = {"evidence": inline_style(__package__, "evidence.css")}
    return made


Form = Literal["markdown", "html", "json", "oscal"]


class RenderedEvidence(Struct, frozen=True):
    """Evidence, ready to be written in any form."""

    evidence: ComplianceEvidence

    def content(self, form: Form) -> bytes:
        """Return the bytes of a form: the same for the same bundle.

        Raises:
            PolicyError: RR250 if OSCAL is requested, and the time of the release is unknown.
        """
        match form:
            case "markdown":
                return as_markdown(self.evidence)
            case "html":
                return as_html(self.evidence)
            case _:
                return pretty(self.document(form))

    def document(self, form: Literal["json", "oscal"]) -> dict[str, Json]:
        """Return the content of a form for programs, as plain data; raises as `content` does."""
        return self.evidence.to_json() if form == "json" else as_oscal(self.evidence)

    def write(self, path: Path, form: Form) -> None:
        """Write a file that does not exist yet.

        Raises:
            RefusedError: RR402 if it exists, RR407 or RR408 if it cannot be written.
            PolicyError: as `content` does; nothing is written then.
        """
        refuse_existing(path)
        write_new_file(path, self.content(form))
