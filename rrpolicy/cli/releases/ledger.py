"""`rrpolicy ledger`: releases of the same people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.options import PrintJson, with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import line, lines
from rrpolicy.verb_options import (
    AddToLedgerOptions,
    InitLedgerOptions,
    InventoryOptions,
    ShowLedgerOptions,
    VerifyLedgerOptions,
)


@with_options
def init(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file, such as releases.jsonl.", metavar="FILE")],
    **options: Unpack[InitLedgerOptions],
) -> None:
    """Begin a ledger, in which releases of the same people are held against one budget.

    Keep the file in the repository beside the policies: it holds nothing that release.json does not publish.
    """
    head = api.init_ledger(ledger, **options)
    print(line(f"wrote {ledger}; its head is {head}"))
    print(line(f'next: name it in the policy, relative to that: [ledger] file = "{ledger.name}"'))


@with_options
def add(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file.", metavar="FILE")],
    bundle: Annotated[
        Path | None, typer.Argument(help="A release from before there was a ledger.", metavar="BUNDLE")
    ] = None,
    **options: Unpack[AddToLedgerOptions],
) -> None:
    """Enter a release that was made without the ledger; or what became of one, a budget, a recall; or join histories.

    A budget ends what earlier releases of its population promised together; a recalled release counts as before. Of a
    release that stands in the ledger it is noted that its bundle appeared.
    """
    entry = api.add_to_ledger(ledger, bundle, **options)
    print(line(f"{ledger}: {entry}"))


@with_options
def show(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file.", metavar="FILE")],
    *,
    json: PrintJson = False,
    **options: Unpack[ShowLedgerOptions],
) -> None:
    """Show what was released of which people, and what it comes to together.

    Epsilon is that of record scope: of a release by itself, and together with all earlier ones that may speak of the
    same people.
    """
    found = api.show_ledger(ledger, **options)
    if json:
        print_json(found.to_json())
        return
    for told in found.lines():
        print(lines(told))


@with_options
def verify(
    ledger: Annotated[Path, typer.Argument(help="The ledger's file.", metavar="FILE")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON on standard output.")] = False,
    **options: Unpack[VerifyLedgerOptions],
) -> int:
    """Check that no entry was changed, taken out, moved or cut off, and that its releases keep what they promised.

    What was cut off at the end shows only against something that knew it: name the last release, or a head that was
    seen before, or a git revision.
    """
    found = api.verify_ledger(ledger, **options)
    if json:
        print_json(found.to_json())
        return 0
    for told in found.lines():
        print(lines(told))
    return 0


@with_options
def inventory(
    policies: Annotated[list[Path], typer.Argument(help="Policies, or folders of policies.", metavar="POLICIES")],
    *,
    json: PrintJson = False,
    **options: Unpack[InventoryOptions],
) -> int:
    """List every release that the policies and their ledgers know, and what has to be decided.

    Of each: purpose, recipients, grade, risks without the release and with it, the review date, waivers that end within
    sixty days, who verified, attacked, signed and approved it, and whether it was replaced or recalled. The exit status
    is 1 if anything has to be decided: a recalled release still at hand, a broken promise, a review that is due.
    """
    from rrpolicy.compliance.inventory import inventory_lines

    found, out = api.inventory(policies, **options), options.get("out")
    if json:
        print_json(found.to_json())
    elif out is None:
        for told in inventory_lines(found):
            print(line(told))
    if out is not None:
        print(line(f"wrote {out}: {len(found.decisions)} to decide"), file=sys.stderr)
    return 1 if found.decisions else 0
