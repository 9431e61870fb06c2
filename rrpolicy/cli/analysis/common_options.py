"""What the commands on a release's contents share: their options, how a release is opened, how a result is shown."""

from __future__ import annotations

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias, cast, runtime_checkable

import typer

from rrpolicy.canonical_json import category_text
from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.notices import UNVERIFIED
from rrpolicy.cli.text.terminal_layout import wrap_for_stream
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import lines, visible_lines
from rrpolicy.options import NO_VERIFY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rrpolicy.canonical_json import Json, Value
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.survey.design import Alone
    from rrpolicy.plotting.svg import Figure


class ResultFormat(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def _check_plot_suffix(plot: Path | None) -> Path | None:
    """Refuse a file of another format before anything is computed."""
    from rrpolicy.plotting.svg import svg_file

    return None if plot is None else svg_file(plot)


Bundle: TypeAlias = Annotated[Path, typer.Argument(help="A bundle, or its public/ folder alone.", metavar="BUNDLE")]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="A condition, such as \"age_group = '65+' AND sex = 'F'\": text in single quotes; names that are not "
        "plain words in double quotes, '\"my column\" = 3'."
    ),
]
Level: TypeAlias = Annotated[float, typer.Option(help="Level of the intervals.")]
Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        help="A distribution to load for the format of the data, or for an estimator; repeat it for several.",
        metavar="DISTRIBUTION",
    ),
]
Form: TypeAlias = Annotated[ResultFormat, typer.Option("--format", help="How to print the result.")]
Plot: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Draw the result, too, as SVG, into a file that is not there yet.",
        metavar="FILE.svg",
        callback=_check_plot_suffix,
    ),
]
Draws: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--bootstrap",
        help="Errors and intervals from so many releases that are drawn again from the likeliest table.",
        metavar="DRAWS",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Of --bootstrap: the same seed gives the same intervals.")]
Population: TypeAlias = Annotated[
    bool, typer.Option("--population", help="Intervals for the population that the table is a sample of.")
]
Paired: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--pairwise", help="Compare every two rows: differences with tests adjusted for all pairs, and the largest row."
    ),
]
Designed: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        help="Of the survey, beyond what the release states; repeat it: weight=COLUMN, stratum=COLUMN, cluster=COLUMN, "
        "totals=FILE (CSV with column, category, total: known numbers of people), alone=centred. none: estimate this "
        "table, without the design that the release states.",
        metavar="PART=COLUMN",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
NoVerify: TypeAlias = Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)]


class PrintableResult(Protocol):
    """A result that is printed."""

    def summary(self) -> str:
        """Return it as text."""
        ...

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain data."""
        ...

    def to_csv(self) -> str:
        """Return it as CSV."""
        ...


@runtime_checkable
class PlottableResult(Protocol):
    """A result that can be drawn."""

    def plot(self) -> Figure:
        """Return it as SVG."""
        ...


def open_for_analysis(
    bundle: Path, plugins: Sequence[str] | None, design: Sequence[str] | None = None, *, no_verify: bool
) -> Release:
    """Open a release, as a sample of the design that is stated; say so if its digests are not checked."""
    from rrpolicy.api import open_release

    if no_verify:
        print(UNVERIFIED, file=sys.stderr)
    release = open_release(bundle, verify=not no_verify, plugins=plugins or ())
    return release if not design else _with_design(release, design)


def _with_design(release: Release, parts: Sequence[str]) -> Release:
    """Return a release as a sample of a stated design (RR250 for a part that is none)."""
    of: dict[str, list[str]] = {"weight": [], "stratum": [], "cluster": [], "totals": [], "alone": []}
    for part in parts:
        name, _, value = part.partition("=")
        if part != "none" and not (name in of and value):
            expected = "weight=COLUMN, stratum=COLUMN, cluster=COLUMN, totals=FILE, alone=centred or none"
            raise PolicyError(Problem("RR250", f"--design {part!r} is no part of a design", expected=expected))
        if part != "none":
            of[name].append(value)
    if "none" in parts:
        release = release.without_design()
    if not any(of.values()):
        return release
    if max(len(of[name]) for name in ("weight", "totals", "alone")) > 1:
        raise PolicyError(Problem("RR250", "--design states one weight, one file of totals and one `alone`"))
    return release.with_design(
        weight=next(iter(of["weight"]), None),
        strata=of["stratum"],
        clusters=of["cluster"],
        totals=_read_totals(release, of["totals"][0]) if of["totals"] else None,
        alone=cast("Alone | None", next(iter(of["alone"]), None)),
    )


def _read_totals(release: Release, path: str) -> dict[str, dict[Value, float]]:
    """Read known numbers of people of the population (RR547)."""
    import csv

    found: dict[str, dict[Value, float]] = {}
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            (category,) = parse_categories(release, row["column"], [row["category"]])
            found.setdefault(row["column"], {})[category] = float(row["total"])
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError) as error:
        message = f"{path} is no file of known totals"
        expected = "a CSV file with the columns column, category and total"
        raise PolicyError(Problem("RR547", message, expected=expected)) from error
    return found


def inference_target(*, population: bool) -> Target | None:
    """Return what intervals speak of; None for what the release's design says."""
    return "population" if population else None


def split_names(given: Sequence[str] | None, release: Release) -> tuple[str, ...]:
    """Split names at commas; what is a column's name as it stands is not split."""
    split = [[g] if g in release.columns.columns else [part.strip() for part in g.split(",")] for g in given or ()]
    return tuple(name for part in split for name in part if name)


def run_question(
    release: Release, question: Callable[[Release], Result], draws: int | None, seed: int, *, pairwise: bool = False
) -> Result:
    """Ask a release a question, with the intervals of a bootstrap if its draws are given, or every two rows compared.

    Raises:
        PolicyError: RR250 for both; else as the question.
    """
    if pairwise and draws is not None:
        message = "--pairwise compares rows by errors that are known: it goes with no --bootstrap"
        raise PolicyError(Problem("RR250", message))
    if pairwise:
        return release.pairwise(question)
    return question(release) if draws is None else release.bootstrap(question, draws, seed)


def print_result(
    found: PrintableResult, form: ResultFormat, plot: Path | None = None, *, json: bool = False
) -> ResultFormat:
    """Print a result on standard output; data with every character, unless that is a terminal.

    Args:
        found: the result.
        form: how.
        plot: a file that it is drawn into as well.
        json: print it as JSON, whatever the form.

    Returns:
        How it was printed.

    Raises:
        RefusedError: RR407, RR408, RR411 if the plot cannot be written; nothing is printed then.
    """
    if plot is not None and isinstance(found, PlottableResult):
        from rrpolicy.safe_io.atomic_write import write_new

        write_new(plot.parent, {plot.name: found.plot().save})
    form = ResultFormat.JSON if json else form
    if form is ResultFormat.TABLE:
        print(wrap_for_stream(lines(found.summary()), sys.stdout))
    elif form is ResultFormat.JSON:
        print_json(found.to_dict())
    else:
        data = found.to_csv()
        print(visible_lines(data) if sys.stdout.isatty() else data, end="")
    return form


def parse_categories(release: Release, column: str, given: Sequence[str]) -> list[Value]:
    """Return the categories that are written so; text that none is written as stays as it is, and is refused.

    A number may be written in another way: 3 for 3.0.
    """
    domain = release.domain(column)
    written = {category_text(value): value for value in domain}
    numbers = {float(v): v for v in domain if isinstance(v, (int, float)) and not isinstance(v, bool)}
    return [written.get(text, numbers.get(_parse_number(text), text)) for text in given]


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
