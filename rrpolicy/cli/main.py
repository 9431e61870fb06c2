"""The frame of the command line: it finds the command, runs it, and prints every error in one way.

Only the module of the command that was called is imported: `rrpolicy check` stays fast enough for a pre-commit hook.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.text.output import FLAG, early_output_request, output_request, show
from rrpolicy.errors import PLUGIN_CONTRACT_CODE, PolicyError, Problem, RRPolicyError
from rrpolicy.frozen import replace
from rrpolicy.safe_io.interrupts import SIGNAL_EXIT_BASE, install_signal_handlers, uninstall_signal_handlers

if TYPE_CHECKING:
    from pathlib import Path

    from rrpolicy.canonical_json import Json
    from rrpolicy.ci_reports.outcome import CommandOutcome

ROOMS: Mapping[str, Mapping[str, str]] = {
    "policies": {
        "init": "Draft a policy from a table, with guessed roles to be edited.",
        "init packs": "List baselines with their sources, and write one to extend.",
        "check": "Check policies: no data needed, nothing written.",
        "plan": "Show the planned release, its risk and its error.",
        "compare": "Compare policies, mechanisms and values by risk and error, with a recommendation.",
        "diff": "Compare two policies: weaker and stronger parts, and their cost.",
        "test": "Test policies on the small tables next to them.",
        "check-table": "Measure k, l and t of a table that another person anonymised.",
    },
    "releases": {
        "release": "Write a release that every requirement allows, or nothing.",
        "collect": "Make the release of records that were randomised before they were sent.",
        "collect randomize": "Randomise records where they are, before they are sent.",
        "verify": "Recompute a release's guarantees, as far as the inputs allow.",
        "attack": "Attack a release, and compare attained with predicted risks.",
        "sign": "Sign a release, or add a signature to it.",
        "keys new": "Make a key to sign releases with.",
        "ledger init": "Begin a ledger of releases of the same people.",
        "ledger add": "Enter a release that was made without the ledger, settle one, or join two histories.",
        "ledger show": "Show the releases of each population, and their combined privacy loss.",
        "ledger verify": "Check that no entry of a ledger was changed, taken out, moved or cut off.",
        "ledger inventory": "List every release that a repository knows, and what has to be decided.",
    },
    "analysis": {
        "estimate": "Estimate counts, with standard errors and intervals, from a release.",
        "estimate query": "Ask a release in SQL.",
        "estimate compare": "Ask several releases in SQL, and estimate differences, ratios or trends.",
        "estimate association": "Estimate how strongly two columns of a release go together.",
        "estimate independence": "Test whether two columns of a release are independent.",
        "estimate glm": "Fit a regression model to the original of a release.",
        "estimate loglinear": "Fit and test a loglinear model of a release.",
        "estimate rules": "Estimate association rules from a release.",
        "estimate replicates": "Write corrected counts with replicate weights for survey packages.",
        "estimate what-holds": "List the analyses that are valid on randomised data without the matrices.",
        "report": "Write the report of a release again.",
        "report evidence": "Write the evidence of a release for a law or standard.",
        "export": "Write the file by which R or another program reads a release.",
        "export archive": "Keep what verifies a release in five years in one file, without its rows.",
        "export schema": "Print the JSON Schema of policy files, for editors.",
        "export sql": "Print the SQL by which a warehouse counts a policy's table.",
    },
    "program": {
        "demo": "Write the demo table and a policy for it.",
        "explain": "Explain a code such as RR203, or a name such as k-anonymity.",
        "plugins": "List the plugins and what each offers.",
        "plugins new": "Write the skeleton of a plugin, with tests that pass.",
    },
}
"""Room of `rrpolicy.cli` -> its commands, in the order of the help."""
TITLES: Mapping[str, str] = {
    "policies": "Policies and tables",
    "releases": "Releases",
    "analysis": "Contents of a release",
    "program": "The program itself",
}
COMMANDS: Mapping[str, str] = {name: summary for room in ROOMS.values() for name, summary in room.items()}
GROUPS: Mapping[str, str] = {
    "keys": "Keys to sign releases with.",
    "ledger": "Releases of the same people, and their combined privacy loss.",
}
"""Words that need another word to be a command."""
OLD_NAMES: Mapping[str, str] = {
    "compare-estimates": "estimate compare",
    "query": "estimate query",
    "association": "estimate association",
    "independence": "estimate independence",
    "glm": "estimate glm",
    "loglinear": "estimate loglinear",
    "rules": "estimate rules",
    "replicates": "estimate replicates",
    "what-holds": "estimate what-holds",
    "randomize": "collect randomize",
    "packs": "init packs",
    "inventory": "ledger inventory",
    "evidence": "report evidence",
    "archive": "export archive",
    "schema": "export schema",
    "sql": "export sql",
}
"""Names of commands before they were grouped; they work in this version, and are not in the help."""

COMPLETION = ("--install-completion", "--show-completion")
COMPLETE = "_RRPOLICY_COMPLETE"
"""Set by a shell that requests completions."""

_KEYWORD = re.compile(r"`([a-z_]+)=True`")
"""A keyword of Python in a hint."""
INTERRUPTED, BROKEN_PIPE, BUG = SIGNAL_EXIT_BASE + 2, SIGNAL_EXIT_BASE + 13, 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; default those of the process, which then leaves at once on a signal.

    Returns:
        The exit status: 0 met; 1 a requirement fails or is undecided; 2 the policy or the call is wrong; 3 the data
        do not fit the policy; 4 refused; 130, 143 and 129 ended by SIGINT, SIGTERM and SIGHUP; 141 the reader of the
        output went away; 70 a bug.
    """
    if arguments is not None:
        return _run_guarded(list(arguments))
    install_signal_handlers()
    try:
        return _run_guarded(sys.argv[1:])
    finally:
        uninstall_signal_handlers()


