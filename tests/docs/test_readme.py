"""The README's commands, run as written, print what it shows; numbers and digests may differ from run to run.

RRPOLICY_WRITE_README=1 writes the outputs into the README again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rrpolicy.estimate.results.flags import MEANINGS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
WRITE = os.environ.get("RRPOLICY_WRITE_README") == "1"
LONGEST = 34
STATUS = re.compile(r"# exit status (\d)")


@dataclass
class Shown:
    """A command and the output that stands under it."""

    command: str
    output: list[str]

    @property
    def status(self) -> int:
        found = STATUS.search(self.command)
        return int(found[1]) if found else 0


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands(block: str) -> list[Shown]:
    shown: list[Shown] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            shown.append(Shown(line[2:], []))
        else:
            shown[-1].output.append(line)
    return shown


FLAG = re.compile(rf"\*+ ({'|'.join(map(re.escape, MEANINGS))}): ")


def masked(lines: list[str]) -> list[str]:
    """Return lines without what chance or a version decides: numbers, flags of estimates, and runs of spaces."""
    numbered = (re.sub(r"[-\d.,]*\d[\d.,]*(e-?\d+)?", "#", line) for line in lines if not FLAG.match(line))
    return [re.sub(r"( \*+)+$", "", re.sub(r"\s+", " ", line).strip()) for line in numbered]


def elided(lines: list[str]) -> list[str]:
    return lines if len(lines) <= LONGEST else [*lines[: LONGEST - 8], "…", *lines[-7:]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place for what the README writes; its `make` is the checkout's, in the environment that runs the tests."""
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    made, here = command.startswith("make "), Path(sys.executable).parent
    environment = {**os.environ, "NO_COLOR": "1", "PATH": f"{here}:{os.environ['PATH']}"}
    extra = f" DEMO={folder / 'demo'} BIN={here} STAMP=" if made else ""
    return subprocess.run(
        ["bash", "-c", command + extra],
        cwd=ROOT if made else folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_commands_print_what_the_readme_shows_and_python_runs(folder: Path) -> None:
    text = README.read_text()
    for block in blocks(text, "console"):
        fresh: list[str] = []
        for shown in commands(block):
            done = run(shown.command, folder)
            assert done.returncode == shown.status, f"$ {shown.command}\n{done.stdout}"
            lines = done.stdout.replace(str(folder), "DIR").rstrip().splitlines()
            fresh += [f"$ {shown.command}", *elided(lines)]
            if not WRITE and not shown.command.startswith("make "):
                assert masked(elided(lines)) == masked(shown.output), f"$ {shown.command}"
        if WRITE and not block.startswith("$ make "):
            text = text.replace(f"```console\n{block}```", "```console\n" + "\n".join(fresh) + "\n```", 1)
    for block in blocks(text, "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    if WRITE:
        README.write_text(text)


def test_the_two_commands_of_the_readme_are_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert shutil.which("make")
