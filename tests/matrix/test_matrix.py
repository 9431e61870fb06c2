"""Every command on a release of every kind, and on pairs: each holds, gives a verdict, or is refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product

import pytest
import typer

from rrpolicy.cli.main import COMMANDS, command_function, main

from .calls import CALLS, ELSEWHERE, PAIRED, UNCALLED, VERDICTS, Asked
from .releases import KINDS, PAIRS, Made, make

Ask = Callable[[str], Asked]
WRONG_CALLS = {"RR250", "RR402", "RR411"}
"""Codes of calls that are wrong whatever the release: the matrix makes none."""
_names = list(KINDS)
SERIES = ("series, first", "series, second")
DIAGONAL = [(_names[5 * i % len(_names)], command) for i, command in enumerate(CALLS)]


@pytest.fixture(scope="session")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Return a function name -> what may be asked of the release of that kind, which is made once."""
    folder = tmp_path_factory.mktemp("matrix")
    made: dict[str, Made] = {}
    asked: dict[str, Asked] = {}

    def of(name: str) -> Asked:
        if name not in asked:
            if (earlier := KINDS[name].since) is not None:
                of(earlier)
            made[name] = make(name, folder, made)
            asked[name] = Asked(made[name], folder / f"files {len(asked)}")
        return asked[name]

    return of


@pytest.fixture(autouse=True)
def _passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", "a passphrase of a test")


def fault(command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str | None:
    """Call a command; return what is wrong with how it ended, None if nothing is."""
    status = main([*command.split(" "), *arguments])
    said = capsys.readouterr()
    codes = set(re.findall(r"\bRR\d{3}\b", said.err))
    if "Traceback" in said.err or re.search(r"\w+Warning\b", said.err):
        reason = "prints a library's words"
    elif status == 0 or (status == 1 and command in VERDICTS):
        return None
    elif status in {2, 3, 4}:
        reason = "gives no reason" if not codes else "is called wrongly" if codes & WRONG_CALLS else ""
    else:
        reason = f"ends in status {status}"
    return f"rrpolicy {command} {' '.join(arguments)}: {reason}\n{said.err[-1500:]}" if reason else None


def hold(command: str, calls: Iterable[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    """Fail with all that is wrong with how calls of a command end."""
    found = [wrong for call in calls if (wrong := fault(command, call, capsys))]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_every_command_has_a_row():
    """A new command is either asked of all releases, or said to take none."""
    assert {*CALLS, *PAIRED, *ELSEWHERE} == set(COMMANDS)
    assert not {*CALLS, *PAIRED} & set(ELSEWHERE)


@pytest.mark.parametrize("command", sorted({*CALLS, *PAIRED}))
def test_every_option_is_asked_for(command, ask):
    """A new option is in a call, or it is said why not."""
    app = typer.Typer(add_completion=False)
    app.command()(command_function(command))
    one = ask("series, first")
    calls = [
        *(CALLS[command](one) if command in CALLS else ()),
        *(PAIRED[command](one, one) if command in PAIRED else ()),
    ]
    called = {argument for call in calls for argument in call} | set(UNCALLED)

    options = [p.opts for p in typer.main.get_command(app).params if p.param_type_name == "option"]

    assert not [names for names in options if not called & {*names, *(f"{command} {name}" for name in names)}]


@pytest.mark.parametrize(("name", "command"), DIAGONAL)
def test_a_diagonal_of_the_matrix(name, command, ask, capsys):
    one = ask(name)
    hold(command, CALLS[command](one), capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "command"), [cell for cell in product(KINDS, CALLS) if cell not in DIAGONAL])
def test_a_command_on_a_release(name, command, ask, capsys):
    one = ask(name)
    hold(command, CALLS[command](one), capsys)


@pytest.mark.slow
@pytest.mark.parametrize("command", PAIRED)
@pytest.mark.parametrize(("one", "other"), [*PAIRS, *((b, a) for a, b in PAIRS)])
def test_a_command_on_a_pair(one, other, command, ask, capsys):
    first, second = ask(one), ask(other)
    hold(command, PAIRED[command](first, second), capsys)


@pytest.mark.parametrize("command", PAIRED)
@pytest.mark.parametrize(("one", "other"), [SERIES, SERIES[::-1]], ids=["later", "earlier"])
def test_a_command_on_two_of_a_series(one, other, command, ask, capsys):
    first, second = ask(one), ask(other)
    hold(command, PAIRED[command](first, second), capsys)
