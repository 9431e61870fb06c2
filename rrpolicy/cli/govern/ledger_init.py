"""`rrpolicy ledger init FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.escaping.printable import line


def command(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file, such as releases.jsonl.", metavar="FILE")],
    budget: Annotated[
        list[Path] | None,
        typer.Option(
            help="A policy: all releases of its population keep its budget. Again for each population.",
            metavar="POLICY",
        ),
    ] = None,
) -> None:
    """Begin a ledger, in which releases of the same people are held against one budget.

    Keep the file in the repository beside the policies: it holds nothing that release.json does not publish.
    """
    head = api.init_ledger(ledger, budgets=budget or ())
    print(line(f"wrote {ledger}; its head is {head}"))
    print(line(f'next: name it in the policy, relative to that: [ledger] file = "{ledger.name}"'))
