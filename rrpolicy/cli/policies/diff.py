"""`rrpolicy diff OLD NEW`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, with_options
from rrpolicy.cli.text.output import output_request, report_outcome
from rrpolicy.verb_options import DiffOptions

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import OutcomeSubject
    from rrpolicy.governance.diff.changes import Difference

SIDE = "A policy, a folder of policies, REVISION:PATH of the git repository here, or a release."


@with_options
def command(
    old: Annotated[str, typer.Argument(help=SIDE, metavar="OLD")],
    new: Annotated[str | None, typer.Argument(help="The same, after the change.", metavar="NEW")] = None,
    *,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[DiffOptions],
) -> int:
    """Compare two policies: what is weaker, what is stronger, and what it costs. Nothing is released or written.

    Exit status 1 says that something is weaker, or cannot be told not to be, without a greater version and a
    [[policy.changes]] entry that says why; what to paste is printed. Folders are compared policy by policy: by name, by
    file, else by source and columns, so that a renamed policy is not new. A new one is announced.
    """
    from rrpolicy.cli.text.diff import lines
    from rrpolicy.cli.text.notices import progress

    wanted = output_request(output, also, json=json)
    with progress() as report:
        options["progress"] = report
        found = api.diff(old, new, **options)
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
