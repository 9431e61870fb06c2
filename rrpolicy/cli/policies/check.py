"""`rrpolicy check POLICY…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, NoWaivers, OutputForm, Root, Today
from rrpolicy.cli.quick_check import check_all
from rrpolicy.cli.text.output import output_request

SOURCE = "Hold this table against the policy as well; without a value, behind the policies, the policy's own."


def command(
    policies: Annotated[list[str], typer.Argument(help="Policies, or folders of policies.", metavar="POLICY…")],
    extends: Annotated[
        str | None, typer.Option(help="A baseline: refuse a policy that does not extend it.", metavar="FILE")
    ] = None,
    source: Annotated[str | None, typer.Option(help=SOURCE, metavar="[TABLE]")] = None,
    root: Root = None,
    today: Today = None,
    *,
    no_waivers: NoWaivers = False,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
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
