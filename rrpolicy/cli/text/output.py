"""In which form a command prints what it found, and what `--output-format` offers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from rrpolicy.cli.terminal import print_json

if TYPE_CHECKING:
    from rrpolicy.canonical import Json
    from rrpolicy.outputs.outcome import Outcome

FLAG = "--output-format"
HELP = "How to print what was found; the exit status is the same. docs/ci.md shows each."
JSON_HELP = f"The same as {FLAG} json."


class Output(StrEnum):
    """A form of what was found."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def wanted(given: Sequence[str]) -> Output:
    """Return the form that a call asks for, before anything else of it is understood; text if it names none."""
    asked = [b for a, b in pairwise(given) if a == FLAG]
    asked += [a.removeprefix(f"{FLAG}=") for a in given if a.startswith(f"{FLAG}=")]
    known = [Output(word) for word in asked if word in set(Output)]
    if known:
        return known[-1]
    json = {"--json", "--format=json"} & {*given} or ("--format", "json") in pairwise(given)
    return Output.JSON if json else Output.TEXT


def chosen(form: Output, *, json: bool) -> Output:
    """Return the form that the two options name together.

    Raises:
        PolicyError: RR250 if they name two.
    """
    if json and form not in {Output.TEXT, Output.JSON}:
        from rrpolicy.errors import PolicyError, Problem

        raise PolicyError(Problem("RR250", f"--json and {FLAG} {form} ask for two forms at once", hint="take one out"))
    return Output.JSON if json else form


def show(
    form: Output, text: Callable[[], Iterable[str]], document: Callable[[], Json], outcome: Callable[[], Outcome]
) -> None:
    """Print what was found on standard output.

    Args:
        form: in which.
        text: makes the lines for people.
        document: makes the document of the command.
        outcome: makes what the other formats are made of.
    """
    if form is Output.TEXT:
        from rrpolicy.untrusted.printable import visible

        print("\n".join(map(visible, text())))
    elif form is Output.JSON:
        print_json(document())
    else:
        from rrpolicy.outputs.formats import formatted

        sys.stdout.write(formatted(outcome(), form.value))
