"""`rrpolicy diff OLD NEW`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy import door
from rrpolicy.cli.quick_check import ROOT
from rrpolicy.cli.text.output import ALSO, ALSO_HELP, FLAG, HELP, JSON_HELP, Output, chosen, show

if TYPE_CHECKING:
    from rrpolicy.govern.diff.altered import Difference
    from rrpolicy.outputs.outcome import Outcome

SIDE = "A policy, a folder of policies, REVISION:PATH of the git repository here, or a release."


def command(
    old: Annotated[str, typer.Argument(help=SIDE, metavar="OLD")],
    new: Annotated[str, typer.Argument(help="The same, after the change.", metavar="NEW")],
    source: Annotated[str | None, typer.Option(help="Plan both policies on this table.")] = None,
    expected_rows: Annotated[
        int | None, typer.Option(min=1, help="Plan both for so many records, without data.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
    *,
    data: Annotated[bool, typer.Option("--data", help="Plan each policy on its own table.")] = False,
    output: Annotated[Output, typer.Option(FLAG, help=HELP)] = Output.TEXT,
    also: Annotated[list[str] | None, typer.Option(ALSO, help=ALSO_HELP, metavar="FORMAT=FILE")] = None,
    json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> int:
    """Compare two policies: what is weaker, what is stronger, and what it costs. Nothing is released or written.

    Exit status 1 says that something is weaker, or cannot be told not to be, without a greater version and a
    [[policy.changes]] entry that says why; what to paste is printed. Folders are compared policy by policy, by name.
    """
    from rrpolicy.cli.text.diff import lines
    from rrpolicy.cli.text.progress import progress

    wanted = chosen(output, also, json=json)
    with progress() as report:
        found = door.diff(old, new, data=data, source=source, expected_rows=expected_rows, root=root, progress=report)
    status = 0 if found.passed else 1
    document = {"exit_status": status, **found.to_json()}
    show(wanted, lambda: lines(found), lambda: document, lambda: _outcome(found, status))
    if status:
        _print_problems(found)
    return status


def _outcome(found: Difference, status: int) -> Outcome:
    from rrpolicy.outputs import subjects

    return subjects.outcome("diff", status, [subjects.of_comparison(one) for one in found.comparisons])


def _print_problems(found: Difference) -> None:
    from rrpolicy.cli.terminal import count_of, wants_colour
    from rrpolicy.policy.diagnostics import render

    print(f"{render(found.problems, colour=wants_colour())}\n\n{count_of(found.problems)}", file=sys.stderr)
