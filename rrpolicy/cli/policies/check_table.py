"""`rrpolicy check-table TABLE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, with_options
from rrpolicy.cli.text.output import output_request, report_outcome
from rrpolicy.verb_options import CheckTableOptions

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import OutcomeSubject
    from rrpolicy.table_risk.table import TableCheck

UNNAMED = "an estimate decides only with --decided-by estimate, in a policy `decided_by`"


@with_options
def command(
    uri: Annotated[str, typer.Argument(help="A Parquet or CSV file, or a DuckDB database.", metavar="TABLE")],
    *,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[CheckTableOptions],
) -> int:
    """Measure what a table that somebody else anonymised reaches, and the risks of its records.

    With thresholds, exit status 1 says that one fails; without, each model's achieved value is printed. Missing values
    are values of their own. Records with '*' in all columns that make a class are a class of their own unless
    --suppressed '*' is given. How a CSV file is spelled is told from the file, unless a policy's [source.csv] fits.
    """
    wanted = output_request(output, also, json=json)
    found = api.check_table(uri, **options)
    status = 0 if found.passed else 1
    return report_outcome(
        wanted,
        "check-table",
        status,
        text=lambda: _lines(found),
        document=lambda: {**found.to_json(), "exit_status": status},
        subjects=lambda: _subjects(found, uri, status),
    )


def _subjects(found: TableCheck, uri: str, status: int) -> list[OutcomeSubject]:
    from rrpolicy.ci_reports import subjects

    return [subjects.table_subject(found, uri, status)]


def _lines(found: TableCheck) -> list[str]:
    from rrpolicy.cli.text.plan import MARKS
    from rrpolicy.cli.text.risks import lines
    from rrpolicy.finding import UNCHECKED, Verdict
    from rrpolicy.wording import measure_text

    left_out = f", {found.suppressed:,} of them suppressed" if found.suppressed else ""
    text = [f"{found.name}: {found.records:,} records{left_out}, {found.classes:,} equivalence classes"]
    width = max(len(f.model) for f in found.findings)
    for finding in found.findings:
        achieved = "" if finding.achieved is None else measure_text(finding.achieved)
        text.append(f"  {MARKS[finding.verdict]:<9} {finding.model:<{width}}  {achieved:<9} {finding.requirement}")
        if finding.verdict is Verdict.UNDECIDED:
            text.append(f"  {'':<9} {'':<{width}}  {UNNAMED}")
        if finding.groups_over:
            of = "records" if found.unit is None else "units"
            over = f"fails in {finding.groups_over:,} of the classes, with {finding.people_over:,} {of}"
            text.append(f"  {'':<9} {'':<{width}}  {over}")
    if not found.classes:
        text.append(f"note: {UNCHECKED}")
    text += lines(found.risks)
    text += [f"note: {remark}" for remark in found.remarks]
    if not any(finding.verdict for finding in found.findings):
        text.append("next: state thresholds, such as --k 5 --l 3 --kind entropy, and the exit status shows the verdict")
    return text
