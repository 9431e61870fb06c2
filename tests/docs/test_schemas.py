"""Every artifact fits its committed JSON Schema, and the schemas bite."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rrpolicy.artifacts import ARTIFACTS, schema
from rrpolicy.cli.main import main

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
    committed: dict[str, Any] = json.loads((SCHEMAS / f"rrpolicy.{name}-1.json").read_text())
    document = json.loads((bundle / artifact).read_text())

    jsonschema.Draft202012Validator.check_schema(committed)
    jsonschema.validate(document, committed)
    assert document["schema"] == f"rrpolicy.{name}/1"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, committed)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({k: v for k, v in document.items() if k != "schema"}, committed)


def test_every_committed_schema_is_that_of_its_class() -> None:
    names = {path.name for path in SCHEMAS.glob("*.json")}
    assert names == {f"rrpolicy.{name}-1.json" for name in (*ARTIFACTS, "policy")}
    for name in ARTIFACTS:
        committed = json.loads((SCHEMAS / f"rrpolicy.{name}-1.json").read_text())
        assert committed == schema(name), f"make schemas writes {name} again"


def test_the_policy_schema_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((SCHEMAS / "rrpolicy.policy-1.json").read_text()) == printed, "make schemas writes it again"


def test_the_schemas_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["artifacts", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "rrpolicy.artifacts")
    runpy.run_module("rrpolicy.artifacts", run_name="__main__")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        f"rrpolicy.{name}-1.json": (SCHEMAS / f"rrpolicy.{name}-1.json").read_bytes() for name in ARTIFACTS
    }
