"""audit/findings.json, read back into what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rrpolicy.finding import Finding, UtilityFinding
from rrpolicy.releasing.plan.assess import Assessment


def read_assessment(document: Mapping[str, Any]) -> Assessment:
    """Read what `audit.findings_document` wrote; it fits its schema. Of places it tells the line and no file.

    Raises:
        ValueError: if a number or a word cannot be read.
    """
    return Assessment(
        findings=tuple(map(Finding.from_json, document["findings"])),
        utility=tuple(map(UtilityFinding.from_json, document["utility"])),
        attained=tuple(map(Finding.from_json, document["attained"])),
        tested=document["tested"],
    )
