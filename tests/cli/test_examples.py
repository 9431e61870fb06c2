"""The end of each command's help: calls that can be made as they stand, and completion for shells."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from rrpolicy.cli import main as frame
from rrpolicy.cli.examples import EXAMPLES
from rrpolicy.cli.main import COMMANDS, command_function, main

CALLS = [(name, call) for name, calls in EXAMPLES.items() for call in calls]


def test_every_command_ends_its_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(EXAMPLES) == list(COMMANDS)
    for name, calls in EXAMPLES.items():
        assert main([*name.split(), "--help"]) == 0
        shown = capsys.readouterr().out
        assert shown.rstrip().endswith("\n".join(["  Examples:", *(f"    {call}" for call in calls)]))


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_an_example_is_a_call_that_the_command_understands(name: str, call: str) -> None:
    program, *words = shlex.split(call.split(" > ", maxsplit=1)[0])
    assert (program, words[: len(name.split())]) == ("rrpolicy", name.split())
    command = command_function(name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    arguments = getattr(sys.modules[command.__module__], "spelled", list)(words[len(name.split()) :])
    typer.main.get_command(app).make_context(name, list(arguments))


def ask(words: str, **environment: str) -> list[str]:
    """Return what a shell is answered that asks how a call goes on."""
    names = {"_RRPOLICY_COMPLETE": "complete_bash", "COMP_WORDS": f"rrpolicy {words}", **environment}
    names["COMP_CWORD"] = str(len(names["COMP_WORDS"].split(" ")) - 1)
    code = "from rrpolicy.cli.main import main; import sys; sys.exit(main([]))"
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=names, capture_output=True, text=True, check=True
    )
    return found.stdout.split()


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("rel", ["release"]),
        ("ledger ", ["init", "add", "show", "verify", "inventory"]),
        ("collect ", ["randomize"]),
        ("estimate co", ["compare"]),
        ("estimate query --pop", ["--population"]),
        ("estimate release --pop", ["--population"]),
        ("quer", []),
        ("plan --exp", ["--expected-rows"]),
        ("keys n", ["new"]),
    ],
)
def test_a_shell_is_told_how_a_call_goes_on(words: str, answers: list[str]) -> None:
    assert ask(words) == answers


def test_completion_is_installed_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["--install-completion", "bash"]) == 0
    assert "_RRPOLICY_COMPLETE=complete_bash" in (tmp_path / ".bash_completions" / "rrpolicy.sh").read_text()
    capsys.readouterr()
    assert main(["--show-completion", "zsh"]) == 0
    assert "#compdef rrpolicy" in capsys.readouterr().out
    assert main(["--show-completion", "none"]) == 1
    assert "--install-completion" in frame._help()
