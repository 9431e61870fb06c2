"""`rrpolicy association BUNDLE ROW COLUMN`."""

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
    Plot,
    Plugins,
    Population,
    ResultFormat,
    Seed,
    Where,
    inference_target,
    open_for_analysis,
    parse_categories,
    print_result,
    run_question,
)
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL

if TYPE_CHECKING:
    from rrpolicy.estimate.association.association import Association
    from rrpolicy.estimate.release import Release


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    row: Annotated[str, typer.Argument(help="The column in the rows.", metavar="ROW")],
    column: Annotated[str, typer.Argument(help="The column in the columns.", metavar="COLUMN")],
    measure: Annotated[
        list[str] | None, typer.Option(help="A measure, such as odds_ratio or cramers_v; repeat it for several.")
    ] = None,
    where: Where = None,
    row_present: Annotated[
        list[str] | None,
        typer.Option(
            help="A category of ROW that counts as present, for a table of two by two; repeat it for several."
        ),
    ] = None,
    column_present: Annotated[list[str] | None, typer.Option(help="Likewise of COLUMN.")] = None,
    level: Level = LEVEL,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = ResultFormat.TABLE,
    plot: Plot = None,
    bootstrap: Draws = None,
    seed: Seed = 0,
    *,
    population: Population = False,
    spread: Annotated[
        bool, typer.Option("--spread", help="Describe counts that are spread inside generalised or dealt groups.")
    ] = False,
    deflate: Annotated[
        bool,
        typer.Option("--deflate", help="Take out the association that errors of randomised values alone put in."),
    ] = False,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Estimate how strongly two columns go together: measures of their corrected table, with intervals.

    Intervals are those of score tests; a measure that a cell of the table leaves undefined says so. Without --measure
    all that are defined for the table are estimated. Some have a direction: tau, u and confidence say what ROW tells of
    COLUMN, m and risk_difference what COLUMN tells of ROW. The text says of each which it is.
    """
    release = open_for_analysis(bundle, plugin, design, no_verify=no_verify)
    if (row_present is None) != (column_present is None):
        raise PolicyError(Problem("RR250", "what is present is said of both columns: --row-present, --column-present"))
    present = None
    if row_present is not None and column_present is not None:
        present = (parse_categories(release, row, row_present), parse_categories(release, column, column_present))
    target = inference_target(population=population)

    def question(of: Release) -> Association:
        return of.association(
            row, column, measure, where, present=present, target=target, level=level, spread=spread, deflate=deflate
        )

    found = run_question(release, question, bootstrap, seed)
    print_result(found, form, plot, json=json)
    return 0
