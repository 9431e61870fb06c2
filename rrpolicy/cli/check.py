"""`rrpolicy check POLICY…`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.quick_check import NO_WAIVERS, ROOT, TODAY, check_all
from rrpolicy.cli.text.output import ALSO, ALSO_HELP, FLAG, HELP, JSON_HELP, Output, chosen


def command(
    policies: Annotated[list[str], typer.Argument(help="Policy files.", metavar="POLICY…")],
    extends: Annotated[
        str | None, typer.Option(help="A baseline: refuse a policy that does not extend it.", metavar="FILE")
    ] = None,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
    today: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help=TODAY)] = None,
    *,
    no_waivers: Annotated[bool, typer.Option("--no-waivers", help=NO_WAIVERS)] = False,
    output: Annotated[Output, typer.Option(FLAG, help=HELP)] = Output.TEXT,
    also: Annotated[list[str] | None, typer.Option(ALSO, help=ALSO_HELP, metavar="FORMAT=FILE")] = None,
    json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> int:
    """Check policies: no data needed, nothing written.

    Every problem of every file is told, with its place and what to do. What the policy alone decides is decided; the
    rest waits for `rrpolicy plan`.
    """
    day, wanted = None if today is None else today.date(), chosen(output, also, json=json)
    return check_all(policies, wanted, extends=extends, root=root, today=day, waivers=not no_waivers)
