"""`rrpolicy estimate BUNDLE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

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
    Where,
    inference_target,
    open_for_analysis,
    print_result,
    run_question,
    split_names,
)
from rrpolicy.cli.text.terminal_layout import wrap_for_stream
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Released columns to group by, with commas between, names as they are: 'my column,sex'; repeat it for "
            "a name with a comma."
        ),
    ] = None,
    where: Where = None,
    level: Level = LEVEL,
    estimator: Annotated[
        str,
        typer.Option(help="Of the point estimates: moment (unbiased), em, projection, or one that a plugin brings."),
    ] = "moment",
    plugin: Plugins = None,
    design: Designed = None,
    since: Annotated[
        Path | None,
        typer.Option(help="Estimate how the counts changed since this earlier release.", metavar="BUNDLE"),
    ] = None,
    unchanged: Annotated[
        float | None,
        typer.Option(
            help="With --since, of a series: at least this share of the earlier release's people have the same values "
            "of the columns asked for; makes standard errors as small as they are."
        ),
    ] = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    bootstrap: Draws = None,
    seed: Seed = 0,
    *,
    population: Population = False,
    pairwise: Paired = False,
    spread: Annotated[
        bool,
        typer.Option(
            "--spread",
            help="Count generalised columns by the categories inside their labels: spread evenly, with certain bounds.",
        ),
    ] = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Estimate counts, with standard errors and intervals, from a release.

    Counts are unbiased and those of the original table; with --population, those of the population it was drawn from,
    scaled to the number of records. Estimates can be negative; intervals are truncated to [0, N]. Generalised columns
    are counted by the labels that were released, which is exact.
    """
    release = open_for_analysis(bundle, plugin, design, no_verify=no_verify)
    target = inference_target(population=population)
    chosen = split_names(by, release)
    if since is not None:
        if population or spread or pairwise or estimator != "moment" or bootstrap is not None:
            options = "--population, --spread, --pairwise, --estimator, --bootstrap"
            message = f"--since compares unbiased counts of two tables: it goes with no {options}"
            raise PolicyError(Problem("RR250", message))
        earlier = open_for_analysis(since, plugin, ["none"], no_verify=no_verify)
        print_result(release.change_since(earlier, chosen, where, level, unchanged=unchanged), form, plot, json=json)
        return 0
    if unchanged is not None:
        raise PolicyError(Problem("RR250", "--unchanged says how an earlier release compares: it goes with --since"))
    table = run_question(
        release,
        lambda r: r.crosstab(chosen, where, target, level, estimator=estimator, spread=spread),
        bootstrap,
        seed,
        pairwise=pairwise,
    )
    if print_result(table, form, plot, json=json) is ResultFormat.TABLE:
        other = "this table: leave out --population" if target == "population" else "the population: add --population"
        known = len(table.spoken.targets) > 1 and not table.biased
        beside = [f"\nfor {other}; as data: --format csv or --json" if known else _AS_DATA]
        if release.design is not None:
            beside = [_UNWEIGHTED]
        if not spread and any(release.columns.name(name) in release.columns.spread for name in chosen):
            beside.append("for the categories inside the released labels, with bounds that are certain: add --spread")
        print(wrap_for_stream("\n".join(beside), sys.stdout))
    return 0


_UNWEIGHTED = "\nfor this table, every record alike: --design none; as data: --format csv or --json"
_AS_DATA = "\nas data: --format csv or --json"
