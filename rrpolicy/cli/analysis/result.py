"""What the commands on a release's contents share: their options, how a release is opened, how a result is shown."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias, runtime_checkable

import typer

from rrpolicy.canonical import category_text
from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.notices import NO_VERIFY, UNVERIFIED
from rrpolicy.cli.text.screen import wrapped
from rrpolicy.untrusted.printable import visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rrpolicy.canonical import Json, Value
    from rrpolicy.drawing.svg import Figure
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.results.target import Target


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


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
Form: TypeAlias = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option(help="Draw the result, too, as SVG, into a file that is not there yet.", metavar="FILE")
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
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
NoVerify: TypeAlias = Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)]


class Shown(Protocol):
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
class Drawable(Protocol):
    """A result that can be drawn."""

    def plot(self) -> Figure:
        """Return it as SVG."""
        ...


def opened(bundle: Path, plugins: Sequence[str] | None, *, no_verify: bool) -> Release:
    """Open a release; say so if its digests are not checked."""
    from rrpolicy.door import open_release

    if no_verify:
        print(UNVERIFIED, file=sys.stderr)
    return open_release(bundle, verify=not no_verify, plugins=plugins or ())


def target_of(*, population: bool) -> Target:
    """Return what intervals speak of."""
    return "population" if population else "table"


def names(given: Sequence[str] | None, release: Release) -> tuple[str, ...]:
    """Split names at commas; what is a column's name as it stands is not split."""
    split = [[g] if g in release.columns.columns else [part.strip() for part in g.split(",")] for g in given or ()]
    return tuple(name for part in split for name in part if name)


def asked(release: Release, question: Callable[[Release], Result], draws: int | None, seed: int) -> Result:
    """Ask a release a question, with the intervals of a bootstrap if its draws are given."""
    return question(release) if draws is None else release.bootstrap(question, draws, seed)


def show(found: Shown, form: Format, plot: Path | None = None, *, json: bool = False) -> Format:
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
    if plot is not None and isinstance(found, Drawable):
        from rrpolicy.newfiles import write_new

        write_new(plot.parent, {plot.name: found.plot().save})
    form = Format.JSON if json else form
    if form is Format.TABLE:
        print(wrapped(found.summary(), sys.stdout))
    elif form is Format.JSON:
        print_json(found.to_dict())
    else:
        data = found.to_csv()
        print(visible_lines(data) if sys.stdout.isatty() else data, end="")
    return form


def meant(release: Release, column: str, given: Sequence[str]) -> list[Value]:
    """Return the categories that are written so; text that none is written as stays as it is, and is refused."""
    domain = release.domain(column)
    return [value for text in given for value in [v for v in domain if category_text(v) == text] or [text]]
