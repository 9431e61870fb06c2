"""`rrpolicy ledger verify FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import lines


def command(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file.", metavar="FILE")],
    expect_head: Annotated[
        str | None,
        typer.Option(help="A head that was seen before; a ledger that lacks it was cut off.", metavar="HASH"),
    ] = None,
    bundle: Annotated[
        list[Path] | None,
        typer.Option(help="A release that must stand in it. Again for each further one.", metavar="DIR"),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="A git revision; the ledger must have every entry that it had there.", metavar="REVISION"),
    ] = None,
    plugin: Annotated[
        list[str] | None, typer.Option(help="A distribution to load, such as acme-oue>=1.2. Again for each.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON on standard output.")] = False,
) -> int:
    """Check that no entry was changed, taken out, moved or cut off, and that its releases keep what they promised.

    What was cut off at the end shows only against something that knew it: name the last release, or a head that was
    seen before, or a git revision.
    """
    found = api.verify_ledger(ledger, expect_head=expect_head, bundles=bundle or (), since=since, plugins=plugin or ())
    if json:
        print_json(found.to_json())
        return 0
    for line in found.lines():
        print(lines(line))
    return 0
