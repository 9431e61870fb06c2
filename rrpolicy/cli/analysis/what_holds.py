"""`rrpolicy what-holds TABLE ROW COLUMN`, and of a release `rrpolicy what-holds BUNDLE`."""

from __future__ import annotations

from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.analysis.common_options import (
    AsJson,
    Form,
    NoVerify,
    ResultFormat,
    print_result,
)
from rrpolicy.errors import PolicyError, Problem

PLUGIN = "A distribution to load for a table that it opens, such as acme-sqlite>=0.3; repeat it for several."


def command(  # noqa: PLR0917 each option is one
    source: Annotated[
        str, typer.Argument(help="A bundle, or a table: a Parquet or CSV file, a database.", metavar="BUNDLE|TABLE")
    ],
    columns: Annotated[
        list[str] | None, typer.Argument(help="Of a table: the column in the rows, and the other.", metavar="COLUMNS")
    ] = None,
    randomised: Annotated[
        list[str] | None, typer.Option(help="A column that is randomised; default: both.", metavar="COLUMN")
    ] = None,
    doubly_stochastic: Annotated[
        list[str] | None,
        typer.Option(help="A column whose matrix has rows that add up to 1, as its columns do.", metavar="COLUMN"),
    ] = None,
    half: Annotated[
        list[str] | None,
        typer.Option(help="A column whose categories are kept with probability 1/2 or more.", metavar="COLUMN"),
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table or view inside a database.")] = None,
    form: Form = ResultFormat.TABLE,
    *,
    plugins: Annotated[list[str] | None, typer.Option("--plugin", help=PLUGIN)] = None,
    json: AsJson = False,
    no_verify: NoVerify = False,
) -> int:
    """Say which analyses hold on randomised data as they are: tests that keep their level, measures that never grow.

    Of a release, all columns are spoken of, as far as it says how they were randomised. Of any other table, two columns
    are named, with what is known of their matrices: declare it only if the table's publisher says so.
    """
    if columns:
        found = api.what_holds(
            source,
            columns,
            randomised=randomised,
            doubly_stochastic=doubly_stochastic or (),
            half=half or (),
            table=table,
            plugins=plugins or (),
        )
    elif randomised or doubly_stochastic or half or table:
        message = "what is declared of a table goes with two of its columns"
        raise PolicyError(Problem("RR505", message, expected="what-holds TABLE ROW COLUMN"))
    else:
        found = api.open_release(source, verify=not no_verify, plugins=plugins or ()).what_holds()
    print_result(found, form, json=json)
    return 0
