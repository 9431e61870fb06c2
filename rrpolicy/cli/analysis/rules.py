"""`rrpolicy rules BUNDLE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.cli.analysis.common_options import (
    AsJson,
    Bundle,
    Designed,
    Form,
    Level,
    NoVerify,
    Plot,
    Plugins,
    Population,
    ResultFormat,
    Where,
    inference_target,
    open_for_analysis,
    print_result,
    split_names,
)
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL

if TYPE_CHECKING:
    from rrpolicy.estimate.results.result import Result


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    min_support: Annotated[
        float | None, typer.Option(help="Least share of records with all categories of a rule.")
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(help="Least share with the category that follows among those with the others.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="A rule that is asked for by name, in place of all that reach thresholds: 'sex = f, region = north -> "
            "disease = flu'; repeat it for several.",
            metavar="RULE",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to combine, with commas between; default: every column with categories."),
    ] = None,
    where: Where = None,
    longest: Annotated[int | None, typer.Option(help="Most columns in a rule; default: 3.")] = None,
    present: Annotated[
        list[str] | None,
        typer.Option(
            help="A category that counts as present, such as yes: no other of its columns is in a rule; repeat it."
        ),
    ] = None,
    level: Level = LEVEL,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    *,
    population: Population = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Estimate association rules: categories of some columns, and a category of another that follows.

    Supports and confidences are corrected, with intervals; a rule is sure if both lower ends reach the thresholds as
    well. Rules are listed because their estimates are large, which tends to be too large: an interval holds for a rule
    that was named beforehand, with --rule.
    """
    release = open_for_analysis(bundle, plugin, design, no_verify=no_verify)
    target = inference_target(population=population)
    found: Result
    if rule:
        if any(given is not None for given in (min_support, min_confidence, columns, longest, present)):
            searched = "--min-support, --min-confidence, --columns, --longest, --present"
            raise PolicyError(Problem("RR250", f"--rule names what is asked for: it goes with no {searched}"))
        found = release.rule(rule, where, target=target, level=level)
    elif min_support is None or min_confidence is None:
        expected = "--min-support and --min-confidence, or --rule"
        raise PolicyError(Problem("RR250", "which rules are asked for is not said", expected=expected))
    else:
        found = release.rules(
            min_support,
            min_confidence,
            split_names(columns, release) if columns else None,
            where,
            longest=3 if longest is None else longest,
            present=present,
            target=target,
            level=level,
        )
    print_result(found, form, plot, json=json)
    return 0
