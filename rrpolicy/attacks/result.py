"""What an attack came to, beside what was predicted of it; counts and shares alone, never a row or a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from rrpolicy.canonical import Json
from rrpolicy.codec.writing import plain

FALSE_ALARM = Fraction(1, 10**9)
"""The tail probability below which an attack's success is not as predicted, of each attack."""
SCHEMA = "rrpolicy.attack/1"


class Outcome(StrEnum):
    """How the success of an attack stands to its prediction."""

    AS_PREDICTED = "as predicted"
    NOT_AS_PREDICTED = "not as predicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack, run against one written release, or against two of one table.

    Attributes:
        name: of the attack, such as `record linkage`.
        of: what it is run on: the sensitive attribute, or two releases; "" if there is but one thing.
        knows: what the attacker knows, in words.
        counts: what a success is, in words.
        outcome: how the success stands to its prediction.
        reason: why it stays undecided; "" if it does not.
        trials: how often the attacker tries: as often as there are records, or 1 where a share is looked at.
        successes: the number of them that are expected to succeed, given the written release.
        predicted: the expectation of `successes` over all draws from the channel, exact up to rounding.
        lowest: the least that is as predicted.
        highest: the most that is as predicted.
        tail: upper bound of the chance of successes as far from their expectation, in both directions; 1 where they
            agree, 0 where the channel leaves nothing to chance and they differ.
        basis: where prediction and bound come from, in words.
    """

    name: str
    of: str
    knows: str
    counts: str
    outcome: Outcome
    reason: str = ""
    trials: int = 0
    successes: float | None = None
    predicted: float | None = None
    lowest: float | None = None
    highest: float | None = None
    tail: float | None = None
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Attacked:
    """The adversarial test of a release, or of several of one table; audit-class, as it rests on the original.

    Attributes:
        releases: digest of each release.json, in the order given.
        records: in the table.
        attacks: in order.
    """

    releases: tuple[str, ...]
    records: int
    attacks: tuple[Attack, ...]

    @property
    def passed(self) -> bool:
        """Whether something was decided, and everything that was came out as predicted."""
        outcomes = {attack.outcome for attack in self.attacks}
        return Outcome.AS_PREDICTED in outcomes and Outcome.NOT_AS_PREDICTED not in outcomes

    def last_line(self) -> str:
        """Return the line that a reader must not miss."""
        number = {outcome: sum(a.outcome is outcome for a in self.attacks) for outcome in Outcome}
        return "adversarial test: " + ", ".join(f"{number[outcome]} {outcome}" for outcome in Outcome)

    def to_json(self) -> Json:
        """Return the test as plain data."""
        return {
            "schema": SCHEMA,
            "class": "audit",
            "passed": self.passed,
            "releases": list(self.releases),
            "records": self.records,
            "false_alarm": str(FALSE_ALARM),
            "attacks": plain(self.attacks),
        }


def undecided(name: str, of: str, knows: str, reason: str) -> Attack:
    """Return an attack that is not run, with the reason."""
    return Attack(name, of, knows, "", Outcome.UNDECIDED, reason)
