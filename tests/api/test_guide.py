"""What docs/how-to/python.md shows is run as written, and names what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rrpolicy

from .conftest import POLICY, people

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "python.md").read_text()
BLOCKS = re.findall(r"## ([^\n]+)\n(?:(?!\n## ).)*?```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_a_notebook_a_task_and_a_test_are_shown() -> None:
    assert [title for title, _ in BLOCKS] == ["A notebook", "A task of Airflow or Dagster", "A test of a pipeline"]
    for _, code in BLOCKS:
        assert len([line for line in code.splitlines() if line.strip() and not line.startswith(("import", "#"))]) <= 10


@pytest.mark.slow
@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_what_is_shown_runs_as_written(tmp_path: Path, title: str, code: str) -> None:
    people().to_parquet(tmp_path / "people.parquet", index=False)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "test_shown.py").write_text(code)
    started = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if "def test_" in code else []
    command = [sys.executable, "-W", "error", *started, "test_shown.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = {"A notebook": "verified at level key", "A test of a pipeline": "2 passed"}.get(
        title, "release-2026-11-01/public"
    )
    assert expected in done.stdout


def test_every_function_is_in_the_table() -> None:
    listed = set(re.findall(r"`rrpolicy\.(\w+)\(", TEXT))
    offered = {name for name in rrpolicy.__all__ if name.islower() and not name.startswith("_")}
    assert listed == offered
