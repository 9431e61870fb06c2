"""`rrpolicy packs [NAME]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import line
from rrpolicy.serialization.writing import plain


def command(
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
        print_json({"schema": "rrpolicy.packs/1", "packs": plain(found)})
    elif written is not None:
        folder = line(written.resolve().parent.name)
        print(f"wrote {line(str(written))}")
        print(f'next: in a policy beside {folder}/, under [policy]: extends = "{folder}/{written.name}"')
    elif name is not None:
        sys.stdout.write(found[0].text)
    else:
        for each in found:
            print(f"{each.name} {each.version}: {each.title}\n  asks: {each.asks}\n  {each.digest}")
            print("\n".join(f"  source: {source}" for source in each.sources))
