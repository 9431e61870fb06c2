"""`rrpolicy query BUNDLE SQL`."""

from __future__ import annotations

from typing import Annotated

import typer

from rrpolicy.cli.analysis.result import (
    AsJson,
    Bundle,
    Form,
    Format,
    Level,
    NoVerify,
    Plot,
    Plugins,
    Population,
    opened,
    show,
    target_of,
)


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    sql: Annotated[
        str, typer.Argument(help="SELECT columns, aggregates FROM release WHERE … GROUP BY …", metavar="SQL")
    ],
    level: Level = 0.95,
    plugin: Plugins = None,
    form: Form = Format.TABLE,
    plot: Plot = None,
    *,
    population: Population = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Ask a release in SQL: counts, shares, sums and averages come corrected, with standard errors and intervals.

    SELECT sex, count(*) AS n, share() AS s, avg(hours) AS h FROM release WHERE age_group IN ('65+')
    GROUP BY ROLLUP (sex) ORDER BY n DESC. A share of another group: count(*) FILTER (WHERE disease = 'asthma') /
    count(*), or count(*) / sum(count(*)) OVER (PARTITION BY sex).

    What cannot be corrected (joins, DISTINCT, HAVING on counts, MIN and MAX, subqueries, other windows) is refused with
    the reason. The SQL is parsed and never executed.
    """
    found = opened(bundle, plugin, no_verify=no_verify).query(sql, target_of(population=population), level)
    show(found, form, plot, json=json)
    return 0
