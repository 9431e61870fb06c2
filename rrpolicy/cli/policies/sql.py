"""`rrpolicy sql POLICY --dialect DIALECT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rrpolicy import api
from rrpolicy.cli.quick_check import ROOT
from rrpolicy.errors import PolicyError, Problem


def command(
    policy: Annotated[Path, typer.Argument(help="The policy file.", metavar="POLICY")],
    dialect: Annotated[
        Literal[
            "duckdb",
            "postgres",
            "spark",
            "databricks",
            "bigquery",
            "snowflake",
            "redshift",
            "trino",
            "tsql",
            "mysql",
            "oracle",
            "sqlite",
        ],
        typer.Option(help="The engine's SQL."),
    ],
    table: Annotated[
        str | None,
        typer.Option(help="The table's name in the engine; default: as the policy calls it.", metavar="NAME"),
    ] = None,
    statement: Annotated[
        Literal["counts", "units", "expansion"],
        typer.Option(
            help="What it does: count the records; test how many each person has; or make records of a table of "
            "released rows with counts again."
        ),
    ] = "counts",
    *,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
) -> None:
    """Print the statement by which a warehouse recodes and counts a table, so that only counts leave it.

    Run it there, and save what it returns as Parquet or CSV: `--source counts:n:FILE` of every command reads it, and
    gives the release that the records give. A value outside of its domain is refused then, as it is of records. Of
    `units`, the last two numbers must be 0.
    """
    made = api.sql(policy, dialect, table=table, root=root)
    text = {"counts": made.counts, "units": made.units, "expansion": made.expansion}[statement]
    if text is None:
        message = f"{policy} names no `unit`, the column that identifies people"
        raise PolicyError(Problem("RR592", message, expected="one identifier, or `unit` under [source]"))
    print(text)
