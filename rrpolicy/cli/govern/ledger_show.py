"""`rrpolicy ledger show FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import lines


def command(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file.", metavar="FILE")],
    plugin: Annotated[
        list[str] | None, typer.Option(help="A distribution to load, such as acme-oue>=1.2. Again for each.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON on standard output.")] = False,
) -> None:
    """Show what was released of which people, and what it comes to together.

    Epsilon is that of record scope: of a release by itself, and together with all earlier ones that may speak of the
    same people.
    """
    found = api.show_ledger(ledger, plugins=plugin or ())
    if json:
        print_json(found.to_json())
        return
    for line in found.lines():
        print(lines(line))
