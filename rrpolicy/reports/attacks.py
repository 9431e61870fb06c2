"""The adversarial test in the audit report."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.attacks.inference import BY_RECORD
from rrpolicy.attacks.result import AttackOutcome, AttackReport, AttackResult
from rrpolicy.frozen import replace
from rrpolicy.numbers import at_most_decimals, figure, percent
from rrpolicy.report import AttackRow, Report, Spread, Tile
from rrpolicy.reports.decision import decision_summary
from rrpolicy.reports.key_figures import NOT_MEASURED, READING_TITLE, UNMEASURED_SUFFIX

FAILED = "The adversarial test failed: the findings do not describe these files. Do not publish them."
"""Prefix of the decision if the result of an attack differs from the prediction."""

TESTED = "In the adversarial test, "
"""Prefix of a test's result, in the tile and as a point."""
ALONE = f"{UNMEASURED_SUFFIX} outside the adversarial test"
IN_TEST = " right in a test"
"""Suffix of a tile's figure if it has no other number."""


def add_attack_results(report: Report, found: AttackReport) -> Report:
    """Return a report with an adversarial test in place of an earlier one; a failed test determines the decision."""
    passed, sentence = report.passed, report.decision
    if sentence == FAILED:  # by the earlier test
        passed, sentence = decision_summary(report.findings, report.utility)
    if any(attack.outcome is AttackOutcome.NOT_AS_PREDICTED for attack in found.every):
        passed, sentence = False, FAILED
    read = [a for a in found.attacks if a.name == BY_RECORD and a.successes is not None and a.without is not None]
    points = [p.replace(ALONE, UNMEASURED_SUFFIX) for p in report.points if not p.startswith(TESTED)]
    if read:
        points = [p.replace(UNMEASURED_SUFFIX, ALONE) for p in points] + [
            _attack_success_text(a).removesuffix(".") for a in read
        ]
    return replace(
        report,
        attacks=attack_rows(found),
        passed=passed,
        decision=sentence,
        points=tuple(points),
        tiles=tuple(
            _reading_tile_with_attacks(tile, read) if tile.name == READING_TITLE else tile for tile in report.tiles
        ),
    )


def _reading_tile_with_attacks(tile: Tile, read: Sequence[AttackResult]) -> Tile:
    """Return the tile on reading with the results of attacks in place of an earlier test."""
    shown = NOT_MEASURED if tile.figure.endswith(IN_TEST) else tile.figure
    meaning = tile.meaning.partition(f" {TESTED}")[0].replace(ALONE, UNMEASURED_SUFFIX)
    if read:
        if shown == NOT_MEASURED:
            shown = f"{percent(max((a.successes or 0.0) / a.trials for a in read))}{IN_TEST}"
        meaning = " ".join([meaning.replace(UNMEASURED_SUFFIX, ALONE), *map(_attack_success_text, read)])
    return replace(tile, figure=shown, meaning=meaning)


def _attack_success_text(attack: AttackResult) -> str:
    """Return a sentence on an attack's success in reading, compared with reading without the release."""
    right, blind = (_successes_text(number or 0.0, attack) for number in (attack.successes, attack.without))
    beside = f"without the release {blind}: an average, not the largest chance of anybody"
    return f"{TESTED}the attacker infers `{attack.of}` rightly for {right} records, {beside}."


def attack_rows(found: AttackReport) -> tuple[AttackRow, ...]:
    """Return the rows of attacks, in their order; those on several releases name them."""
    others = (f"release {number} has the digest {digest}" for number, digest in enumerate(found.releases[1:], 2))
    which = "; ".join(["release 1 is this one", *others])
    said = {attack.basis for attack in found.attacks}
    bases = ([which] if attack.basis in said else [attack.basis, which] for attack in found.together)
    together = (replace(a, basis="; ".join(filter(None, b))) for a, b in zip(found.together, bases, strict=True))
    return tuple(map(_attack_row, (*found.attacks, *together)))


def _attack_row(attack: AttackResult) -> AttackRow:
    name = f"{attack.name[0].upper()}{attack.name[1:]}{f' ({attack.of})' if attack.of else ''}"
    attained = predicted = interval = spread = None
    if attack.successes is not None:
        assert attack.predicted is not None
        assert attack.lowest is not None
        assert attack.highest is not None
        spread = Spread(attack.successes, attack.predicted, attack.lowest, attack.highest)
        attained, predicted = _successes_text(attack.successes, attack), _successes_text(attack.predicted, attack)
        ends = (attack.lowest, attack.highest)
        interval = predicted if ends[0] == ends[1] else " to ".join(_success_number_text(end, attack) for end in ends)
    return AttackRow(
        name,
        attack.knows,
        attack.counts,
        attack.outcome.value,
        attack.reason or (attack.fault if attack.outcome is AttackOutcome.NOT_AS_PREDICTED else ""),
        attained,
        predicted,
        interval,
        None if attack.without is None else _successes_text(attack.without, attack),
        attack.basis,
        spread,
    )


def _successes_text(successes: float, attack: AttackResult) -> str:
    """Return a number of successes, with its share of the trials if there are several."""
    number = _success_number_text(successes, attack)
    return f"{number} of {attack.trials:,} ({percent(successes / attack.trials)})" if attack.trials > 1 else number


def _success_number_text(value: float, attack: AttackResult) -> str:
    return at_most_decimals(value, 1) if attack.trials > 1 else figure(value, 4)
