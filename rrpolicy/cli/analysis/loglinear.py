"""`rrpolicy loglinear BUNDLE FORMULA`."""

from __future__ import annotations

from typing import Annotated

import typer

from rrpolicy.cli.analysis.common_options import (
    AsJson,
    Bundle,
    Designed,
    Form,
    NoVerify,
    Plot,
    Plugins,
    ResultFormat,
    Where,
    open_for_analysis,
    print_result,
)


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    formula: Annotated[
        str,
        typer.Argument(
            help="The terms, such as 'sex*education + disease'; names that are not plain words in backticks.",
            metavar="FORMULA",
        ),
    ],
    where: Where = None,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    *,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Fit a hierarchical loglinear model to the corrected table, test it, and say whether it survives randomisation.

    A model that survives is tested on the released table as it is; another by Wald where corrected
    counts allow it.
    """
    found = open_for_analysis(bundle, plugin, design, no_verify=no_verify).loglinear(formula, where)
    print_result(found, form, plot, json=json)
    return 0
