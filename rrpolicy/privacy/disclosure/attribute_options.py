"""Options of attribute disclosure, and its risk in words. Light: imported when a policy is checked."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.finding import READ_CORRECTLY
from rrpolicy.numbers import level_percent
from rrpolicy.policy.rational import Rational

NAME = "attribute-disclosure"
OTHERS_KNOWN_PHRASE = "also if the other sensitive values are known"
"""The end of the requirement's text if `known_sensitive` is set."""
CONFIDENCE = 0.999
"""Confidence of the upper end of an estimate that decides, for all people together."""
ADVERSARY = (
    "knows a person's quasi-identifiers, everything released, and the shares of the combinations that are to be "
    "expected in it; draws a released record by its posterior weight for them under these shares, and reads the "
    "sensitive value back: how likely he hits that person's combination and the true value"
)
READER = (
    "knows a person's quasi-identifiers, everything released, and the shares of the combinations that are to be "
    "expected in it; draws a released record by its posterior weight for them under these shares, and reads the "
    "sensitive value back: how likely that value is the true one, whosever record he drew"
)
GUESSER = (
    "knows a person's quasi-identifiers, the shares of the sensitive values among people with the same ones, how "
    "values are randomised, and which released record is the person's; guesses the most probable value"
)
GAINER = GUESSER + ": how much more often he is right than by naming the commonest value of the group unseen"
ONE_EVENT_NOTE = (
    "A limit of the risk of attribute disclosure covers one event: the attacker selects a record with the person's own "
    "attributes and reads the correct value. It does not limit the probability of a correct guess: that is `value read "
    "correctly` for who reads a record, and `largest within-group share` for who knows the table."
)
DRAWN = (
    "The attacker draws a record and a value, and does not name the likeliest: that is `best-guess`. An attacker who "
    "knows the shares attains `largest within-group share` unseen; a limit below it keeps nobody from guessing so."
)
SHARES = (
    "The attacker's shares are those of the table. Who knows more of a person than the quasi-identifiers guesses "
    "better, whatever is released."
)


class LimitKind(StrEnum):
    """The limited quantity of an entry; each is the success of a different attacker."""

    RISK = "risk"
    CORRECT_READING = "correct-reading"
    BEST_GUESS = "best-guess"
    GAIN = "gain"

    @property
    def guessed(self) -> bool:
        """Whether it is of the best guess: one number a group, whatever the value."""
        return self in {LimitKind.BEST_GUESS, LimitKind.GAIN}


_WHO: Mapping[LimitKind, tuple[str, str, tuple[str, ...]]] = {
    LimitKind.RISK: ("risk", ADVERSARY, (ONE_EVENT_NOTE,)),
    LimitKind.CORRECT_READING: (READ_CORRECTLY, READER, (DRAWN,)),
    LimitKind.BEST_GUESS: ("best guess", GUESSER, (SHARES,)),
    LimitKind.GAIN: ("gain of the best guess over the largest within-group share", GAINER, (SHARES,)),
}
"""In words, the attacker, and the assumptions of the number."""


class AttributeDisclosureOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        measure: the limited quantity.
        threshold: the largest risk, in (0, 1]; of all sensitive values that `thresholds` does not name.
        thresholds: the largest risk by sensitive value.
        sensitive: the attributes to protect; by default every sensitive one.
        known_sensitive: whether the limit also applies to an attacker who knows the other sensitive attributes.
        decided_by: whether a certain bound decides, or an estimate, if there is one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: Annotated[
        LimitKind,
        Field(
            description="what is limited: `risk`, of drawing the person's combination and reading the true value; "
            "`correct-reading`, that the value read is the true one, whosever record was drawn; `best-guess`, the "
            "chance that the likeliest value is the true one for who knows which record is the person's; or `gain`, "
            "that less the largest share of a value in the person's group"
        ),
    ] = LimitKind.RISK
    threshold: Annotated[Rational | None, Field(description="the largest risk, in (0, 1]")] = None
    thresholds: Annotated[dict[str, Rational], Field(description="the largest risk by sensitive value")] = {}
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()
    known_sensitive: Annotated[
        bool, Field(description="require the limit also against an attacker who knows the other sensitive attributes")
    ] = False
    decided_by: Annotated[
        Literal["bound", "estimate"],
        Field(
            description="the value compared with the limit: a certain bound, or, for groups of `anatomy`, the "
            "upper end at"
            f" {level_percent(CONFIDENCE)} confidence of an estimate, which is weaker"
        ),
    ] = "bound"

    @model_validator(mode="after")
    def _stated(self) -> AttributeDisclosureOptions:
        if self.threshold is None and not self.thresholds:
            raise ValueError("give `threshold`, or `thresholds` by sensitive value")
        given = self.thresholds.values() if self.threshold is None else (self.threshold, *self.thresholds.values())
        if any(not 0 < t <= 1 for t in given):
            raise ValueError("a threshold lies over 0 and is at most 1")
        if self.measure.guessed and (self.threshold is None or self.thresholds):
            raise ValueError(f'"{self.measure}" is one number for all values of a group: use `threshold`')
        if self.measure.guessed and self.threshold == 1:
            raise ValueError(f'no chance exceeds 1: "{self.measure}" at most 1 limits nothing')
        if self.measure is not LimitKind.RISK and self.decided_by == "estimate":
            raise ValueError(f'there is no estimate of "{self.measure}" that could decide: take `decided_by` out')
        return self

    @property
    def quantity(self) -> str:
        """Return the limited quantity, in words."""
        return _WHO[self.measure][0]

    @property
    def adversary(self) -> str:
        """Return the attacker of the number."""
        return _WHO[self.measure][1]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of the number in any case."""
        return _WHO[self.measure][2]

    @property
    def called(self) -> str:
        """Return the model's name in findings: with the limited quantity, unless that is the risk."""
        return NAME if self.measure is LimitKind.RISK else f"{NAME}/{self.measure}"

    @property
    def monotone(self) -> bool:
        """Return whether hiding more never raises the limited quantity: reading correctly may become likelier."""
        return self.measure is not LimitKind.CORRECT_READING

    @property
    def by_some_frequency(self) -> bool:
        """Return True: no attacker reads more if records are suppressed for a large enough l by frequency."""
        return True

    @property
    def limit(self) -> Fraction | None:
        """Return the threshold, if there is one."""
        return self.threshold

    def limit_of(self, value: object) -> Fraction:
        """Return the limit of one sensitive value; 1, which no value exceeds, if the entry states none."""
        return self.thresholds.get(str(value), Fraction(1) if self.threshold is None else self.threshold)
