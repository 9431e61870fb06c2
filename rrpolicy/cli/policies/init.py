"""`rrpolicy init TABLE` and `rrpolicy init packs [NAME]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.options import with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import line
from rrpolicy.serialization import plain
from rrpolicy.verb_options import InitOptions

NEXT = "next: edit the roles, fill in what the draft leaves open, then `rrpolicy check` the file that you wrote"


@with_options
def command(
    uri: Annotated[
        str, typer.Argument(help="A Parquet or CSV file, a glob, a DuckDB database, or demo:survey.", metavar="TABLE")
    ],
    **options: Unpack[InitOptions],
) -> None:
    """Draft a policy from a table, with guessed roles to be edited.

    The draft goes to standard output: rrpolicy init people.parquet > policy.toml. Every role in it is a guess, and its
    domains and bins are taken from the data: showing them to anybody discloses them. `rrpolicy check` refuses it until
    each line that says "fill in" is filled in.
    """
    from rrpolicy.cli.text.notices import progress
    from rrpolicy.escaping.printable import line

    with progress() as shown:
        options["progress"] = shown
        drafted = api.init(uri, **options)
    print(drafted.text, end="")
    for warning in drafted.warnings:
        print(f"warning: {line(warning)}", file=sys.stderr)
    print(NEXT, file=sys.stderr)


def packs(
    name: Annotated[str | None, typer.Argument(help="Of a pack; without one all are listed.", metavar="[NAME]")] = None,
    out: Annotated[Path | None, typer.Option(help="Write it into this folder, for policies to extend.")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print them as JSON on standard output.")] = False,
) -> None:
    """List the baselines that come with rrpolicy, each with its source; print one, or write it to be extended.

    A policy extends the copy in its own repository, so that it is read and reviewed there; nothing is ever overwritten.
    """
    written = None if out is None else api.write_pack(name or "", out)
    found = api.packs() if name is None else api.packs(name)
    if json:
        from rrpolicy.governance.packs.pack import PackList

        print_json(plain(PackList(tuple(found))))
    elif written is not None:
        folder = line(written.resolve().parent.name)
        print(f"wrote {line(str(written))}")
        print(f'next: in a policy next to {folder}/, under [policy]: extends = "{folder}/{written.name}"')
    elif name is not None:
        sys.stdout.write(found[0].text)
    else:
        for each in found:
            print(f"{each.name} {each.version}: {each.title}\n  requires: {each.asks}\n  {each.digest}")
            print("\n".join(f"  source: {source}" for source in each.sources))
