"""`rrpolicy export BUNDLE --for PROGRAM`, and other files for other programs and later years."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.options import After, with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.notices import UNVERIFIED
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import command_line, line, visible_lines
from rrpolicy.exports.programs.program_export import PROGRAMS
from rrpolicy.verb_options import ArchiveOptions, ExportOptions, RunTestsOptions, SqlOptions, to_path


@with_options
def command(
    bundle: Annotated[Path, typer.Argument(help="A bundle, or its public/ folder alone.", metavar="BUNDLE")],
    program: Annotated[str, typer.Option("--for", help=f"Which: {', '.join(PROGRAMS)}.", metavar="PROGRAM")],
    **options: Unpack[ExportOptions],
) -> int:
    """Write the file by which another program reads a release."""
    out = options.get("out")
    if not options["verify"]:
        print(UNVERIFIED, file=sys.stderr)
    text = api.export(bundle, program, **options)
    if out is None:
        print(visible_lines(text) if sys.stdout.isatty() else text, end="")
    else:
        print(line(f"wrote {out}"), file=sys.stderr)
    return 0


@with_options
def archive(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, with public/ and audit/.", metavar="BUNDLE")],
    out: Annotated[Path, typer.Option("--out", help="The zip file, which is not there yet.", metavar="FILE")],
    **options: Unpack[ArchiveOptions],
) -> int:
    """Keep what verifies a release in five years in one file, without its rows.

    It holds the policy with its baselines, the plan, the findings, the signatures, the ledger, the digests of the data
    files, and the version of everything that is installed. audit/ is in it: it is as confidential as that.
    """
    made = api.archive(bundle, out, **options)
    files, packages = made["files"], made["environment"]
    assert isinstance(files, dict)
    assert isinstance(packages, dict)
    print(line(f"wrote {out}: {len(files)} files, no rows"))
    print(f"next: {command_line('verify', out)}")
    return 0


@with_options
def schema(
    plugins: Annotated[
        list[str] | None, typer.Option("--plugin", help="A distribution to load as well, such as acme-oue>=1.2.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="Load the plugins that this policy lists.", metavar="POLICY")
    ] = None,
    **options: Unpack[RunTestsOptions],
) -> None:
    """Print the JSON Schema of policy files, for editors.

    Save it beside your policies and begin each with `#:schema ./policy.schema.json`; editors with TOML support then
    complete keys and options and mark mistakes.
    """
    from rrpolicy.discovery import load_registry
    from rrpolicy.policy.schema import json_schema

    if policy is not None:
        from rrpolicy.planning.policy_opening import open_policy

        catalogue = open_policy(policy, root=to_path(options.get("root"))).registry.catalogue
    else:
        catalogue = load_registry(plugins or ()).catalogue
    print_json(json_schema(catalogue))


@with_options
def sql(
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
    statement: Annotated[
        Literal["counts", "units", "expansion"],
        After("table"),
        typer.Option(
            help="What it does: count the records; test how many each person has; or make records of a table of "
            "released rows with counts again."
        ),
    ] = "counts",
    **options: Unpack[SqlOptions],
) -> None:
    """Print the statement by which a warehouse recodes and counts a table, so that only counts leave it.

    Run it there, and save what it returns as Parquet or CSV: `--source counts:n:FILE` of every command reads it, and
    gives the release that the records give. A value outside of its domain is refused then, as it is of records. Of
    `units`, the last two numbers must be 0.
    """
    made = api.sql(policy, dialect, **options)
    text = {"counts": made.counts, "units": made.units, "expansion": made.expansion}[statement]
    if text is None:
        message = f"{policy} declares no `unit`, the column that identifies people"
        raise PolicyError(Problem("RR592", message, expected="one identifier, or `unit` under [source]"))
    print(text)
