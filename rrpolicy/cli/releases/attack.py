"""`rrpolicy attack BUNDLE… --source TABLE`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, Quiet, with_options
from rrpolicy.cli.text.output import output_request, report_outcome
from rrpolicy.numbers import grouped_number, percent
from rrpolicy.verb_options import AttackOptions

if TYPE_CHECKING:
    from rrpolicy.attacks.result import AttackReport, AttackResult
    from rrpolicy.ci_reports.outcome import OutcomeSubject


@with_options
def command(
    bundles: Annotated[list[Path], typer.Argument(help="A bundle's folder, or several.", metavar="BUNDLE…")],
    *,
    quiet: Quiet = False,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[AttackOptions],
) -> int:
    """Attack written releases, and hold what an attacker attains against what is predicted.

    What is printed are counts and shares of the original table: keep it where audit/ lies. Nothing is written without
    --write. Exit status 1 if an attack does not come out as predicted, or if none could be run.
    """
    from rrpolicy.cli.text.notices import progress

    wanted = output_request(output, also, json=json)
    with progress() as report:
        options["progress"] = report
        found = api.attack(*bundles, **options)
    return report_outcome(
        wanted,
        "attack",
        found.exit_status,
        text=lambda: [found.last_line()] if quiet else _attack_text(found, bundles[0] if options["write"] else None),
        document=found.to_json,
        subjects=lambda: _subjects(found, bundles),
        problems=found.problems,
    )


def _subjects(found: AttackReport, bundles: list[Path]) -> list[OutcomeSubject]:
    from rrpolicy.ci_reports import subjects

    return [subjects.attack_subject(found, bundles)]


def _attack_text(found: AttackReport, written: Path | None) -> Iterator[str]:
    yield "audit-class: keep this where audit/ lies"
    for attack in found.every:
        yield from _lines(attack)
    if written is not None:
        yield f"written into {written / 'audit'}: attack.json, and the audit report"
    yield from _before_and_after(found)
    yield found.last_line()


def _before_and_after(found: AttackReport) -> Iterator[str]:
    """Yield, for each attribute that was attacked, the success of the best attack without and with the release."""
    best: dict[str, tuple[float, float]] = {}
    for attack in found.attacks:
        if attack.of and attack.trials > 1 and attack.successes is not None and attack.without is not None:
            shares = attack.successes / attack.trials, attack.without / attack.trials
            best[attack.of] = max(best.get(attack.of, shares), shares)
    for of, (with_it, without) in best.items():
        yield f"{of}: {percent(without)} read rightly without the release -> {percent(with_it)} with it"


def _lines(attack: AttackResult) -> Iterator[str]:
    yield f"{attack.name}{f' ({attack.of})' if attack.of else ''}: {attack.outcome}"
    if attack.knows:
        yield f"  the attacker knows {attack.knows}"
    if attack.reason:
        yield f"  {attack.reason}"
    if attack.successes is None:
        return
    trials = f" of {attack.trials:,}" if attack.trials > 1 else ""
    yield f"  {grouped_number(attack.successes)}{trials} {attack.counts}"
    if attack.without is not None:
        yield f"  without the release, who knows the same is to be expected to attain {grouped_number(attack.without)}"
    held = f"predicted {grouped_number(attack.predicted)}, from {grouped_number(attack.lowest)} to "
    held += grouped_number(attack.highest)
    unusual = f"; {attack.deviation}" if attack.deviation else ""
    yield f"  {held}{unusual} ({attack.basis})"
