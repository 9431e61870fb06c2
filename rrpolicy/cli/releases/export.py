"""`rrpolicy export BUNDLE --for PROGRAM`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.text.notices import NO_VERIFY, UNVERIFIED
from rrpolicy.escaping.printable import line, visible_lines
from rrpolicy.exports.programs.program_export import PROGRAMS


def command(
    bundle: Annotated[Path, typer.Argument(help="A bundle, or its public/ folder alone.", metavar="BUNDLE")],
    program: Annotated[str, typer.Option("--for", help=f"Which: {', '.join(PROGRAMS)}.", metavar="PROGRAM")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file that is not there yet; default: standard output.")
    ] = None,
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", help="A distribution to load for the format of the data; repeat it for several."),
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)] = False,
) -> int:
    """Write the file by which another program reads a release."""
    if no_verify:
        print(UNVERIFIED, file=sys.stderr)
    text = api.export(bundle, program, out=out, verify=not no_verify, plugins=plugins or ())
    if out is None:
        print(visible_lines(text) if sys.stdout.isatty() else text, end="")
    else:
        print(line(f"wrote {out}"), file=sys.stderr)
    return 0
