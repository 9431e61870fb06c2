"""The report as JSON, under the schema `rrpolicy.report/1`."""

from __future__ import annotations

from rrpolicy.plugin import Report, pretty


class JsonRenderer:
    """Renderer of every field of the report."""

    @property
    def name(self) -> str:
        """Return `json`."""
        return "json"

    @property
    def suffix(self) -> str:
        """Return `.json`."""
        return ".json"

    def render(self, report: Report) -> bytes:
        """Return the document, indented, with a final newline."""
        return pretty(report.to_json())
