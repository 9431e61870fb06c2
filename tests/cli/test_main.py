"""The frame of the command line: exit statuses, where problems are told, and what is imported."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import types

import pytest

from rrpolicy.cli import main as frame
from rrpolicy.cli.main import main
from rrpolicy.cli.terminal import wants_colour
from rrpolicy.errors import DataError, Place, Problem, RefusedError, RequirementError

RUN = [sys.executable, "-m", "rrpolicy.cli.main"]


@pytest.fixture
def pretend(monkeypatch):
    """Put a command of one's own in the place of `query`."""

    def pretend(command):
        module = types.ModuleType("rrpolicy.cli.analysis.query")
        module.command = command
        monkeypatch.setitem(sys.modules, "rrpolicy.cli.analysis.query", module)

    return pretend


def test_help_lists_every_command_without_importing_one(capsys):
    assert frame.main(["--help"]) == 0

    told = capsys.readouterr().out
    for name, summary in frame.COMMANDS.items():
        assert f"  {name}" in told
        assert summary in told


@pytest.mark.parametrize("name", frame.COMMANDS)
def test_every_command_exists_and_explains_itself(name, capsys):
    assert callable(importlib.import_module(frame.command_module(name)).command)
    assert frame.main([name, "--help"]) == 0
    assert f"rrpolicy {name}" in capsys.readouterr().out


def test_the_version(capsys):
    from rrpolicy import __version__

    assert frame.main(["--version"]) == 0
    assert capsys.readouterr().out == f"rrpolicy {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Usage"),
        (["chek"], "did you mean 'check'"),
        (["--chek"], "unknown option"),
        (["check"], "RR250"),
        (["check", "--loud", "x.toml"], "RR250"),
        (["explain"], "RR250"),
        (["explain", "RR999"], "RR251"),
    ],
)
def test_a_wrong_call_exits_2(arguments, told, capsys):
    assert frame.main(arguments) == 2

    output = capsys.readouterr()
    assert told in output.err + output.out


@pytest.mark.parametrize(("error", "status"), [(RequirementError, 1), (DataError, 3), (RefusedError, 4)])
def test_an_error_of_ours_becomes_its_exit_status(pretend, capsys, error, status):
    def command(json: bool = False) -> None:
        raise error(Problem("RR410", "the table changed", Place("p.toml", 3, 1, "source", "[source]", 8), hint="again"))

    pretend(command)

    assert frame.main(["query"]) == status
    output = capsys.readouterr()
    assert output.out == ""
    assert "p.toml:3:1: RR410 the table changed" in output.err
    assert "rrpolicy explain RR410" in output.err

    assert frame.main(["query", "--json"]) == status
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert document["exit_status"] == status
    assert document["problems"][0]["code"] == "RR410"
    assert "RR410" in output.err


def test_the_commands_own_status_is_kept(pretend):
    import typer

    pretend(lambda: 1)
    assert frame.main(["query"]) == 1

    def command() -> None:
        raise typer.Exit(4)

    pretend(command)
    assert frame.main(["query"]) == 4


def test_a_bug_says_so_without_the_message(pretend, capsys, monkeypatch):
    def command() -> None:
        raise KeyError("canary-4711")

    pretend(command)
    monkeypatch.delenv("RRPOLICY_TRACEBACK", raising=False)

    assert frame.main(["query"]) == 70
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert "RRPOLICY_TRACEBACK=1" in told
    assert "canary-4711" not in told
    assert "Traceback" not in told

    monkeypatch.setenv("RRPOLICY_TRACEBACK", "1")
    assert frame.main(["query"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_exits_130_with_a_line(pretend, capsys):
    def command() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()

    pretend(command)

    assert frame.main(["query"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "import sys, types\n"
        "module = types.ModuleType('rrpolicy.cli.analysis.query')\n"
        "def command() -> None:\n"
        "    for _ in range(100000): print('x' * 100)\n"
        "module.command = command\n"
        "sys.modules['rrpolicy.cli.analysis.query'] = module\n"
        "from rrpolicy.cli.main import main\n"
        "sys.exit(main(['query']))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
        process.wait(timeout=30)

    assert told == b""
    assert process.returncode == 141


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert not wants_colour()


def test_a_narrow_encoding_breaks_nothing():
    run = subprocess.run(
        [*RUN, "check", "nowhere-é.toml"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )

    assert run.returncode == 2
    assert b"RR200" in run.stderr


def test_a_group_lists_its_commands(capsys):
    assert main(["ledger", "--help"]) == 0
    listed = capsys.readouterr().out
    assert "ledger init" in listed
    assert "ledger verify" in listed
    assert main(["ledger"]) == 2
    assert capsys.readouterr().out == listed
    assert main(["ledger", "shwo"]) == 2
    assert "did you mean 'ledger show'?" in capsys.readouterr().err


def test_help_is_that_of_a_command_too(capsys):
    assert main(["help", "ledger", "show"]) == 0
    asked = capsys.readouterr().out
    assert main(["ledger", "show", "--help"]) == 0
    assert capsys.readouterr().out == asked
