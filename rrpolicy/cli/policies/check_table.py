"""`rrpolicy check-table TABLE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, Root, api_options
from rrpolicy.cli.text.output import output_request, report_outcome

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import OutcomeSubject
    from rrpolicy.table_risk.table import TableCheck

PLUGIN = "A distribution to load for a table that it opens, such as acme-sqlite>=0.3; repeat it for several."
UNNAMED = "an estimate decides only with --decided-by estimate, in a policy `decided_by`"


def command(  # noqa: PLR0917 each option is one
    uri: Annotated[str, typer.Argument(help="A Parquet or CSV file, or a DuckDB database.", metavar="TABLE")],
    qi: Annotated[
        list[str] | None,
        typer.Option(help="Columns that make a class, with commas between; repeat it for a name with a comma."),
    ] = None,
    sensitive: Annotated[list[str] | None, typer.Option(help="Columns to protect, with commas between.")] = None,
    policy: Annotated[
        Path | None, typer.Option(help="A policy: its roles, orders, hierarchies, and its entries of these models.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table or view inside a database.")] = None,
    k: Annotated[int | None, typer.Option(help="Require k-anonymity.")] = None,
    l: Annotated[str | None, typer.Option("--l", help="Require l-diversity.")] = None,
    kind: Annotated[str, typer.Option(help="Kind of l-diversity, as in a policy.")] = "distinct",
    c: Annotated[str | None, typer.Option("--c", help="The c of recursive (c, l)-diversity.")] = None,
    t: Annotated[str | None, typer.Option("--t", help="Require t-closeness.")] = None,
    distance: Annotated[str, typer.Option(help="Distance of t-closeness, as in a policy.")] = "variational",
    alpha: Annotated[str | None, typer.Option("--alpha", help="With --k, require (alpha, k)-anonymity.")] = None,
    beta: Annotated[str | None, typer.Option("--beta", help="Require beta-likeness.")] = None,
    likeness: Annotated[str, typer.Option(help="Kind of beta-likeness, as in a policy.")] = "basic",
    delta: Annotated[str | None, typer.Option("--delta", help="Require delta-disclosure privacy, in bits.")] = None,
    values: Annotated[str, typer.Option(help="Values of delta-disclosure privacy, as in a policy.")] = "all",
    k_map: Annotated[int | None, typer.Option(help="Require k-map: so many people agree with every class.")] = None,
    presence_max: Annotated[str | None, typer.Option(help="Require delta-presence of at most so much.")] = None,
    presence_min: Annotated[str | None, typer.Option(help="Of delta-presence, at least so much.")] = None,
    decided_by: Annotated[
        str | None, typer.Option(help="`estimate` lets an estimate decide k-map; else it does not pass.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="The column that says how many people a record stands for.", metavar="COLUMN")
    ] = None,
    sampling_fraction: Annotated[str | None, typer.Option(help="Share of the population in the table.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="A table of the whole population, with the columns of --qi.", metavar="TABLE")
    ] = None,
    suda: Annotated[
        int | None, typer.Option(help="Find and score minimal sample uniques of at most so many columns.")
    ] = None,
    suppressed: Annotated[
        str | None, typer.Option(help="Text of a suppressed value, such as '*': such records are in no class.")
    ] = None,
    root: Root = None,
    *,
    plugins: Annotated[list[str] | None, typer.Option("--plugin", help=PLUGIN)] = None,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
) -> int:
    """Measure what a table that somebody else anonymised reaches, and the risks of its records.

    With thresholds, exit status 1 says that one fails; without, each model's achieved value is printed. Missing values
    are values of their own. Records with '*' in all columns that make a class are a class of their own unless
    --suppressed '*' is given. How a CSV file is spelled is told from the file, unless a policy's [source.csv] fits.
    """
    options = api_options(api.check_table, locals())
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
            over = f"fails in {finding.groups_over:,} of the classes, with {finding.people_over:,} records"
            text.append(f"  {'':<9} {'':<{width}}  {over}")
    if not found.classes:
        text.append(f"note: {UNCHECKED}")
    text += lines(found.risks)
    text += [f"note: {remark}" for remark in found.remarks]
    if not any(finding.verdict for finding in found.findings):
        text.append("next: state thresholds, such as --k 5 --l 3 --kind entropy, and the exit status tells")
    return text
