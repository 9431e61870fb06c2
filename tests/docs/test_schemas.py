"""Every artifact fits its committed JSON Schema, and the schemas bite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rrpolicy.cli.main import main
from rrpolicy.safe_io import document

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "rrpolicy" / "schemas"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    plan, key = folder / "plan.json", folder / "key.json"
    assert main(["plan", str(ROOT / "policies" / "pram.toml"), "--out", str(plan), "--key", str(key)]) == 0
    assert main(["release", str(plan), "--key", str(key), "--out", str(folder / "release")]) == 0
    return folder


@pytest.mark.parametrize(
    ("artifact", "name"),
    [
        ("plan.json", "plan"),
        ("key.json", "key"),
        ("release/public/release.json", "release"),
        ("release/audit/audit.json", "audit"),
        ("release/audit/plan.json", "plan"),
        ("release/audit/findings.json", "findings"),
        ("release/audit/report.json", "report"),
    ],
)
def test_artifacts_fit_their_schemas(bundle: Path, artifact: str, name: str) -> None:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"rrpolicy.{name}-1.json").read_text())
    document = json.loads((bundle / artifact).read_text())

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert document["schema"] == f"rrpolicy.{name}/1"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({k: v for k, v in document.items() if k != "schema"}, schema)


def test_every_committed_schema_is_of_an_artifact() -> None:
    names = {path.name for path in SCHEMAS.glob("*.json")}
    known = (
        "plan",
        "questionnaire",
        "key",
        "series-key",
        "release",
        "audit",
        "findings",
        "report",
        *PRINTED,
        *LEDGER,
        *LATER,
    )
    assert names == {f"rrpolicy.{name}-1.json" for name in known} | {"rrpolicy.policy-1.json"}


PRINTED = (
    "check",
    "problems",
    "verification",
    "check-table",
    "released",
    "plugins",
    "diff",
    "comparison",
    "test",
    "packs",
    "inventory",
)
"""Documents that commands print, each held to its schema in tests/outputs or tests/govern."""
LATER = ("attack", "alternatives")
"""What is written into audit/ after a release; held to their schemas in tests/attacks and tests/governance/compare."""
LEDGER = ("ledger", "ledger-shown", "ledger-verification")
"""The lines of a ledger, and what is printed of one; held to their schemas in tests/governance/ledger."""


def test_the_policy_schema_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((SCHEMAS / "rrpolicy.policy-1.json").read_text()) == printed, "make schemas writes it again"


def test_a_schema_says_nothing_that_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    release = json.loads((SCHEMAS / "rrpolicy.release-1.json").read_text())
    document._schema.cache_clear()
    release["properties"]["records"]["multipleOf"] = 2
    with monkeypatch.context() as patch:
        patch.setattr(document.json, "loads", lambda _: release)
        with pytest.raises(AssertionError, match=r"rrpolicy.release/1 uses words that are not checked: multipleOf"):
            document.faults({}, "rrpolicy.release/1")
    assert document.faults({}, "rrpolicy.release/1")
