"""The README's commands, run as written, print what it shows; its Python runs, and its links lead somewhere.

RRPOLICY_WRITE_README=1 writes the outputs into the README again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.console import ROOT, hold

README = ROOT / "README.md"


@pytest.mark.slow
def test_commands_print_what_the_readme_shows_and_python_runs(tmp_path: Path) -> None:
    hold(README, tmp_path)
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_two_commands_of_the_readme_are_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "docs", "test"} <= targets
    assert shutil.which("make")


def test_the_picture_is_small_and_the_page_short() -> None:
    assert (ROOT / "docs" / "report.png").stat().st_size < 200_000
    assert len(README.read_text().splitlines()) < 120
