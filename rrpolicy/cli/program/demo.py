"""`rrpolicy demo DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.escaping.printable import command_line


def command(
    folder: Annotated[Path, typer.Argument(help="Where to write; made if missing.", metavar="DIR")],
    records: Annotated[int, typer.Option(min=1, max=100_000_000, help="People in the table.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other people of the same kind.")] = 20_260_101,
) -> None:
    """Write the demo table and a policy for it.

    The table is made up: 50,000 people with an identifier, sex, age, education, region, occupation, disease, income
    band and weekly hours of sport. Nothing is overwritten.
    """
    from rrpolicy.drafting.demo.source import write_demo
    from rrpolicy.escaping.printable import line

    written = write_demo(folder, records, seed)
    for path in written:
        print(f"wrote {line(str(path))}")
    print(f"next: {command_line('check', written[1])}")
