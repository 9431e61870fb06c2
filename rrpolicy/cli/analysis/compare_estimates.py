"""`rrpolicy compare-estimates BUNDLE BUNDLE ... --query SQL`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.analysis.common_options import (
    AsJson,
    Form,
    Level,
    NoVerify,
    Plot,
    Plugins,
    Population,
    ResultFormat,
    inference_target,
    open_for_analysis,
    print_result,
)
from rrpolicy.estimate import LEVEL


class EstimandKind(StrEnum):
    """What is estimated of the answers."""

    DIFFERENCE = "difference"
    RATIO = "ratio"
    TREND = "trend"


def command(  # noqa: PLR0917 each option is one
    bundles: Annotated[
        list[Path], typer.Argument(help="Bundles, or their public/ folders, from the earliest on.", metavar="BUNDLE...")
    ],
    query: Annotated[str, typer.Option(help="What all of them are asked: as for `rrpolicy query`.", metavar="SQL")],
    kind: Annotated[
        EstimandKind, typer.Option(help="Differences from the first, ratios to it, or the slope over the releases.")
    ] = EstimandKind.DIFFERENCE,
    time: Annotated[
        list[float] | None,
        typer.Option(help="When each release was, for a trend; repeat it for each. Default 0, 1, 2 and so on."),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            help="The most people who are in two of the releases, 0 for separate samples; default: as many as can be. "
            "For --population."
        ),
    ] = None,
    level: Level = LEVEL,
    plugin: Plugins = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    *,
    population: Population = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Ask several releases in SQL, and estimate what became of the answers from the first one on.

    Draws of different releases are independent. Of the population, people who are in two of the samples make answers
    depend on each other: intervals allow for any dependence that --overlap leaves room for.
    """
    from rrpolicy.api import compare_estimates

    releases = [open_for_analysis(bundle, plugin, no_verify=no_verify) for bundle in bundles]
    target = inference_target(population=population)
    found = compare_estimates(
        releases, lambda r: r.query(query, target, level), kind=kind.value, times=time, overlap=overlap
    )
    print_result(found, form, plot, json=json)
    return 0