def run() -> NoReturn:
    """Run the command line and end the process at once, without the interpreter's clean-up.

    Where the locale does not encode paths in UTF-8, as with LC_ALL=C, it starts again in UTF-8 mode.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - this program
    status = main()
    atexit._run_exitfuncs()  # noqa: SLF001 - those of plugins as well
    for stream in (sys.stdout, sys.stderr):  # pragma: no cover - what counts lines ends with the functions above
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)  # pragma: no cover - likewise


def _run_guarded(given: list[str]) -> int:
    _start_quickly()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(given)
        sys.stdout.flush()
    except RRPolicyError as error:
        return _report(error, given)
    except KeyboardInterrupt:
        print("rrpolicy: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001
        from rrpolicy.plugin_errors.attribution import plugin_error

        found = plugin_error(error)
        if found is None:
            return _report_bug(error, given)
        _print_traceback(error)
        return _report(found, given)
    return status


def _start_quickly() -> None:
    """Switch off features that a short process does not need: garbage collection, plugins, spinning threads.

    And pages of memory that Arrow would return and allocate again with the next batch.
    """
    gc.set_threshold(300_000, 50, 50)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _run(given: list[str]) -> int:
    if COMPLETE in os.environ or given[:1] in ([option] for option in COMPLETION):
        return _handle_completion(given)
    if not given or given[0] in {"--help", "-h"}:
        print(_help())
        return 0 if given else PolicyError.exit_status
    if given[0] == "--version":
        from rrpolicy import __version__

        print(f"rrpolicy {__version__}")
        return 0
    if given[0] == "help":
        return _run([*given[1:], "--help"])
    name, old = _command_name(given), given[0] in OLD_NAMES
    if not name and given[0] in GROUPS and (given[1:] in ([], ["--help"], ["-h"])):
        print(f"Usage: rrpolicy {given[0]} COMMAND [ARGUMENTS] [OPTIONS]\n\n{_command_list(_subcommands(given[0]))}")
        return 0 if given[1:] else PolicyError.exit_status
    if not name:
        raise PolicyError(_report_unknown_command(" ".join(given[:2]) if given[0] in GROUPS else given[0]))
    if old and not any(word.startswith(("--json", "--format", FLAG)) for word in given):  # output for programs
        note = f"note: `rrpolicy {given[0]}` is now `rrpolicy {name}`; the old name works in this version only"
        print(note, file=sys.stderr)
    return _command(name, given[1 if old else len(name.split(" ")) :])


def file_argument(group: str, path: Path) -> str:
    """Return a file as the first argument of a group, where the name of a sub-command would be taken for that."""
    return f"./{path}" if f"{group} {path}" in COMMANDS else str(path)


def _subcommands(group: str) -> dict[str, str]:
    """Return the commands below a command or a group, with their summaries."""
    return {name: summary for name, summary in COMMANDS.items() if name.startswith(f"{group} ")}


def _command(name: str, arguments: list[str]) -> int:
    files = [a for a in arguments if not a.startswith("-")]
    plain = {a for a in arguments if a.startswith("-")} <= {"--json", *(f"{FLAG}={form}" for form in Output)}
    if name == "check" and files and plain:
        from rrpolicy.cli.quick_check import check_all  # the plain call needs no option parser

        printed = early_output_request([a for a in arguments if a != "--json"]).form
        return check_all(files, output_request(printed, None, json="--json" in arguments))
    import typer

    command = command_function(name)
    spelled: Callable[[Sequence[str]], Sequence[str]] = getattr(sys.modules[command.__module__], "spelled", tuple)
    raised: list[BaseException] = []
    app = typer.Typer(
        add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )
    app.command(help=command.__doc__, epilog=_examples(name))(_capture_errors(command, raised))
    try:
        status = app(list(spelled(arguments)), prog_name=f"rrpolicy {name}", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            usage = f"`rrpolicy {name} --help` shows the arguments and options"
            message = " ".join(error.format_message().split()).rstrip(".").replace(": Value error, ", ": ")
            raise PolicyError(Problem("RR250", message, hint=usage)) from error
        raise
    if raised:
        raise raised[0]
    return status if isinstance(status, int) else 0


def _examples(name: str) -> str:
    """Return the end of a command's help: the commands below it, and examples."""
    from rrpolicy.cli.examples import EXAMPLES

    below = _subcommands(name)
    group = ["\b", f"Commands below it, `rrpolicy {name} COMMAND`:", _command_list(below), ""] if below else []
    return "\n".join([*group, "\b", "Examples:", *(f"  {call}" for call in EXAMPLES[name])])


