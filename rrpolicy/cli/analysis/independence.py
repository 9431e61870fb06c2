"""`rrpolicy independence BUNDLE ROW COLUMN`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rrpolicy.cli.analysis.common_options import (
    AsJson,
    Bundle,
    Designed,
    Form,
    NoVerify,
    Plugins,
    ResultFormat,
    Where,
    open_for_analysis,
    print_result,
)


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    row: Annotated[str, typer.Argument(help="A column.", metavar="ROW")],
    column: Annotated[str, typer.Argument(help="Another column.", metavar="COLUMN")],
    where: Where = None,
    method: Annotated[
        Literal["released", "score", "wald", "rao-scott"] | None,
        typer.Option(
            help="Pearson's test on the released table, a score test or Wald's on the corrected one, or Rao and "
            "Scott's, which knows a design; default: the last where a design is known, else the first that is valid."
        ),
    ] = None,
    plugin: Plugins = None,
    design: Designed = None,
    form: Form = ResultFormat.TABLE,
    *,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Test whether two columns are independent in the population that the table is a sample of.

    Estimates are of the table by default, where independence holds or does not; a test is always of the population.

    The released table is tested as it is: the level of the test holds, and its power is lower. Where a design is known
    the weighted and corrected table is, by the design's errors. A test is no estimate:
    how strongly two columns go together is what `rrpolicy association` estimates and draws.
    """
    found = open_for_analysis(bundle, plugin, design, no_verify=no_verify).independence(row, column, where, method)
    print_result(found, form, json=json)
    return 0
