"""Every JSON document that a command prints names its schema and version, and fits the schema that is committed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tests.ci_reports.conftest import ACCEPT, DP, PK, ROOT, call

GUIDE = (ROOT / "docs" / "how-to" / "ci.md").read_text()
ORIGIN = ROOT / "rrpolicy" / "schemas"


def fits(text: str, name: str) -> dict:
    document = json.loads(text)
    assert document["schema"] == f"rrpolicy.{name}/1"
    schema = json.loads((ORIGIN / f"rrpolicy.{name}-1.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({k: v for k, v in document.items() if k != "schema"}, schema)
    return document


def test_check_tells_of_good_and_bad_policies_in_one_document(write):
    good, bad = write(DP), write(PK.replace("k = 2", "k = 1"), name="policies/bad.toml")
    status, text = call("check", good, bad, "nowhere.toml", "--json")
    document = fits(text, "check")

    assert status == document["exit_status"] == 2
    assert [p["exit_status"] for p in document["policies"]] == [0, 2, 2]
    assert document["policies"][0]["findings"][0]["entry"] == "privacy/local-dp"
    assert call("check", good, bad, "nowhere.toml", "--output-format", "json")[1] == text


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "nowhere.toml"],
        ["verify", "nowhere"],
        ["chek"],
        ["plan", "--loud"],
        ["estimate", "nowhere"],
        ["estimate", "query"],
    ],
)
def test_what_goes_wrong_is_one_document_of_every_command(write, arguments):
    write(PK)
    status, text = call(*arguments, "--json")
    document = fits(text, "problems")
    assert document["exit_status"] == status
    assert document["problems"]


def test_a_defect_is_the_same_document(write, monkeypatch):
    from rrpolicy import api

    monkeypatch.setattr(api, "check", lambda *_, **__: 1 / 0)
    status, text = call("check", write(PK), "--json")
    assert status == fits(text, "problems")["exit_status"] == 70


def keys(document):
    """Yield every key of a JSON document."""
    if isinstance(document, dict):
        yield from document
    for part in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from keys(part)


def test_plan_release_verify_and_what_reads_a_release(write):
    path = write(PK, ACCEPT)
    planned = json.loads(call("plan", path, "--json")[1])
    assert planned["schema"] == "rrpolicy.plan/1"
    released = fits(call("release", path, "--out", "out", "--json")[1], "released")
    audited = json.loads(Path("out/audit/findings.json").read_text())["protection"]
    assert released["protection"] == planned["protection"] == audited
    for file in Path("out/public").glob("*.json"):
        assert not {"protection", "ladders", "linking"} & set(keys(json.loads(file.read_text())))
    for level in ("public", "audit"):
        fits(call("verify", "out", "--level", level, "--json")[1], "verification")
    fits(call("verify", "out", "--source", "demo:survey", "--json")[1], "verification")
    reading = {"estimate": ["--by", "sex"], "answer": ["SELECT count(*) FROM release"]}
    for (kind, arguments), command in zip(reading.items(), (["estimate"], ["estimate", "query"]), strict=True):
        assert json.loads(call(*command, "out", *arguments, "--json")[1])["schema"] == f"rrpolicy.{kind}/1"


def test_tables_and_plugins(write, tmp_path):
    write(PK)
    (tmp_path / "t.csv").write_text("sex,age,disease\n" + "f,20,flu\nm,30,none\n" * 3)
    measured = ["check-table", "t.csv", "--qi", "sex,age", "--sensitive", "disease", "--json"]
    assert fits(call(*measured)[1], "check-table")["exit_status"] == 0
    assert fits(call(*measured, "--k", "4")[1], "check-table")["exit_status"] == 1
    fits(call("plugins", "--json")[1], "plugins")


def test_the_guide_names_every_document_with_its_schema():
    told = re.findall(r"\| `([a-z-]+)[^|]*\| `(rrpolicy\.[a-z-]+/1)`[^|]*\| (?:`(docs/schemas/[^`]*)`)? ?\|", GUIDE)
    assert len(told) > 10
    for _, name, file in told:
        assert not file or json.loads((ROOT / file).read_text())["properties"]["schema"] == {"const": name}
    assert "rrpolicy.problems/1" in GUIDE


def test_the_examples_of_the_guide_are_what_is_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    plan = ["plan", "policies/sensitive-addition.toml", "--expected-rows", "50000", "--output-format"]
    result, issue = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
    (annotation,) = re.findall(r"```text\n(.*?)\n```", GUIDE, re.DOTALL)
    (case,) = re.findall(r"```xml\n(.*?)\n```", GUIDE, re.DOTALL)
    (table,) = re.findall(r"```markdown\n(.*?)\n```", GUIDE, re.DOTALL)

    assert result in json.loads(call(*plan, "sarif")[1])["runs"][0]["results"]
    assert issue in json.loads(call(*plan, "gitlab")[1])
    assert annotation in call(*plan, "github")[1].splitlines()
    printed = "\n".join(map(str.strip, call(*plan, "junit")[1].splitlines()))
    assert "\n".join(map(str.strip, case.splitlines())) in printed
    assert table in call(*plan, "markdown")[1]