def _handle_completion(given: list[str]) -> int:
    """Install or show completion for a shell, or print completions: only then all commands are imported."""
    import typer

    groups = {name.split(" ")[0]: typer.Typer(rich_markup_mode=None) for name in COMMANDS if " " in name}
    app, leaders = typer.Typer(rich_markup_mode=None, help="Release policies in git."), typer.Typer()
    for name, summary in COMMANDS.items():
        *above, word = name.split(" ")
        into = groups[above[0]] if above else leaders if word in groups else app
        into.command(word, help=summary)(command_function(name))
    for word, group in groups.items():
        app.add_typer(group, name=word, help=_entries(COMMANDS)[word])
    line: Any = typer.main.get_command(app)
    own: Any = typer.main.get_command(leaders)
    for word, leader in own.commands.items():  # its arguments would hide the commands below it
        line.commands[word].params += [p for p in leader.params if p.param_type_name == "option"]
    try:
        if len(given) > 1 and given[0] in COMPLETION:
            _shell_completion(given[1], install=given[0] == COMPLETION[0])
        else:
            line(given, prog_name="rrpolicy", standalone_mode=False)
    except typer.Exit as left:
        return left.exit_code
    except SystemExit as left:  # as the library ends what it printed
        return left.code if isinstance(left.code, int) else 0
    return 0


def _shell_completion(shell: str, *, install: bool) -> None:
    """Install or show the completion for a shell that is named; by default it is found out which one runs."""
    from typer import _completion_shared as completion  # no public name takes a shell

    if install:
        _, path = completion.install(shell=shell, prog_name="rrpolicy", complete_var=COMPLETE)
        print(f"{shell} completion installed in {path}; it takes effect in the next terminal")
    else:
        print(completion.get_completion_script(prog_name="rrpolicy", complete_var=COMPLETE, shell=shell))


def command_function(name: str) -> Callable[..., Any]:
    """Return the function of a command: `command` in the module of its first word, or that of its second word."""
    first, _, second = name.replace("-", "_").partition(" ")
    room = next(room for room, commands in ROOMS.items() if name in commands)
    module = importlib.import_module(f"rrpolicy.cli.{room}.{first}")
    found: Callable[..., Any] = getattr(module, second or "command")
    return found


def _capture_errors(command: Callable[..., Any], raised: list[BaseException]) -> Callable[..., Any]:
    """Return the command with its errors stored: the library would turn some into its own exits."""

    @functools.wraps(command)
    def run(**named: Any) -> Any:
        import typer

        try:
            return command(**named)
        except (typer.Exit, typer.BadParameter):
            raise
        except RRPolicyError as error:
            error.problems = tuple(map(_with_option_spelling, error.problems))
            first = named.get(next(iter(inspect.signature(command).parameters), ""))
            error.asked_of = str(first) if isinstance(first, (str, os.PathLike)) else ""
            raised.append(error)
        except BaseException as error:  # noqa: BLE001
            raised.append(error)
        return None

    return run


def _with_option_spelling(problem: Problem) -> Problem:
    """Return a problem whose hint names keywords of Python, such as `spread=True`, as options of the command."""
    hint = problem.hint and _KEYWORD.sub(lambda found: f"`--{found[1].replace('_', '-')}`", problem.hint)
    return replace(problem, hint=hint)


