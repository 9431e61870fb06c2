"""`rrpolicy rules BUNDLE`."""

from __future__ import annotations

from typing import Annotated

import typer

from rrpolicy.cli.analysis.result import (
    AsJson,
    Bundle,
    Designed,
    Form,
    Format,
    Level,
    NoVerify,
    Plot,
    Plugins,
    Population,
    Where,
    names,
    opened,
    show,
    target_of,
)


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    min_support: Annotated[float, typer.Option(help="Least share of records with all categories of a rule.")],
    min_confidence: Annotated[
        float, typer.Option(help="Least share with the category that follows among those with the others.")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to combine, with commas between; default: every column with categories."),
    ] = None,
    where: Where = None,
    longest: Annotated[int, typer.Option(help="Most columns in a rule.")] = 3,
    present: Annotated[
        list[str] | None,
        typer.Option(
            help="A category that counts as present, such as yes: no other of its columns is in a rule; repeat it."
        ),
    ] = None,
    level: Level = 0.95,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = Format.TABLE,
    plot: Plot = None,
    *,
    population: Population = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Estimate association rules: categories of some columns, and a category of another that follows.

    Supports and confidences are corrected, with intervals; a rule is sure if both lower ends reach the thresholds as
    well. Rules are listed because their estimates are large, which tends to be too large: an interval holds for a rule
    that was named beforehand.
    """
    release = opened(bundle, plugin, design, no_verify=no_verify)
    found = release.rules(
        min_support,
        min_confidence,
        names(columns, release) if columns else None,
        where,
        longest=longest,
        present=present,
        target=target_of(population=population),
        level=level,
    )
    show(found, form, plot, json=json)
    return 0
