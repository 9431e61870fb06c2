"""What a terminal is shown: lines that fit, commands that can be copied, colours that say nothing by themselves."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.cli.text.terminal_layout import format_for_terminal, wrap_and_colour
from tests.survey import SURVEY
from tests.terminal import on_a_terminal

COLOUR = re.compile(r"\x1b\[\d*m")
LONG = "a plan that does not pass is shown, and is not written, and says in a sentence that is long what is in its way"


def shown(*lines: str) -> list[str]:
    return list(wrap_and_colour(lines, 40, colour=False))


def test_lines_stay_whole_where_no_terminal_reads_them() -> None:
    assert list(format_for_terminal([LONG, f"  met {LONG}"])) == [LONG, f"  met {LONG}"]


def test_prose_is_wrapped_and_what_is_copied_is_not() -> None:
    lines = shown(LONG, f"  {LONG}", f"  met {LONG}")
    assert all(len(line) <= 40 for line in lines)
    assert " ".join(line.strip() for line in lines) == f"{LONG} {LONG} met {LONG}"
    command = f"next: rrpolicy release {'policy' * 10}.toml --out DIR"
    below = f"      {command.removeprefix('next: ')}"
    table = f"  {'name' * 5}   {'number' * 5}   {'number' * 3}"
    assert shown(command, below, table) == [command, below, table]


def test_what_is_quoted_of_a_file_is_never_wrapped() -> None:
    quoted = [f"12 | {'a = 1 and ' * 8}", f"   | {'^' * 60}", f"\x1b[36m12 |\x1b[0m {'b ' * 40}"]

    assert shown(*quoted) == quoted


def command_shown(*words: str, **environment: str) -> str:
    """Return what a command shows on a terminal."""
    code = "import sys; from rrpolicy.cli.main import main; sys.exit(main(sys.argv[1:]))"
    _, text = on_a_terminal([sys.executable, "-c", code, *words], {**os.environ, **environment})
    return text


def test_a_plan_on_a_terminal_is_coloured_and_says_the_same_without(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(SURVEY)
    coloured, plain = command_shown("plan", str(policy)), command_shown("plan", str(policy), NO_COLOR="1")
    assert "\x1b[32mmet\x1b[0m" in coloured
    assert "\x1b[1mrequirements\x1b[0m" in coloured
    assert COLOUR.sub("", coloured) == plain
    assert "\x1b" not in plain
    prose = [line for line in plain.splitlines() if "rrpolicy " not in line and not re.search(r"\S {2,}\S", line)]
    assert max(map(len, prose)) <= 80


def test_the_verdict_is_the_last_line_and_stands_alone_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(SURVEY)
    assert main(["plan", str(policy)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("passes: protection strong, 1 of 1 requirements met")
    assert lines[-2].startswith("next: rrpolicy release ")
    assert main(["plan", str(policy), "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == [lines[-1]]
    assert main(["plan", str(policy), "--verbose"]) == 0
    more = capsys.readouterr().out.splitlines()
    assert {*lines} - {*more} == {"`--verbose` explains each number"}
    assert len(more) > len(lines)

    bundle = str(tmp_path / "bundle")
    assert main(["release", str(policy), "--out", bundle]) == 0
    told = capsys.readouterr().out
    assert f"reports: {bundle}/audit/report.html (confidential) and {bundle}/public/report.html" in told
    assert "  met " in told
    assert main(["verify", bundle, "-q"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
