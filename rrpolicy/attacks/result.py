"""The result of an attack, with its prediction; counts and shares only, never a row or a value."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from msgspec import Struct

from rrpolicy.canonical_json import Digest
from rrpolicy.errors import GatedResult, Problem
from rrpolicy.numbers import grouped_number, plain_number
from rrpolicy.serialization import JsonDocument

FALSE_ALARM = Fraction(1, 10**9)
"""The tail probability below which an attack's success is not as predicted, of each attack."""


ORIGINAL_FIT = "fit to the table"
"""The name of an undecided release that is probably of another table: none of its attacks is run."""


class AttackOutcome(StrEnum):
    """The comparison of an attack's success with its prediction."""

    AS_PREDICTED = "as predicted"
    NOT_AS_PREDICTED = "not as predicted"
    UNDECIDED = "undecided"


class AttackResult(Struct, frozen=True):
    """One attack, run against one written release, or against two of one table.

    Attributes:
        name: name of the attack, such as `record linkage`.
        of: its target: the sensitive attribute, or two releases; "" if there is only one.
        knows: the attacker's knowledge, in words.
        counts: the meaning of a success, in words.
        outcome: the comparison of the success with its prediction.
        reason: the reason for which it is undecided; "" if it is decided.
        trials: number of attempts: the number of records, or 1 for a share.
        successes: the number of them that are expected to succeed, given the written release.
        predicted: the expectation of `successes` over all draws from the channel, exact up to rounding.
        lowest: the least number that agrees with the prediction.
        highest: the largest number that agrees with the prediction.
        tail: upper bound of the chance of successes as far from their expectation, in both directions; 1 if they agree
            and 0 if they differ, for a deterministic channel.
        basis: the reasoning behind prediction and bound, in words.
        fault: the meaning of a disagreement, unless it is that the file is not a draw from its channel.
        without: the expectation for an attacker who knows the same and has no release; None if that is meaningless.
    """

    name: str
    of: str
    knows: str
    counts: str
    outcome: AttackOutcome
    reason: str = ""
    trials: int = 0
    successes: float | None = None
    predicted: float | None = None
    lowest: float | None = None
    highest: float | None = None
    tail: float | None = None
    basis: str = ""
    without: float | None = None
    fault: str = ""

    def undecided(self, reason: str) -> AttackResult:
        """Return the attack as one that is not run, with the reason."""
        return AttackResult(self.name, self.of, self.knows, "", AttackOutcome.UNDECIDED, reason)

    @property
    def deviation(self) -> str:
        """Return the improbability of the success, in words; "" if it is not improbable."""
        unusual = self.tail is not None and self.tail < 1
        return f"chance of such a deviation at most {plain_number(self.tail or 0.0, 2)}" if unusual else ""

    @property
    def problem(self) -> Problem | None:
        """Return the problem if the result is not as predicted."""
        if self.outcome is not AttackOutcome.NOT_AS_PREDICTED:
            return None
        of = f" ({self.of})" if self.of else ""
        message = "; ".join(filter(None, (f"{self.name}{of}: {self.outcome}", self.deviation)))
        what = " successes" if self.trials > 1 else ""
        expected = f"from {grouped_number(self.lowest)} to {grouped_number(self.highest)}{what}"
        expected += f", found {grouped_number(self.successes)}"
        hint = self.fault or (
            "this file is not a draw from the channel that it states, or the table is not the one that was "
            "released: do "
            "not publish it, and keep it to find out why"
        )
        return Problem("RR550", message, expected=expected, hint=hint)


class AttackReport(JsonDocument, Struct, GatedResult, frozen=True):
    """The adversarial test of a release, or of several; audit-class, as it rests on the original.

    Attributes:
        releases: digest of each release.json, in the order given.
        source: unkeyed fingerprint of the original table; of several, the first release's.
        records: number of records in the table.
        version: version of rrpolicy that ran the attacks.
        attacks: attacks on single releases, in order.
        together: attacks on several releases at once.
    """

    schema: ClassVar[str] = "rrpolicy.attack/1"
    audience: ClassVar[str] = "audit"
    false_alarm: ClassVar[str] = str(FALSE_ALARM)
    written: ClassVar[tuple[str, ...]] = (
        *("schema", "class=audience", "passed", "releases", "source", "records", "rrpolicy=version", "false_alarm"),
        *("attacks", "together"),
    )

    releases: tuple[Digest, ...]
    source: Digest
    records: int
    version: str
    attacks: tuple[AttackResult, ...]
    together: tuple[AttackResult, ...] = ()

    @property
    def every(self) -> tuple[AttackResult, ...]:
        """Return all attacks."""
        return (*self.attacks, *self.together)

    @property
    def decided(self) -> bool:
        """Return whether any attack was run."""
        return any(attack.outcome is not AttackOutcome.UNDECIDED for attack in self.every)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return results that are not as predicted; RR551 if nothing was decided, or nothing about a release."""
        if self.decided:
            unfit = (_inconsistency(attack) for attack in self.attacks if attack.name == ORIGINAL_FIT)
            return (*(attack.problem for attack in self.every if attack.problem is not None), *unfit)
        reasons = "; ".join(dict.fromkeys(attack.reason for attack in self.every if attack.reason))
        message = f"no attack could be run against this release: {reasons or 'none is known'}"
        expected = "at least one attack that is run"
        return (Problem("RR551", message, expected=expected, hint="see docs/how-to/attack.md"),)

    def last_line(self) -> str:
        """Return the line that a reader must not miss."""
        number = {outcome: sum(a.outcome is outcome for a in self.every) for outcome in AttackOutcome}
        return "adversarial test: " + ", ".join(f"{number[outcome]} {outcome}" for outcome in AttackOutcome)


def _inconsistency(attack: AttackResult) -> Problem:
    hint = (
        "name the table of each release, in their order: `--source FIRST --source SECOND`; if the release is of this "
        "table, its rows were replaced: attack it by itself"
    )
    return Problem("RR551", f"{attack.of} was not attacked: {attack.reason}", hint=hint)
