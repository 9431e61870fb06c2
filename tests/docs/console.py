"""The commands of a page, run in order in an empty folder, print what the page shows: as text, or as a picture of a terminal.

RRPOLICY_WRITE_README=1 writes what they print into the page, and its pictures, again. Numbers and digests may differ from run to run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from docs._hooks.screens import drawn, said
from rrpolicy.estimate.results.flags import MEANINGS
from tests.terminal import on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
WRITE = os.environ.get("RRPOLICY_WRITE_README") == "1"
HERE = Path(sys.executable).parent
LONGEST = 34
STATUS = re.compile(r" *# exit status (\d)")
BLOCK = re.compile(r"```console\n(.*?)```(?:\n\n!\[[^\]]*\]\(([\w./-]+\.svg)\))?", re.DOTALL)
"""Commands, and the picture of the last one's terminal where there is one."""
FILE = re.compile(r'```\w+ title="([\w./-]+)"\n(.*?)```', re.DOTALL)
"""A file with its name."""
FLAG = re.compile(rf"\*+ ({'|'.join(map(re.escape, MEANINGS))}): ")
DIGEST = re.compile(r"\b[0-9a-f]{8,}\b")
COMMITTER = {
    f"GIT_{who}_{what}": said
    for who in ("AUTHOR", "COMMITTER")
    for what, said in (("NAME", "A"), ("EMAIL", "a@example"))
}


@dataclass
class Shown:
    """A command and the output that stands under it."""

    command: str
    output: list[str]

    @property
    def status(self) -> int:
        found = STATUS.search(self.command)
        return int(found[1]) if found else 0


def commands(block: str) -> list[Shown]:
    shown: list[Shown] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            shown.append(Shown(line[2:], []))
        else:
            shown[-1].output.append(line)
    return shown


def masked(lines: list[str]) -> list[str]:
    """Return lines without what chance or a version decides: digests, numbers, flags of estimates, runs of spaces."""
    undigested = (DIGEST.sub("#", line) for line in lines if not FLAG.match(line))
    numbered = (re.sub(r"[-\d.,]*\d[\d.,]*(e-?\d+)?", "#", line) for line in undigested)
    return [re.sub(r"( \*+)+$", "", re.sub(r"\s+", " ", line).strip()) for line in numbered]


def elided(lines: list[str]) -> list[str]:
    return lines if len(lines) <= LONGEST else [*lines[: LONGEST - 8], "…", *lines[-7:]]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where no terminal reads it; `make` in the checkout, in the environment that runs the tests."""
    made = command.startswith("make ")
    environment = {**os.environ, **COMMITTER, "NO_COLOR": "1", "PATH": f"{HERE}:{os.environ['PATH']}"}
    extra = f" DEMO={folder / 'demo'} BIN={HERE} STAMP=" if made else ""
    return subprocess.run(
        ["bash", "-c", command + extra],
        cwd=ROOT if made else folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def shown_on_a_terminal(shown: Shown, folder: Path) -> tuple[int, str]:
    """Run a command on a terminal; return its status and what it shows, progress left out."""
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**kept, **COMMITTER, "PATH": f"{HERE}:{os.environ['PATH']}"}
    call = ["bash", "-c", shown.command]
    status, text = on_a_terminal(call, environment, folder, complaints=bool(shown.status))
    return status, text.rstrip("\n")


def hold(page: Path, folder: Path) -> None:
    """Run a page's commands, and hold what it shows to what they print; what `make` prints is not shown.

    A file that the page shows under its name is written before the commands that follow it.
    """
    text = page.read_text(encoding="utf-8")
    for found in (*BLOCK.finditer(text),):
        for name, content in FILE.findall(text[: text.index(found[0])]):
            (folder / name).write_text(content, encoding="utf-8")
        block, picture = found.groups()
        shown = commands(block)
        pictured = shown.pop() if picture else None
        for each in shown:
            done = run(each.command, folder)
            assert done.returncode == each.status, f"$ {each.command}\n{done.stdout}"
            lines = [] if each.command.startswith("make ") else elided(done.stdout.rstrip().splitlines())
            if not WRITE:
                assert masked(lines) == masked(each.output), f"$ {each.command}"
            each.output = lines
        if pictured:
            status, printed = shown_on_a_terminal(pictured, folder)
            assert status == pictured.status, f"$ {pictured.command}\n{printed}"
            hold_picture(page.parent / picture, STATUS.sub("", pictured.command), printed)
            shown.append(pictured)
        fresh = "".join(f"{line}\n" for each in shown for line in (f"$ {each.command}", *each.output))
        text = text.replace(f"```console\n{block}```", f"```console\n{fresh}```", 1)
    if WRITE:
        page.write_text(text, encoding="utf-8")


def hold_picture(picture: Path, command: str, printed: str) -> None:
    """Hold a picture of a terminal to what a command printed there, wherever its longer lines were wrapped."""
    made = drawn(command, printed)
    if WRITE:
        picture.write_text(made, encoding="utf-8")
    assert words(picture.read_text(encoding="utf-8")) == words(made), f"$ {command}"


def words(picture: str) -> str:
    """Return what a picture says, without what a draw decides: how far an attack came from what was predicted."""
    return " ".join(masked(said(picture).splitlines())).replace("; chance of such a deviation at most #", "")
