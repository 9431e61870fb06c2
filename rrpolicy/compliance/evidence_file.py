"""Evidence in the form that is asked for, and as a file that appears whole."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rrpolicy.canonical_json import Json, pretty
from rrpolicy.compliance.evidence import ComplianceEvidence
from rrpolicy.compliance.evidence_rendering import as_html, as_markdown
from rrpolicy.compliance.oscal import as_oscal
from rrpolicy.errors import write_error
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.safe_io.appearing import appear, refuse_existing
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix

Form = Literal["markdown", "html", "json", "oscal"]


@frozen
class RenderedEvidence:
    """Evidence, ready to be written in any form.

    Attributes:
        evidence: as data.
    """

    evidence: ComplianceEvidence

    def content(self, form: Form) -> bytes:
        """Return the bytes of a form: the same for the same bundle.

        Raises:
            PolicyError: RR250 if OSCAL is asked for, and nothing tells when the release was made.
        """
        match form:
            case "markdown":
                return as_markdown(self.evidence)
            case "html":
                return as_html(self.evidence)
            case _:
                return pretty(self.document(form))

    def document(self, form: Literal["json", "oscal"]) -> dict[str, Json]:
        """Return what a form for programs holds, as plain data; raises as `content` does."""
        return self.evidence.to_json() if form == "json" else as_oscal(self.evidence)

    def write(self, path: Path, form: Form) -> None:
        """Write a file that is not there yet.

        Raises:
            RefusedError: RR402 if it is there, RR407 or RR408 if it cannot be written.
            PolicyError: as `content` does; nothing is written then.
        """
        refuse_existing(path)
        content = self.content(form)
        made = path.with_name(f".{path.name}.{random_suffix()}")
        try:
            with cleanup_on_exit(made):
                made.write_bytes(content)
                appear(made, path)
        except OSError as error:
            raise write_error(str(path), error) from error
