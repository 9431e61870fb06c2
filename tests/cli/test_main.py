"""The frame of the command line: exit statuses, where problems are told, and what is imported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rrpolicy.cli import main as frame
from rrpolicy.cli.main import main
from rrpolicy.cli.terminal import wants_colour
from rrpolicy.errors import DataError, Place, Problem, RefusedError, RequirementError

RUN = [sys.executable, "-m", "rrpolicy.cli.main"]


@pytest.fixture
def pretend(monkeypatch):
    """Put a command of one's own in the place of `estimate query`."""

    def pretend(command):
        module = types.ModuleType("rrpolicy.cli.analysis.estimate")
        module.query = command
        command.__module__ = module.__name__
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return pretend


def test_help_lists_every_command_without_importing_one(capsys):
    assert frame.main(["--help"]) == 0

    told = capsys.readouterr().out
    entries = frame._entries(frame.COMMANDS)
    for name, summary in entries.items():
        assert f"\n  {name}" in told
        assert summary in told
    assert not [name for name in frame.OLD_NAMES if f"\n  {name} " in told]
    assert len(entries) <= 20


@pytest.mark.parametrize("name", frame.COMMANDS)
def test_every_command_exists_and_explains_itself(name, capsys):
    assert callable(frame.command_function(name))
    assert frame.main([*name.split(), "--help"]) == 0
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

    assert frame.main(["estimate", "query"]) == status
    output = capsys.readouterr()
    assert output.out == ""
    assert "p.toml:3:1: RR410 the table changed" in output.err
    assert "rrpolicy explain RR410" in output.err

    assert frame.main(["estimate", "query", "--json"]) == status
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert document["exit_status"] == status
    assert document["problems"][0]["code"] == "RR410"
    assert "RR410" in output.err


def test_the_commands_own_status_is_kept(pretend):
    import typer

    pretend(lambda: 1)
    assert frame.main(["estimate", "query"]) == 1

    def command() -> None:
        raise typer.Exit(4)

    pretend(command)
    assert frame.main(["estimate", "query"]) == 4


def test_a_bug_says_so_without_the_message(pretend, capsys, monkeypatch):
    def command() -> None:
        raise KeyError("canary-4711")

    pretend(command)
    monkeypatch.delenv("RRPOLICY_TRACEBACK", raising=False)

    assert frame.main(["estimate", "query"]) == 70
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert "RRPOLICY_TRACEBACK=1" in told
    assert "canary-4711" not in told
    assert "Traceback" not in told

    monkeypatch.setenv("RRPOLICY_TRACEBACK", "1")
    assert frame.main(["estimate", "query"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_exits_130_with_a_line(pretend, capsys):
    def command() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()

    pretend(command)

    assert frame.main(["estimate", "query"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_the_program_ends_at_once_with_its_status_and_has_the_exit_functions_run():
    code = (
        "import atexit, sys\n"
        "sys.argv[1:] = ['check', 'nowhere.toml']\n"
        "atexit.register(print, 'of a plugin')\n"
        "from rrpolicy.cli.main import run\n"
        "try:\n"
        "    run()\n"
        "finally:\n"
        "    print('of the interpreter')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "of a plugin\n")
    assert "RR200" in done.stderr


def test_a_locale_without_utf_8_is_left(tmp_path):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*RUN, "check", "nowhere-é.toml"], capture_output=True, check=False, cwd=tmp_path, env=environment
    )

    assert done.returncode == 2
    assert "nowhere-é.toml" in done.stderr.decode()


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "import sys, types\n"
        "module = types.ModuleType('rrpolicy.cli.analysis.estimate')\n"
        "def command() -> None:\n"
        "    for _ in range(100000): print('x' * 100)\n"
        "module.query = command\n"
        "sys.modules['rrpolicy.cli.analysis.estimate'] = sys.modules['__main__'] = module\n"
        "from rrpolicy.cli.main import main\n"
        "sys.exit(main(['estimate', 'query']))\n"
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


def test_a_command_lists_those_below_it(capsys):
    assert main(["estimate", "--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n    {name} " in listed for name in frame.COMMANDS if name.startswith("estimate "))
    assert "rrpolicy estimate [OPTIONS] {BUNDLE}" in listed


@pytest.mark.parametrize(("old", "new"), frame.OLD_NAMES.items())
def test_an_old_name_works_and_says_what_it_is_now(old, new, capsys):
    assert main([*new.split(), "--help"]) == 0
    asked = capsys.readouterr()
    assert main([old, "--help"]) == 0
    told = capsys.readouterr()
    assert (told.out, asked.err) == (asked.out, "")
    assert told.err == f"note: `rrpolicy {old}` is now `rrpolicy {new}`; the old name works in this version only\n"
    assert main(["help", old]) == 0
    assert capsys.readouterr().out == asked.out


@pytest.mark.parametrize("form", [["--json"], ["--format", "csv"], ["--format=json"]])
def test_an_old_name_says_nothing_where_a_program_reads(pretend, capsys, form):
    def command(json: bool = False, format: str = "table") -> None:  # noqa: A002
        del json, format

    pretend(command)

    assert main(["query", *form]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_first_argument_is_a_command_below_if_it_is_the_name_of_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "query").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["estimate", "query"]) == 2
    assert "`rrpolicy estimate query --help`" in capsys.readouterr().err
    for bundle in (["./query"], ["--by", "sex", "query"]):
        assert main(["estimate", *bundle]) == 2
        assert "RR260" in capsys.readouterr().err


def test_the_next_step_after_a_release_of_such_a_name_reaches_it(tmp_path, monkeypatch, capsys):
    policy = Path(__file__).parents[2] / "policies" / "pram.toml"
    monkeypatch.chdir(tmp_path)
    assert main(["release", str(policy), "--out", "query"]) == 0
    assert "rrpolicy estimate ./query --by" in capsys.readouterr().out


def test_help_is_that_of_a_command_too(capsys):
    assert main(["help", "ledger", "show"]) == 0
    asked = capsys.readouterr().out
    assert main(["ledger", "show", "--help"]) == 0
    assert capsys.readouterr().out == asked
