"""`rrpolicy compare POLICY...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NoReturn, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import After, AsJson, with_options
from rrpolicy.cli.text.output import FLAG, output_request, show
from rrpolicy.verb_options import CompareOptions


@with_options
def command(
    policies: Annotated[
        list[Path], typer.Argument(help="Policy files; also plans' files and releases.", metavar="POLICY...")
    ],
    *,
    html: Annotated[
        Path | None,
        After("error"),
        typer.Option("--html", help="Write one page for a meeting as well; it must not exist."),
    ] = None,
    output: Annotated[Literal["text", "json"], typer.Option(FLAG, help="How to print what was found.")] = "text",
    json: AsJson = False,
    **options: Unpack[CompareOptions],
) -> int:
    """Compare policies, mechanisms and values of keys by risk and error. Nothing is released.

    Every candidate is planned on the same table, held against the requirements of all, and measured by the same errors.
    One that is refused has a row that says why. What is printed and written is confidential.
    """
    from rrpolicy.cli.text.compare import lines
    from rrpolicy.cli.text.notices import progress
    from rrpolicy.safe_io.atomic_write import refuse_existing

    wanted = output_request(Output(output), None, json=json)
    if html is not None:
        refuse_existing(html)
    with progress() as report:
        options["progress"] = report
        found = api.compare(*policies, **options)
    if html is not None:
        from rrpolicy.governance.compare import page

        page.write(found, html)
    show(wanted, lambda: lines(found), lambda: {"exit_status": found.exit_status, **found.to_json()}, _no_outcome)
    return found.exit_status


def _no_outcome() -> NoReturn:  # pragma: no cover - no form of output that is taken reads it
    raise AssertionError("a comparison is printed as text or JSON")
