"""`rrpolicy estimate BUNDLE`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.screen import wrapped
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.untrusted.printable import visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result


NO_VERIFY = "Do not check the digests of release.json and of the files that are read."
PLUGIN = "A distribution to load for the format of the data, or for an estimator; repeat it for several."
UNVERIFIED = "not checked: whether release.json and the files that were read are those that were released"


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def command(  # noqa: PLR0917 each option is one
    bundle: Annotated[Path, typer.Argument(help="A bundle, or its public/ folder alone.", metavar="BUNDLE")],
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Released columns to group by, with commas between, names as they are: 'my column,sex'; repeat it for "
            "a name with a comma."
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="A condition, such as \"age_group = '65+' AND sex = 'F'\": text in single quotes; names that are not "
            "plain words in double quotes, '\"my column\" = 3'."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    estimator: Annotated[
        str,
        typer.Option(help="Of the point estimates: moment (unbiased), em, projection, or one that a plugin brings."),
    ] = "moment",
    plugin: Annotated[list[str] | None, typer.Option(help=PLUGIN, metavar="DISTRIBUTION")] = None,
    since: Annotated[
        Path | None,
        typer.Option(help="Estimate how the counts changed since this earlier release.", metavar="BUNDLE"),
    ] = None,
    unchanged: Annotated[
        float | None,
        typer.Option(
            help="With --since, of a series: at least this share of the earlier release's people have the same values "
            "of the columns asked for; makes standard errors as small as they are."
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print the result.")] = Format.TABLE,
    *,
    population: Annotated[
        bool, typer.Option("--population", help="Intervals for the population that the table is a sample of.")
    ] = False,
    spread: Annotated[
        bool,
        typer.Option(
            "--spread",
            help="Count generalised columns by the categories inside their labels: spread evenly, with certain bounds.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)] = False,
) -> int:
    """Estimate counts, with standard errors and intervals, from a release.

    Counts are unbiased and those of the original table; with --population, those of the population it was drawn from,
    scaled to the number of records. Estimates can be negative; intervals are truncated to [0, N]. Generalised columns
    are counted by the labels that were released, which is exact.
    """
    release = opened(bundle, plugin or (), verify=not no_verify)
    target = "population" if population else "table"
    chosen = names(by or (), release)
    if since is not None:
        if population or spread or estimator != "moment":
            message = (
                "--since compares unbiased counts of two tables: it goes with no --population, --spread, --estimator"
            )
            raise PolicyError(Problem("RR250", message))
        earlier = opened(since, plugin or (), verify=not no_verify)
        show(release.change_since(earlier, chosen, where, level, unchanged=unchanged), Format.JSON if json else form)
        return 0
    if unchanged is not None:
        raise PolicyError(Problem("RR250", "--unchanged says how an earlier release compares: it goes with --since"))
    table = release.crosstab(
        chosen, where, "population" if population else "table", level, estimator=estimator, spread=spread
    )
    form = Format.JSON if json else form
    show(table, form)
    if form is Format.TABLE:
        other = "this table: leave out --population" if target == "population" else "the population: add --population"
        beside = [f"\nfor {other}; as data: --format csv or --json" if release.max_records == 1 else _AS_DATA]
        if not spread and any(release.columns.name(name) in release.columns.spread for name in chosen):
            beside.append("for the categories inside the released labels, with bounds that are certain: add --spread")
        print(wrapped("\n".join(beside), sys.stdout))
    return 0


_AS_DATA = "\nas data: --format csv or --json"


def opened(bundle: Path, plugins: Sequence[str], *, verify: bool) -> Release:
    """Open a release; say so if its digests are not checked."""
    from rrpolicy.door import open_release

    if not verify:
        print(UNVERIFIED, file=sys.stderr)
    return open_release(bundle, verify=verify, plugins=plugins)


def names(given: Sequence[str], release: Release) -> tuple[str, ...]:
    """Split names at commas; what is a column's name as it stands is not split."""
    split = [[g] if g in release.columns.columns else [part.strip() for part in g.split(",")] for g in given]
    return tuple(name for part in split for name in part if name)


def show(found: Result, form: Format) -> None:
    """Print a result on standard output; data with every character, unless that is a terminal."""
    if form is Format.TABLE:
        print(wrapped(found.summary(), sys.stdout))
    elif form is Format.JSON:
        print_json(found.to_json())
    else:
        data = found.to_csv()
        print(visible_lines(data) if sys.stdout.isatty() else data, end="")
