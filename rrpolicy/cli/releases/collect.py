"""`rrpolicy collect PLAN TABLE` and `rrpolicy collect randomize QUESTIONNAIRE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.main import file_argument
from rrpolicy.cli.options import with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import command_line, line
from rrpolicy.verb_options import CollectOptions, OpenQuestionnaireOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rrpolicy.canonical_json import Value


@with_options
def command(
    plan: Annotated[
        Path, typer.Argument(help="A plan that `rrpolicy plan --expected-rows N --out` wrote.", metavar="PLAN")
    ],
    table: Annotated[
        str, typer.Argument(help="The records, as `rrpolicy collect randomize` printed them.", metavar="TABLE")
    ],
    out: Annotated[Path, typer.Option("--out", help="The bundle's folder; it must not exist.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print what was released as JSON on standard output.")] = False,
    **options: Unpack[CollectOptions],
) -> int:
    """Make the release of records that were randomised before they were sent. Nothing is drawn.

    Requirements are assessed for the number of records that came in. The bundle appears whole or not at all.
    """
    from rrpolicy.cli.text.notices import notices, progress

    with progress() as report, notices():
        options["progress"] = report
        found = api.collect(plan, table, out, **options)
    if json:
        print_json(found.to_json())
        return 0
    policy = found.policy
    print(line(f"released {policy.name} {policy.version} into {out}; there is no original, and no key"))
    print(
        "taken on trust, as no record can show it: that each was randomised by this plan's questionnaire, once a person"
    )
    sign = [command_line("sign", out, options={"--key": "FILE"})] if policy.release.require_signatures else []
    signed = ["FILE.pub"] * policy.release.require_signatures
    verify = command_line("verify", out, options={"--plugin": policy.plugins, "--signed-by": signed})
    column = next(a.release_as or a.name for a in policy.released)
    estimate = command_line("estimate", file_argument("estimate", out), options={"--by": column})
    first, *rest = [*sign, verify, estimate]
    print("\n      ".join([f"next: {first}", *rest]))
    return 0


@with_options
def randomize(
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
    *,
    csv: Annotated[
        bool, typer.Option("--csv", help="Standard input is CSV with a header; so is what is printed.")
    ] = False,
    questions: Annotated[
        bool, typer.Option("--questions", help="Print the questions and the guarantees, and draw nothing.")
    ] = False,
    **options: Unpack[OpenQuestionnaireOptions],
) -> int:
    """Randomise records where they are: what is printed is all that is to be sent.

    Everything is checked before anything is drawn, and nothing is kept. Who runs it twice for one person has answered
    twice, and epsilon adds up: keep what was printed, and send it again.
    """
    from rrpolicy.collection import lines
    from rrpolicy.collection.answers import randomize

    asked = api.open_questionnaire(questionnaire, **options)
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
