"""`rrpolicy query BUNDLE SQL`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.releases.estimate import NO_VERIFY, PLUGIN, Format, opened, show


def command(
    bundle: Annotated[Path, typer.Argument(help="A bundle, or its public/ folder alone.", metavar="BUNDLE")],
    sql: Annotated[
        str, typer.Argument(help="SELECT columns, aggregates FROM release WHERE … GROUP BY …", metavar="SQL")
    ],
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    plugin: Annotated[list[str] | None, typer.Option(help=PLUGIN, metavar="DISTRIBUTION")] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print the result.")] = Format.TABLE,
    *,
    population: Annotated[
        bool, typer.Option("--population", help="Intervals for the population that the table is a sample of.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)] = False,
) -> int:
    """Ask a release in SQL: counts, shares, sums and averages come corrected, with standard errors and intervals.

    SELECT sex, count(*) AS n, share() AS s, avg(hours) AS h FROM release WHERE age_group IN ('65+')
    GROUP BY ROLLUP (sex) ORDER BY n DESC. A share of another group: count(*) FILTER (WHERE disease = 'asthma') /
    count(*), or count(*) / sum(count(*)) OVER (PARTITION BY sex).

    What cannot be corrected (joins, DISTINCT, HAVING on counts, MIN and MAX, subqueries, other windows) is refused with
    the reason. The SQL is parsed and never executed.
    """
    found = opened(bundle, plugin or (), verify=not no_verify).query(
        sql, "population" if population else "table", level
    )
    show(found, Format.JSON if json else form)
    return 0
