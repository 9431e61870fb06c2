"""`rrpolicy check POLICY…`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.quick_check import NO_WAIVERS, ROOT, TODAY, check_all
from rrpolicy.cli.text.output import (
    ALSO,
    ALSO_HELP,
    FLAG,
    HELP,
    JSON_HELP,
    Output,
    output_request,
)

SOURCE = "Hold this table against the policy as well; without a value, behind the policies, the policy's own."


def command(
    policies: Annotated[list[str], typer.Argument(help="Policies, or folders of policies.", metavar="POLICY…")],
    extends: Annotated[
        str | None, typer.Option(help="A baseline: refuse a policy that does not extend it.", metavar="FILE")
    ] = None,
    source: Annotated[str | None, typer.Option(help=SOURCE, metavar="[TABLE]")] = None,
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
    rest waits for `rrpolicy plan`. With --source the table is held against the policy, too: are its columns, types and
    values as the policy says?
    """
    day, wanted = None if today is None else today.date(), output_request(output, also, json=json)
    return check_all(policies, wanted, extends=extends, source=source, root=root, today=day, waivers=not no_waivers)


def spelled(arguments: Sequence[str]) -> list[str]:
    """Return the call with a `--source` that no table follows spelled out: as the policies' own."""
    followed = [*arguments, "-"][1:]
    bare = [a == "--source" and b.startswith("-") for a, b in zip(arguments, followed, strict=True)]
    return ["--source=" if alone else word for word, alone in zip(arguments, bare, strict=True)]
