"""`rrpolicy query BUNDLE SQL`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.estimate import Format, show


def command(
    bundle: Annotated[Path, typer.Argument(help="A bundle, or its public/ folder alone.", metavar="BUNDLE")],
    sql: Annotated[str, typer.Argument(help="SELECT columns, count(*) FROM release WHERE … GROUP BY columns")],
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    form: Annotated[Format, typer.Option("--format", help="How to print the result.")] = Format.TABLE,
    *,
    population: Annotated[
        bool, typer.Option("--population", help="Intervals for the population that the table is a sample of.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Ask a release in SQL: counts by categories come corrected, with standard errors and intervals.

    What cannot be corrected (joins, DISTINCT, HAVING on counts, other aggregates) is refused with the reason. The SQL
    is parsed and never executed.
    """
    from rrpolicy.estimate.opening import open_release

    show(open_release(bundle).query(sql, "population" if population else "table", level), Format.JSON if json else form)
    return 0
