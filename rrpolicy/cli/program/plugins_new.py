"""`rrpolicy plugins new NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.drafting.scaffold.generator import KINDS, write_scaffold
from rrpolicy.escaping.printable import line
from rrpolicy.escaping.shell import command_line, shell_quoted


def command(
    name: Annotated[str, typer.Argument(help="Of the distribution, such as acme-noise.", metavar="NAME")],
    kinds: Annotated[
        list[str], typer.Option("--kind", help=f"What it offers: {', '.join(KINDS)}. Again for each further one.")
    ],
    folder: Annotated[
        Path | None, typer.Option("--into", help="Where to write; by default a folder of that name.", metavar="DIR")
    ] = None,
) -> None:
    """Write the skeleton of a plugin, with tests that pass.

    It is a distribution of its own: what it offers is found by the entry point in its pyproject.toml, and loaded by
    policies that list it. Nothing is overwritten.
    """
    into = folder or Path(name)
    for path in write_scaffold(into, name, kinds):
        print(f"wrote {line(str(path))}")
    print(f"next: pip install -e {shell_quoted(str(into))} && pytest {shell_quoted(str(into))}")
    print(f"then: {command_line('plugins', options={'--plugin': name})}")
