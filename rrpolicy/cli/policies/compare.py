"""`rrpolicy compare POLICY...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import AsJson, NoWaivers, Root, Today, api_options
from rrpolicy.cli.text.output import FLAG, output_request, show

VARY = (
    "Let a key of the policy's own file take each of these values, such as privacy.0.threshold=1/2,1/3; repeat it: all "
    "combinations are compared."
)

PLUGIN = "A distribution that a release may load, such as acme-oue>=1.2; none is loaded on its word alone."
WRITE = (
    "Put the map and the alternatives into audit/ of the release that is one of the candidates, and print its audit "
    "report again."
)
RESUME = (
    "Keep finished candidates in this file, and take from it those of which nothing changed; it is made where there is "
    "none. Policies with a ledger or plan_on are planned again each time."
)


def command(  # noqa: PLR0917 each option is one
    policies: Annotated[
        list[Path], typer.Argument(help="Policy files; also plans' files and releases.", metavar="POLICY...")
    ],
    mechanisms: Annotated[
        str | None, typer.Option("--mechanism", help="Try these on each policy, in place of its own.", metavar="A,B")
    ] = None,
    vary: Annotated[list[str] | None, typer.Option("--vary", help=VARY, metavar="KEY=VALUES")] = None,
    source: Annotated[str | None, typer.Option(help="Read this table in place of the policies' own.")] = None,
    expected_rows: Annotated[int | None, typer.Option(min=1, help="Plan for so many records, without data.")] = None,
    draws: Annotated[int, typer.Option(min=20, max=10_000, help="Simulated draws of each marginal.")] = 20,
    resume: Annotated[Path | None, typer.Option(help=RESUME)] = None,
    risk: Annotated[str | None, typer.Option(help="The risk of the map, as the table names it.", metavar="ID")] = None,
    error: Annotated[str | None, typer.Option(help="The error of the map, the same.", metavar="ID")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one page for a meeting as well; it must not exist.")
    ] = None,
    root: Root = None,
    plugins: Annotated[list[str] | None, typer.Option("--plugin", help=PLUGIN, metavar="DISTRIBUTION")] = None,
    today: Today = None,
    *,
    write: Annotated[bool, typer.Option("--write", help=WRITE)] = False,
    no_waivers: NoWaivers = False,
    output: Annotated[Literal["text", "json"], typer.Option(FLAG, help="How to print what was found.")] = "text",
    json: AsJson = False,
) -> int:
    """Compare policies, mechanisms and values of keys by risk and error. Nothing is released.

    Every candidate is planned on the same table, held against the requirements of all, and measured by the same errors.
    One that is refused has a row that says why. What is printed and written is confidential.
    """
    options = api_options(api.compare, locals())
    from rrpolicy.cli.text.compare import lines
    from rrpolicy.cli.text.notices import progress
    from rrpolicy.governance.compare.candidates import parse_vary
    from rrpolicy.safe_io.atomic_write import refuse_existing

    wanted = output_request(Output(output), None, json=json)
    options["vary"] = dict(map(parse_vary, vary or ()))
    options["mechanisms"] = [name.strip() for name in mechanisms.split(",")] if mechanisms else ()
    if html is not None:
        refuse_existing(html)
    with progress() as report:
        found = api.compare(*policies, **options, progress=report)
    if html is not None:
        from rrpolicy.governance.compare import page

        page.write(found, html)
    show(wanted, lambda: lines(found), lambda: {"exit_status": found.exit_status, **found.to_json()}, _no_outcome)
    return found.exit_status


def _no_outcome() -> NoReturn:
    raise AssertionError("a comparison is printed as text or JSON")
