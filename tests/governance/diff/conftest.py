"""A small policy, and git repositories to compare it in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

POLICY = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"
owner = "survey unit"

[source]
uri = "demo:survey"
other_columns = "excluded"
min_rows = 100

[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age = { role = "quasi-identifier", bins = [16, 30, 45, 65, inf] }
hours = { role = "insensitive", assume_unlinkable = "nobody knows them of others" }

[[privacy]]
model = "pk-anonymity"
k = 2

[mechanism]
name = "pram"
allocation = "fixed"
keep_probability = { sex = "4/5", age = "3/5" }
"""


@pytest.fixture
def write(tmp_path):
    """Write a policy; each pair of texts replaces the first in it by the second."""

    def write(name: str, *changes: tuple[str, str], text: str = POLICY) -> Path:
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Make the folder a repository that commands run in; return a function that runs git there."""
    monkeypatch.chdir(tmp_path)
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    said = ["-c", "user.name=steward", "-c", "user.email=steward@example.org", "-c", "commit.gpgsign=false"]

    def run(*arguments: str) -> str:
        line = ["git", *said, *arguments]
        found = subprocess.run(line, cwd=tmp_path, env=surroundings, check=True, capture_output=True, text=True)
        return found.stdout

    run("init", "--quiet", "--initial-branch=main")
    return run
