"""The common options of commands on a release: how it is opened, and how a result is printed."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias, cast, runtime_checkable

import typer

from rrpolicy.canonical_json import category_text
from rrpolicy.cli.options import with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.notices import UNVERIFIED
from rrpolicy.cli.text.terminal_layout import wrap_for_stream
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import lines, visible_lines
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.verb_options import FORMAT_PLUGIN, NO_VERIFY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rrpolicy.canonical_json import Json, Value
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.survey.design import Alone
    from rrpolicy.plotting.svg import Figure


class ResultFormat(StrEnum):
    """The format of a printed result."""

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
Form: TypeAlias = Annotated[ResultFormat, typer.Option("--format", help="How to print the result.")]
SameJson: TypeAlias = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
NoVerify: TypeAlias = Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)]


def _common_options(  # noqa: PLR0917 each option is one
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = LEVEL,
    plugin: Annotated[list[str] | None, typer.Option("--plugin", help=FORMAT_PLUGIN, metavar="DISTRIBUTION")] = None,
    design: Annotated[
        list[str] | None,
        typer.Option(
            "--design",
            help="Of the survey, beyond what the release states; repeat it: weight=COLUMN, stratum=COLUMN, "
            "cluster=COLUMN, totals=FILE (CSV with column, category, total: known numbers of people), alone=centred. "
            "none: estimate this table, without the design that the release states.",
            metavar="PART=COLUMN",
        ),
    ] = None,
    form: Form = ResultFormat.TABLE,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the result, too, as SVG, into a file that is not there yet.",
            metavar="FILE.svg",
            callback=_check_plot_suffix,
        ),
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            "--bootstrap",
            help="Errors and intervals from so many releases that are drawn again from the likeliest table.",
            metavar="DRAWS",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of --bootstrap: the same seed gives the same intervals.")] = 0,
    *,
    population: Annotated[
        bool, typer.Option("--population", help="Intervals for the population that the table is a sample of.")
    ] = False,
    pairwise: Annotated[
        bool,
        typer.Option(
            "--pairwise",
            help="Compare every two rows: differences with tests adjusted for all pairs, and the largest row.",
        ),
    ] = False,
    json: SameJson = False,
    no_verify: NoVerify = False,
) -> None:
    """List the options of which each command of `estimate` has some, in the order of its help."""


_COMMON = inspect.signature(_common_options, eval_str=True).parameters


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


class Analysis:
    """A call of a command on a release: its common options, and their consequences."""

    def __init__(self, bundle: Path, options: Mapping[str, Any]) -> None:
        self.bundle, self.options = bundle, options

    @cached_property
    def release(self) -> Release:
        """Return the release, as a sample of the design that is stated."""
        release, design = self.open(self.bundle), self.options.get("design")
        return _with_design(release, design) if design else release

    def open(self, bundle: Path) -> Release:
        """Open a release; print a note if its digests are not checked."""
        from rrpolicy.api import open_release

        no_verify = self.options["no_verify"]
        if no_verify:
            print(UNVERIFIED, file=sys.stderr)
        return open_release(bundle, verify=not no_verify, plugins=self.options["plugin"] or ())

    @property
    def level(self) -> float:
        """Return the level of the intervals."""
        return float(self.options["level"])

    @property
    def target(self) -> Target | None:
        """Return the population of the intervals; None for that of the release's design."""
        return "population" if self.options["population"] else None

    def ask(self, question: Callable[[Release], Result]) -> Result:
        """Return an estimate; with the intervals of a bootstrap if its draws are given, or with all rows compared.

        Raises:
            PolicyError: RR250 for both; else as the question.
        """
        draws, pairwise = self.options["bootstrap"], self.options.get("pairwise")
        if pairwise and draws is not None:
            message = "--pairwise compares rows by errors that are known: it goes with no --bootstrap"
            raise PolicyError(Problem("RR250", message))
        if pairwise:
            return self.release.pairwise(question)
        return (
            question(self.release) if draws is None else self.release.bootstrap(question, draws, self.options["seed"])
        )

    def print(self, found: PrintableResult) -> ResultFormat:
        """Print a result; return in which format."""
        return print_result(found, self.options["form"], self.options.get("plot"), json=self.options["json"])


_ALWAYS = ("bundle", "plugin", "design", "form", "json", "no_verify")


def analysis(*names: str, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., int]]:
    """Make a command of a function of an `Analysis`: with a bundle, its own options, and common ones by name."""
    shared = [each for name, each in _COMMON.items() if name in {*names, *_ALWAYS} - {*without}]

    def decorated(command: Callable[..., None]) -> Callable[..., int]:
        first, *own = inspect.signature(command, eval_str=True).parameters.values()
        verb = [*inspect.signature(command).parameters.values()][-1]
        own = [verb if each.kind is each.VAR_KEYWORD else each for each in own]
        opened = [] if "bundle" in without else [first.replace(name="bundle", annotation=Bundle)]

        @functools.wraps(command)
        def run(**given: Any) -> int:
            bundle, common = given.pop("bundle", None), {each.name: given.pop(each.name) for each in shared}
            command(Analysis(bundle, common), **given)
            return 0

        vars(run)["__signature__"] = inspect.Signature([*opened, *own])
        return with_options(run, shared)

    return decorated


def _with_design(release: Release, parts: Sequence[str]) -> Release:
    """Return a release as a sample of a design (RR250 for an unknown part)."""
    of: dict[str, list[str]] = {"weight": [], "stratum": [], "cluster": [], "totals": [], "alone": []}
    for part in parts:
        name, _, value = part.partition("=")
        if part != "none" and not (name in of and value):
            expected = "weight=COLUMN, stratum=COLUMN, cluster=COLUMN, totals=FILE, alone=centred or none"
            raise PolicyError(Problem("RR250", f"--design {part!r} is not part of a design", expected=expected))
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
        message = f"{path} is not a file of known totals"
        expected = "a CSV file with the columns column, category and total"
        raise PolicyError(Problem("RR547", message, expected=expected)) from error
    return found


def split_names(given: Sequence[str] | None, release: Release) -> tuple[str, ...]:
    """Split names at commas; the whole name of a column is not split."""
    split = [[g] if g in release.columns.columns else [part.strip() for part in g.split(",")] for g in given or ()]
    return tuple(name for part in split for name in part if name)


def print_result(
    found: PrintableResult, form: ResultFormat, plot: Path | None = None, *, json: bool = False
) -> ResultFormat:
    """Print a result on standard output, drawn into a file as well; return its format.

    Data have every character, unless standard output is a terminal.

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
    """Return the categories that texts name; other text stays unchanged, and is refused later.

    A number may have another notation: 3 for 3.0.
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
