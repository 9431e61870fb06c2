"""`rrpolicy glm BUNDLE FORMULA`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

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
    parse_categories,
    print_result,
)
from rrpolicy.estimate import LEVEL


class OutcomeFamily(StrEnum):
    """What the outcome is."""

    GAUSSIAN = "gaussian"
    BINOMIAL = "binomial"
    POISSON = "poisson"
    MULTINOMIAL = "multinomial"


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    formula: Annotated[
        str,
        typer.Argument(
            help="Outcome and terms, such as 'ill ~ sex + C(region)'; names that are not plain words in backticks.",
            metavar="FORMULA",
        ),
    ],
    family: Annotated[OutcomeFamily, typer.Option(help="What the outcome is.")] = OutcomeFamily.GAUSSIAN,
    success: Annotated[
        list[str] | None,
        typer.Option(help="A category of a binomial outcome that counts as yes; repeat it for several."),
    ] = None,
    where: Where = None,
    level: Level = LEVEL,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    *,
    population: Population = False,
    margins: Annotated[
        bool, typer.Option("--margins", help="Print average marginal effects in place of coefficients.")
    ] = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Fit a regression model to the original table, by corrected scores: outcome and covariates may be randomised.

    Standard errors as a fit to the original table has them need --population. Terms are expressions that run as you.
    """
    release = open_for_analysis(bundle, plugin, design, no_verify=no_verify)
    yes = None if success is None else parse_categories(release, formula.partition("~")[0].strip(" `"), success)
    found = release.glm(
        formula, family.value, where, success=yes, target=inference_target(population=population), level=level
    )
    print_result(found.margins() if margins else found, form, plot, json=json)
    return 0
