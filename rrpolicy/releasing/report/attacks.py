"""The adversarial test, as the audit report shows it."""

from __future__ import annotations

from dataclasses import replace

from rrpolicy.attacks.result import Attack, Attacked, Outcome
from rrpolicy.releasing.report.decision import decision
from rrpolicy.report import AttackRow, Report, Spread
from rrpolicy.section import figure, percent

FAILED = "The adversarial test failed: these files are not what the findings speak of. Do not publish them."
"""Heads the decision where an attack did not come out as predicted."""


def with_attacks(report: Report, found: Attacked) -> Report:
    """Return a report with an adversarial test in the place of another one; a test that failed decides."""
    passed, sentence = report.passed, report.decision
    if sentence == FAILED:  # by the test that was there before
        passed, sentence = decision(report.findings, report.utility)
    if any(attack.outcome is Outcome.NOT_AS_PREDICTED for attack in found.every):
        passed, sentence = False, FAILED
    return replace(report, attacks=attack_rows(found), passed=passed, decision=sentence)


def attack_rows(found: Attacked) -> tuple[AttackRow, ...]:
    """Return what the report shows of attacks, in their order; those on several releases say which they are."""
    others = (f"release {number} has the digest {digest}" for number, digest in enumerate(found.releases[1:], 2))
    which = "; ".join(["release 1 is this one", *others])
    said = {attack.basis for attack in found.attacks}
    bases = ([which] if attack.basis in said else [attack.basis, which] for attack in found.together)
    together = (replace(a, basis="; ".join(filter(None, b))) for a, b in zip(found.together, bases, strict=True))
    return tuple(map(_row, (*found.attacks, *together)))


def _row(attack: Attack) -> AttackRow:
    name = f"{attack.name[0].upper()}{attack.name[1:]}{f' ({attack.of})' if attack.of else ''}"
    attained = predicted = interval = spread = None
    if attack.successes is not None:
        assert attack.predicted is not None
        assert attack.lowest is not None
        assert attack.highest is not None
        spread = Spread(attack.successes, attack.predicted, attack.lowest, attack.highest)
        attained, predicted = _of(attack.successes, attack), _of(attack.predicted, attack)
        ends = (attack.lowest, attack.highest)
        interval = predicted if ends[0] == ends[1] else " to ".join(_number(end, attack) for end in ends)
    return AttackRow(
        name,
        attack.knows,
        attack.counts,
        attack.outcome.value,
        attack.reason or (attack.fault if attack.outcome is Outcome.NOT_AS_PREDICTED else ""),
        attained,
        predicted,
        interval,
        None if attack.without is None else _of(attack.without, attack),
        attack.basis,
        spread,
    )


def _of(successes: float, attack: Attack) -> str:
    """Return a number of successes, with its share of the trials where there are several."""
    number = _number(successes, attack)
    return f"{number} of {attack.trials:,} ({percent(successes / attack.trials)})" if attack.trials > 1 else number


def _number(value: float, attack: Attack) -> str:
    return figure(round(value, 1)) if attack.trials > 1 else figure(value, 4)
