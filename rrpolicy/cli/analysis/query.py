"""`rrpolicy query BUNDLE SQL`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.cli.analysis.common_options import (
    AsJson,
    Bundle,
    Designed,
    Draws,
    Form,
    Level,
    NoVerify,
    Paired,
    Plot,
    Plugins,
    Population,
    ResultFormat,
    Seed,
    inference_target,
    open_for_analysis,
    print_result,
    run_question,
)
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.sums.category_values import Limits


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    sql: Annotated[
        str, typer.Argument(help="SELECT columns, aggregates FROM release WHERE … GROUP BY …", metavar="SQL")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="A small table of your own that the query joins, such as labels=labels.csv; repeat it for several.",
            metavar="NAME=FILE",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="The least and the largest value of a column in bins of which the first or last has no end, for avg "
            "and sum, such as income=0,250000 or income=,250000; repeat it for several.",
            metavar="COLUMN=LOW,HIGH",
        ),
    ] = None,
    level: Level = LEVEL,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    bootstrap: Draws = None,
    seed: Seed = 0,
    *,
    population: Population = False,
    pairwise: Paired = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Ask a release in SQL: counts, shares, sums and averages come corrected, with standard errors and intervals.

    SELECT sex, count(*) AS n, share() AS s, avg(hours) AS h FROM release WHERE age_group IN ('65+')
    GROUP BY ROLLUP (sex) ORDER BY n DESC. A share of another group: count(*) FILTER (WHERE disease = 'asthma') /
    count(*), or count(*) / sum(count(*)) OVER (PARTITION BY sex).

    HAVING chooses rows by estimates; MIN and MAX are of what was not randomised. Labels and regions of your own are
    joined: --table labels=labels.csv, and JOIN labels ON release.region = labels.code.

    What cannot be corrected (joins of records, DISTINCT, subqueries, other windows) is refused with the reason. The SQL
    is parsed and never executed.
    """
    tables = dict(map(_parse_table, table or ()))
    release = open_for_analysis(bundle, plugin, design, no_verify=no_verify)
    target = inference_target(population=population)
    stops = dict(map(_parse_limits, limits or ()))

    def question(asked_of: Release) -> Result:
        return asked_of.query(sql, target, level, tables=tables, limits=stops)

    found = run_question(release, question, bootstrap, seed, pairwise=pairwise)
    print_result(found, form, plot, json=json)
    return 0


def _parse_table(given: str) -> tuple[str, str]:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise PolicyError(Problem("RR250", f"--table {given!r} names no table with a file", expected="NAME=FILE"))
    return name, path


def _parse_limits(given: str) -> tuple[str, Limits]:
    name, equals, ends = given.rpartition("=")
    low, comma, high = ends.partition(",")
    try:
        found = tuple(float(end) if end.strip() else None for end in (low, high))
    except ValueError:
        found = ()
    if not (name and equals and comma and found):
        expected = "COLUMN=LOW,HIGH, one of which may be empty"
        raise PolicyError(Problem("RR250", f"--limits {given!r} names no column with its limits", expected=expected))
    return name, (found[0], found[1])
