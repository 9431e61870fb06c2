"""`rrpolicy ledger add FILE BUNDLE`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.escaping.printable import line


class PeopleOverlap(StrEnum):
    """How the people of a release stand to those of earlier ones."""

    ANY = "any"
    NESTED = "nested"
    SAME = "same"
    NONE = "none"


def command(  # noqa: PLR0917 each option is one
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