def _help() -> str:
    rooms = {room: _entries(commands, more=" ...") for room, commands in ROOMS.items()}
    width = max(len(word) for entries in rooms.values() for word in entries)
    rows = "\n\n".join(f"{TITLES[room]}:\n{_command_list(entries, width)}" for room, entries in rooms.items())
    return f"""\
Usage: rrpolicy COMMAND [ARGUMENTS] [OPTIONS]

Release policies in git: a TOML policy becomes a privacy-protected release that an auditor can check.

{rows}

Options:
  --version             Print the version.
  --install-completion  Let the shell complete commands and options; --show-completion prints the script.
  --help                Print this; after a command, the command's own, with examples and the commands below it ("...").

Exit status: 0 requirements met; 1 a requirement fails or is undecided; 2 the policy or the call is wrong;
3 the data do not fit the policy; 4 refused. Every problem has a code that `rrpolicy explain` explains."""


def _entries(commands: Mapping[str, str], more: str = "") -> dict[str, str]:
    """Return the first words of commands with their summaries; `more` follows a word that has commands below it."""
    words = dict.fromkeys(name.split(" ")[0] for name in commands)
    return {word + more * bool(_subcommands(word)): GROUPS.get(word) or COMMANDS[word] for word in words}


def _command_list(commands: Mapping[str, str], width: int = 0) -> str:
    """Return commands with their summaries, a line each."""
    width = width or max(map(len, commands))
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in commands.items())


def _report_unknown_command(name: str) -> Problem:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    what = "option" if name.startswith("-") else "command"
    hint = f"did you mean '{near[0]}'?" if near else "`rrpolicy --help` lists the commands"
    return Problem("RR250", f"unknown {what} '{name}'", None, f"one of: {', '.join(COMMANDS)}", hint)


def _report(error: RRPolicyError, given: Sequence[str]) -> int:
    from rrpolicy.cli.terminal import problem_count, wants_colour
    from rrpolicy.cli.text.terminal_layout import wrap_for_stream
    from rrpolicy.policy.diagnostics import ProblemsDocument, render
    from rrpolicy.serialization import record

    def outcome() -> CommandOutcome:
        from rrpolicy.ci_reports import subjects

        found = subjects.problem_subject(error.problems, error.exit_status, error.asked_of)
        return subjects.command_outcome(_command_name(given), error.exit_status, [found])

    _write_machine_output(given, lambda: record(ProblemsDocument(error.exit_status, error.problems)), outcome)
    if error.__cause__ is not None and error.problems[0].code == PLUGIN_CONTRACT_CODE:
        _print_traceback(error.__cause__)
    print(wrap_for_stream(render(error.problems, colour=wants_colour()), sys.stderr), file=sys.stderr)
    print(f"\n{problem_count(error.problems)}", file=sys.stderr)
    return error.exit_status


def _write_machine_output(
    given: Sequence[str], document: Callable[[], Json], outcome: Callable[[], CommandOutcome]
) -> None:
    """Write the error for programs, in the formats of the call; print a problem if a file cannot be written."""
    try:
        show(early_output_request(given), tuple, document, outcome)
    except RRPolicyError as error:
        from rrpolicy.policy.diagnostics import render

        print(render(error.problems), file=sys.stderr)


def _command_name(given: Sequence[str]) -> str:
    """Return the command that a call names; "" if it names none.

    The first argument is a sub-command if it is the name of one: a folder of that name is reached by ./NAME.
    """
    names = (" ".join(given[:2]), " ".join(given[:1]))
    return next((OLD_NAMES.get(name, name) for name in names if name in {**COMMANDS, **OLD_NAMES}), "")


def _report_bug(error: Exception, given: Sequence[str]) -> int:
    from rrpolicy import __version__

    def outcome() -> CommandOutcome:
        from rrpolicy.ci_reports import subjects

        return subjects.bug_subject(_command_name(given))

    from rrpolicy.policy.diagnostics import ProblemsDocument
    from rrpolicy.serialization import record

    _write_machine_output(given, lambda: record(ProblemsDocument(BUG, ())), outcome)
    _print_traceback(error)
    print(
        f"rrpolicy: a bug, please report it: {type(error).__name__} in rrpolicy {__version__}\n"
        "Nothing was released. Run again with RRPOLICY_TRACEBACK=1 and send what it prints; look it over first, as the "
        "message of an unexpected error may contain a value of the data.",
        file=sys.stderr,
    )
    return BUG


def _print_traceback(error: BaseException) -> None:
    """Print the traceback of an unexpected error, if the environment requests it."""
    if os.environ.get("RRPOLICY_TRACEBACK") == "1":
        import traceback

        traceback.print_exception(error)


if __name__ == "__main__":
    run()
