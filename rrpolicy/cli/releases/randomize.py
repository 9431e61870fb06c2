"""`rrpolicy randomize QUESTIONNAIRE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy import api

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rrpolicy.canonical_json import Value


def command(
    questionnaire: Annotated[
        Path,
        typer.Argument(
            help="What `rrpolicy plan --expected-rows N --out` wrote for the field.", metavar="QUESTIONNAIRE"
        ),
    ],
    records: Annotated[
        Path | None,
        typer.Argument(
            help="Records to randomise: JSON, one a line, or CSV if its name ends so; default: standard input.",
            metavar="FILE",
        ),
    ] = None,
    record: Annotated[
        str | None, typer.Option(help="One record as JSON, in place of a file; a shell may keep it in its history.")
    ] = None,
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="Load this distribution for an axis of a plugin; repeat it.", metavar="DISTRIBUTION"),
    ] = None,
    *,
    csv: Annotated[
        bool, typer.Option("--csv", help="Standard input is CSV with a header; so is what is printed.")
    ] = False,
    questions: Annotated[
        bool, typer.Option("--questions", help="Print what is asked and what is promised, and draw nothing.")
    ] = False,
) -> int:
    """Randomise records where they are: what is printed is all that is to be sent.

    Everything is checked before anything is drawn, and nothing is kept. Who runs it twice for one person has answered
    twice, and epsilon adds up: keep what was printed, and send it again.
    """
    from rrpolicy.collection import lines
    from rrpolicy.collection.randomize import randomize

    asked = api.open_questionnaire(questionnaire, plugins=plugin or ())
    if questions:
        print("\n".join(lines.question_lines(asked)))
        return 0
    text = csv or (records is not None and records.suffix.lower() == ".csv")
    given = lines.read_records(record, records, text=text)
    _print(randomize(asked, given, text=text), asked.channel.order, text=text)
    return 0


def _print(drawn: Iterable[Mapping[str, Value]], columns: Iterable[str], *, text: bool) -> None:
    from rrpolicy.collection import lines

    sys.stdout.write("".join(lines.record_lines(drawn, tuple(columns), text=text)))
