"""`rrpolicy inventory POLICIES`."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.quick_check import TODAY
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import line


def command(
    policies: Annotated[list[Path], typer.Argument(help="Policies, or folders of policies.", metavar="POLICIES")],
    bundles: Annotated[
        list[Path] | None, typer.Option(help="A folder in which bundles lie. Again for each.", metavar="DIR")
    ] = None,
    today: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help=TODAY)] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write it as a page here. Confidential.")] = None,
    plugin: Annotated[
        list[str] | None, typer.Option(help="A distribution to load, such as acme-oue>=1.2. Again for each.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON on standard output.")] = False,
) -> int:
    """List every release that the policies and their ledgers know, and what has to be decided.

    Of each: purpose, recipients, grade, risks without the release and with it, the review date, waivers that end within
    sixty days, who verified, attacked, signed and approved it, and whether it was replaced or recalled. The exit status
    is 1 if anything has to be decided: a recalled release still at hand, a broken promise, a review that is due.
    """
    from rrpolicy.compliance.inventory import inventory_lines

    day = None if today is None else today.date()
    found = api.inventory(policies, bundles=bundles or (), today=day, out=out, plugins=plugin or ())
    if json:
        print_json(found.to_json())
    elif out is None:
        for told in inventory_lines(found):
            print(line(told))
    if out is not None:
        print(line(f"wrote {out}: {len(found.decisions)} to decide"), file=sys.stderr)
    return 1 if found.decisions else 0
