"""`rrpolicy check POLICY…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Unpack

import typer

from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, with_options
from rrpolicy.cli.quick_check import check_all
from rrpolicy.cli.text.output import output_request
from rrpolicy.verb_options import CheckOptions


@with_options
def command(
    policies: Annotated[list[str], typer.Argument(help="Policies, or folders of policies.", metavar="POLICY…")],
    *,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[CheckOptions],
) -> int:
    """Check policies: no data needed, nothing written.

    Every problem of every file is told, with its place and what to do. What the policy alone decides is decided; the
    rest waits for `rrpolicy plan`. With --source the table is held against the policy, too: are its columns, types and
    values as the policy says?
    """
    if options.get("source") == "":
        options["source"] = True
    return check_all(policies, output_request(output, also, json=json), **options)


def spelled(arguments: Sequence[str]) -> list[str]:
    """Return the call with a `--source` that no table follows spelled out: as the policies' own."""
    followed = [*arguments, "-"][1:]
    bare = [a == "--source" and b.startswith("-") for a, b in zip(arguments, followed, strict=True)]
    return ["--source=" if alone else word for word, alone in zip(arguments, bare, strict=True)]
