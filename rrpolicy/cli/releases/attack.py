"""`rrpolicy attack BUNDLE… --source TABLE`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy import door
from rrpolicy.cli.terminal import print_json
from rrpolicy.untrusted.printable import visible

if TYPE_CHECKING:
    from rrpolicy.attacks.result import Attack


def command(
    bundles: Annotated[
        list[Path], typer.Argument(help="A bundle's folder; several, of releases of one table.", metavar="BUNDLE…")
    ],
    source: Annotated[str, typer.Option("--source", help="The original table.")],
    *,
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", help="A distribution that a bundle names and you trust, such as acme-oue>=1.2."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON on standard output.")] = False,
) -> int:
    """Attack written releases, and hold what an attacker attains against what is predicted. Nothing is written.

    What is printed are counts and shares of the original table: keep it where audit/ lies. Exit status 1 if an attack
    does not come out as predicted, or if none could be run.
    """
    from rrpolicy.cli.text.progress import progress

    with progress() as report:
        found = door.attack(*bundles, source=source, plugins=plugins or (), progress=report)
    if json:
        print_json(found.to_json())
    else:
        lines = [line for attack in found.attacks for line in _lines(attack)]
        for line in ("audit-class: keep this where audit/ lies", *lines, found.last_line()):
            print(visible(line))
    return 0 if found.passed else 1


def _lines(attack: Attack) -> Iterator[str]:
    yield f"{attack.name}{f' ({attack.of})' if attack.of else ''}: {attack.outcome}"
    if attack.knows:
        yield f"  the attacker knows {attack.knows}"
    if attack.reason:
        yield f"  {attack.reason}"
    if attack.successes is None:
        return
    trials = f" of {attack.trials:,}" if attack.trials > 1 else ""
    yield f"  {_number(attack.successes)}{trials} {attack.counts}"
    held = f"predicted {_number(attack.predicted)}, from {_number(attack.lowest)} to {_number(attack.highest)}"
    yield f"  {held}; chance of such a deviation at most {attack.tail:.2g} ({attack.basis})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.6g}"
