"""The report as JSON: all of it, and readable again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rrpolicy.frozen import replace
from rrpolicy.report import SCHEMA, Histogram, Report
from rrpolicy_reports.json_renderer import JsonRenderer

COMMITTED = Path(__file__).resolve().parents[2] / "rrpolicy" / "schemas" / "rrpolicy.report-1.json"


@pytest.mark.parametrize("name", ["public", "audit", "failing", "hostile", "hostile public", "big", "plan"])
def test_json_reads_back_as_the_same_report(examples: Any, name: str) -> None:
    report = examples.EXAMPLES[name]()
    document = json.loads(JsonRenderer().render(report))

    assert document["schema"] == SCHEMA == "rrpolicy.report/1"
    assert Report.from_json(document) == report


@pytest.mark.parametrize("name", ["public", "audit", "failing", "hostile", "hostile public", "big", "plan"])
def test_the_document_fits_the_committed_schema(examples: Any, name: str) -> None:
    schema = json.loads(COMMITTED.read_text())
    document = json.loads(JsonRenderer().render(examples.EXAMPLES[name]()))

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, schema)


def test_infinities_survive(examples: Any) -> None:
    spread = Histogram("epsilon", (0.0, 1.0, math.inf), (3, 4), None, (("all", math.inf, 7),))
    report = examples.report("audit", findings=(examples.finding(histogram=spread),))
    content = JsonRenderer().render(report)

    assert b"Infinity" not in content
    assert Report.from_json(json.loads(content)) == report
    jsonschema.validate(json.loads(content), json.loads(COMMITTED.read_text()))


@pytest.mark.parametrize(
    "change",
    [{"schema": "rrpolicy.report/2"}, {"schema": None}, {"surprise": 1}, {"passed": "perhaps"}, {"findings": None}],
)
def test_what_is_no_report_of_this_schema_is_refused(examples: Any, change: dict[str, Any]) -> None:
    document = json.loads(JsonRenderer().render(examples.report()))

    with pytest.raises(ValueError):
        Report.from_json(document | change)


def test_a_missing_field_is_refused(examples: Any) -> None:
    document = json.loads(JsonRenderer().render(replace(examples.report(), title="x")))
    del document["title"]

    with pytest.raises(ValueError, match="title"):
        Report.from_json(document)
