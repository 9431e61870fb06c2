"""The report as JSON: all of it, and readable again."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from rrpolicy import report
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


def schema_of_the_code() -> dict[str, Any]:
    """Return the JSON Schema of `Report.to_json`, with every field's description."""
    document: dict[str, Any] = TypeAdapter(Report).json_schema()
    parts = {"Report": document, **document["$defs"]}
    for name, part in parts.items():
        part["description"] = inspect.getdoc(getattr(report, name))
        described = {f.name: f.metadata["help"] for f in fields(getattr(report, name))}
        for key, value in part["properties"].items():
            part["properties"][key] = {"description": described[key], **with_infinities(value)}
        part["additionalProperties"] = False
    document["properties"] = {"schema": {"const": SCHEMA}, **document["properties"]}
    document["required"] = ["schema", *document["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


def with_infinities(schema: Any) -> Any:
    """Return a schema in which every number may also be the text of an infinity."""
    if isinstance(schema, list):
        return [with_infinities(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number":
        return {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}
    return {key: with_infinities(value) for key, value in schema.items() if key != "title"}


def test_the_committed_schema_is_the_one_of_the_code() -> None:
    assert json.loads(COMMITTED.read_text()) == schema_of_the_code()


def test_infinities_survive(examples: Any) -> None:
    spread = Histogram("epsilon", (0.0, 1.0, math.inf), (3, 4), None, (("all", math.inf, 7),))
    report = examples.report("audit", findings=(examples.finding(histogram=spread),))
    content = JsonRenderer().render(report)

    assert b"Infinity" not in content
    assert Report.from_json(json.loads(content)) == report
    jsonschema.validate(json.loads(content), schema_of_the_code())


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
