"""Evidence in the form that is asked for, and as a file that appears whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rrpolicy.canonical import pretty
from rrpolicy.errors import unwritable
from rrpolicy.evidence.evidence import Evidence
from rrpolicy.evidence.writing import as_html, as_markdown
from rrpolicy.leaving import token, unfinished
from rrpolicy.releasing.appearing import appear, refuse_existing

Form = Literal["markdown", "html", "json"]


@dataclass(frozen=True, slots=True)
class Written:
    """Evidence, ready to be written in any form.

    Attributes:
        evidence: as data.
    """

    evidence: Evidence

    def content(self, form: Form) -> bytes:
        """Return the bytes of a form: the same for the same bundle."""
        if form == "json":
            return pretty(self.evidence.to_json())
        return as_markdown(self.evidence) if form == "markdown" else as_html(self.evidence)

    def write(self, path: Path, form: Form) -> None:
        """Write a file that is not there yet.

        Raises:
            RefusedError: RR402 if it is there, RR407 or RR408 if it cannot be written.
        """
        refuse_existing(path)
        made = path.with_name(f".{path.name}.{token()}")
        try:
            with unfinished(made):
                made.write_bytes(self.content(form))
                appear(made, path)
        except OSError as error:
            raise unwritable(str(path), error) from error
