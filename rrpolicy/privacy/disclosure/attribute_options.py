"""What a policy asks of attribute disclosure, and how its risk is spoken of. Light: read when a policy is checked."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.policy.rational import Rational

NAME = "attribute-disclosure"
CONFIDENCE = 0.999
"""Of the upper end by which an estimate decides, of all people together."""
ADVERSARY = (
    "knows a person's quasi-identifiers, everything released, and the shares of the combinations that are to be "
    "expected in it; draws a released record by its posterior weight for them under these shares, and reads the "
    "sensitive value back: how likely he hits that person's combination and the true value"
)
ONE_EVENT = (
    "The risk of attribute disclosure is the chance of one event, the person's own combination and the true value "
    "together; not the chance that a guess is right: that is `value read correctly` for who reads a record, and "
    "`largest within-group share` for who knows the table, and neither is limited."
)


class Options(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        threshold: the largest risk, in (0, 1]; of all sensitive values that `thresholds` does not name.
        thresholds: the largest risk by sensitive value.
        sensitive: the attributes to protect; by default every sensitive one.
        known_sensitive: it must hold also against an attacker who knows the other sensitive attributes.
        decided_by: whether what is certain decides, or an estimate, where there is one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: Annotated[Rational | None, Field(description="the largest risk, in (0, 1]")] = None
    thresholds: Annotated[dict[str, Rational], Field(description="the largest risk by sensitive value")] = {}
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()
    known_sensitive: Annotated[
        bool, Field(description="hold also if the attacker knows the other sensitive attributes")
    ] = False
    decided_by: Annotated[
        Literal["bound", "estimate"],
        Field(
            description="what is held against the limit: a certain bound, or, where there is one (groups of `anatomy`),"
            f" the upper end at {100 * CONFIDENCE:g} % confidence of an estimate, which is weaker"
        ),
    ] = "bound"

    @model_validator(mode="after")
    def _stated(self) -> Options:
        if self.threshold is None and not self.thresholds:
            raise ValueError("give `threshold`, or `thresholds` by sensitive value")
        given = self.thresholds.values() if self.threshold is None else (self.threshold, *self.thresholds.values())
        if any(not 0 < t <= 1 for t in given):
            raise ValueError("a threshold lies over 0 and is at most 1")
        return self

    @property
    def by_some_frequency(self) -> bool:
        """Return True: of what is suppressed for a large enough l by frequency, nobody reads more."""
        return True

    @property
    def limit(self) -> Fraction | None:
        """Return the threshold, if there is one."""
        return self.threshold

    def limit_of(self, value: object) -> Fraction:
        """Return the limit of one sensitive value; 1, which nothing exceeds, where none is stated."""
        return self.thresholds.get(str(value), Fraction(1) if self.threshold is None else self.threshold)
