"""`rrpolicy ledger`: releases of the same people."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.options import Today
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import line, lines


def init(
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


class PeopleOverlap(StrEnum):
    """How the people of a release stand to those of earlier ones."""

    ANY = "any"
    NESTED = "nested"
    SAME = "same"
    NONE = "none"


def add(  # noqa: PLR0917 each option is one
    ledger: Annotated[Path, typer.Argument(help="The ledger's file.", metavar="FILE")],
    bundle: Annotated[
        Path | None, typer.Argument(help="A release from before there was a ledger.", metavar="BUNDLE")
    ] = None,
    population: Annotated[str | None, typer.Option(help="The population that its records were drawn from.")] = None,
    overlap: Annotated[
        PeopleOverlap, typer.Option(help="How its people stand to those of earlier releases, as under [ledger].")
    ] = PeopleOverlap.ANY,
    withdraw: Annotated[
        str | None,
        typer.Option(help="The entry of a release whose bundle never appeared: it counts no more.", metavar="HASH"),
    ] = None,
    budget: Annotated[
        Path | None,
        typer.Option(help="A policy: from now on its budget holds for its population.", metavar="POLICY"),
    ] = None,
    recall: Annotated[
        str | None, typer.Option(help="The entry of a release that is not to be used any more.", metavar="HASH")
    ] = None,
    replaced_by: Annotated[
        str | None, typer.Option(help="With --recall: the entry of the release to use in its place.", metavar="HASH")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why; it stays in the ledger.")] = None,
    by: Annotated[str | None, typer.Option(help="Who decided a budget or a recall: a role, or a name.")] = None,
    plugin: Annotated[
        list[str] | None, typer.Option(help="A distribution to load, such as acme-oue>=1.2. Again for each.")
    ] = None,
    *,
    join: Annotated[
        bool, typer.Option("--join", help="Make two histories one, after a merge of two branches.")
    ] = False,
) -> None:
    """Enter a release that was made without the ledger; or what became of one, a budget, a recall; or join histories.

    A budget ends what earlier releases of its population promised together; a recalled release counts as before. Of a
    release that stands in the ledger it is noted that its bundle appeared.
    """
    entry = api.add_to_ledger(
        ledger,
        bundle,
        population=population,
        overlap=overlap.value,
        withdraw=withdraw,
        join=join,
        budget=budget,
        recall=recall,
        replaced_by=replaced_by,
        reason=reason,
        by=by,
        plugins=plugin or (),
    )
    print(line(f"{ledger}: {entry}"))


def show(
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
    for told in found.lines():
        print(lines(told))


def verify(
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
    for told in found.lines():
        print(lines(told))
    return 0


def inventory(
    policies: Annotated[list[Path], typer.Argument(help="Policies, or folders of policies.", metavar="POLICIES")],
    bundles: Annotated[
        list[Path] | None, typer.Option(help="A folder in which bundles lie. Again for each.", metavar="DIR")
    ] = None,
    today: Today = None,
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
