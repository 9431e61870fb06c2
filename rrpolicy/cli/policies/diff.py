"""`rrpolicy diff OLD NEW`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, Root, Today, api_options
from rrpolicy.cli.text.output import output_request, report_outcome

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import OutcomeSubject
    from rrpolicy.governance.diff.changes import Difference

SIDE = "A policy, a folder of policies, REVISION:PATH of the git repository here, or a release."


def command(  # noqa: PLR0917 each option is one
    old: Annotated[str, typer.Argument(help=SIDE, metavar="OLD")],
    new: Annotated[str | None, typer.Argument(help="The same, after the change.", metavar="NEW")] = None,
    since: Annotated[
        str | None, typer.Option(help="Compare the one policy or folder that is named with this git revision of it.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Plan both policies on this table.")] = None,
    expected_rows: Annotated[
        int | None, typer.Option(min=1, help="Plan both for so many records, without data.")
    ] = None,
    root: Root = None,
    today: Today = None,
    *,
    data: Annotated[bool, typer.Option("--data", help="Plan each policy on its own table.")] = False,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
) -> int:
    """Compare two policies: what is weaker, what is stronger, and what it costs. Nothing is released or written.

    Exit status 1 says that something is weaker, or cannot be told not to be, without a greater version and a
    [[policy.changes]] entry that says why; what to paste is printed. Folders are compared policy by policy: by name, by
    file, else by source and columns, so that a renamed policy is not new. A new one is announced.
    """
    options = api_options(api.diff, locals())
    from rrpolicy.cli.text.diff import lines
    from rrpolicy.cli.text.notices import progress

    wanted = output_request(output, also, json=json)
    with progress() as report:
        found = api.diff(old, new, **options, progress=report)
    status = 0 if found.passed else 1
    return report_outcome(
        wanted,
        "diff",
        status,
        text=lambda: lines(found),
        document=lambda: {"exit_status": status, **found.to_json()},
        subjects=lambda: _subjects(found),
        problems=found.problems,
    )


def _subjects(found: Difference) -> list[OutcomeSubject]:
    from rrpolicy.ci_reports import subjects

    return [*map(subjects.diff_subject, found.comparisons), *map(subjects.new_policy_subject, found.added)]
