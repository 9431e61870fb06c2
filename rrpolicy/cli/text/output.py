"""The forms in which a command prints and writes its result: `--output-format` and `--also`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.terminal import print_json, problem_count, wants_colour

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Json
    from rrpolicy.ci_reports.outcome import CommandOutcome, OutcomeSubject
    from rrpolicy.errors import Problem

FLAG, ALSO = "--output-format", "--also"
HELP = "How to print what was found; the exit status is the same. docs/how-to/ci.md shows each."
ALSO_HELP = "Write it to a file in another format as well, such as sarif=plan.sarif; repeat it for several."
QUIET = "Print the verdict alone."
JSON_HELP = f"The same as {FLAG} json."


class OutputRequest(Struct, frozen=True):
    """The requested forms of output."""

    form: Output = Output.TEXT
    also: tuple[tuple[Output, str], ...] = ()


def early_output_request(given: Sequence[str]) -> OutputRequest:
    """Return the requested forms before the rest of a call is parsed: text if it names none."""
    words = [word for word in _values(given, FLAG) if word in set(Output)]
    json = {"--json", "--format=json"} & {*given} or ("--format", "json") in pairwise(given)
    form = Output(words[-1]) if words else Output.JSON if json else Output.TEXT
    return OutputRequest(form, tuple(filter(None, map(_parse_also, _values(given, ALSO)))))


def output_request(form: Output, also: Sequence[str] | None, *, json: bool) -> OutputRequest:
    """Return the forms that the options name together.

    Raises:
        PolicyError: RR250 if they name two that are to be printed, or no form with a file.
        RefusedError: RR407 if a file's folder is missing: before anything is read.
    """
    from rrpolicy.errors import PolicyError, Problem, RefusedError

    if json and form not in {Output.TEXT, Output.JSON}:
        raise PolicyError(Problem("RR250", f"--json and {FLAG} {form} request two forms at once", hint="take one out"))
    files = []
    for text in also or ():
        found = _parse_also(text)
        if found is None:
            expected = f"FORMAT=FILE, with one of {', '.join(form for form in Output if form is not Output.TEXT)}"
            raise PolicyError(Problem("RR250", f"{ALSO} '{text}' is not a format with a file", expected=expected))
        folder = os.path.dirname(found[1])  # noqa: PTH120
        if folder and not os.path.isdir(folder):  # noqa: PTH112
            message = f"'{found[1]}' cannot be written: there is no folder '{folder}'"
            raise RefusedError(Problem("RR407", message, hint="make the folder"))
        files.append(found)
    return OutputRequest(Output.JSON if json else form, tuple(files))


def show(
    wanted: OutputRequest,
    text: Callable[[], Iterable[str]],
    document: Callable[[], Json],
    outcome: Callable[[], CommandOutcome],
) -> None:
    """Print a result on standard output, and write it to the requested files.

    Raises:
        RefusedError: RR407 or RR408 if a file cannot be written.
    """
    if wanted.form is Output.TEXT:
        from rrpolicy.cli.text.terminal_layout import format_for_terminal
        from rrpolicy.escaping.printable import line

        lines = list(format_for_terminal(list(map(line, text()))))
        print("\n".join(lines), end="\n" if lines else "")
    elif wanted.form is Output.JSON:
        print_json(document())
    else:
        sys.stdout.write(_format_outcome(wanted.form, outcome))
    for form, file in wanted.also:
        if form is Output.JSON:
            from rrpolicy.canonical_json import pretty

            _write(file, pretty(document()))
        else:
            _write(file, _format_outcome(form, outcome).encode())


def report_outcome(
    wanted: OutputRequest,
    command: str,
    status: int,
    *,
    text: Callable[[], Iterable[str]],
    document: Callable[[], Json],
    subjects: Callable[[], Sequence[OutcomeSubject]],
    problems: Sequence[Problem] = (),
) -> int:
    """Show the result of a command, and return its exit status.

    Raises:
        RefusedError: RR407 or RR408 if a file cannot be written.
    """

    def outcome() -> CommandOutcome:
        from rrpolicy.ci_reports.subjects import command_outcome as made

        return made(command, status, subjects())

    show(wanted, text, document, outcome)
    if problems:
        from rrpolicy.policy.diagnostics import render

        print(f"{render(problems, colour=wants_colour())}\n\n{problem_count(problems)}", file=sys.stderr)
    return status


def _format_outcome(form: Output, outcome: Callable[[], CommandOutcome]) -> str:
    from rrpolicy.ci_reports.formats import format_outcome

    return format_outcome(outcome(), form)


def _write(file: str, content: bytes) -> None:
    """Write a file whole, in place of that of the run before."""
    unfinished = f"{file}.unfinished"
    try:
        with open(unfinished, "wb") as written:  # noqa: PTH123 no pathlib on the way of a quick check
            written.write(content)
        os.replace(unfinished, file)  # noqa: PTH105
    except OSError as error:
        from rrpolicy.errors import write_error

        raise write_error(f"'{file}'", error) from error


def _values(given: Sequence[str], flag: str) -> list[str]:
    """Return the values of an option, in order, whichever way they are written."""
    spaced = [(i + 1, b) for i, (a, b) in enumerate(pairwise(given)) if a == flag]
    joined = [(i, a.removeprefix(f"{flag}=")) for i, a in enumerate(given) if a.startswith(f"{flag}=")]
    return [value for _, value in sorted([*spaced, *joined])]


def _parse_also(text: str) -> tuple[Output, str] | None:
    """Return the form and the file that a value of `--also` names; None if it does not."""
    word, _, file = text.partition("=")
    return (Output(word), file) if file and word in set(Output) - {Output.TEXT} else None
