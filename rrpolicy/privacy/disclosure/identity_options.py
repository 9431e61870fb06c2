"""Options of identity disclosure, and its attacker. Light: imported when a policy is checked."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rrpolicy.policy.rational import Rational

NAME = "identity-disclosure"
ADVERSARY = (
    "knows a person's quasi-identifiers, that the person is in the table, everything released, and the shares of the "
    "combinations that are to be expected in it, and picks a record by its posterior weight under these shares: how "
    "likely it is that person's"
)


class IdentityDisclosureOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        threshold: the largest chance, in (0, 1].
        percentile: bounds the mean over this percentage of the individuals, those most at risk; absent: the maximum.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: Annotated[Rational, Field(description="the largest chance of linking, in (0, 1]")]
    percentile: Annotated[
        Rational | None, Field(description="bound the mean over this percentage of individuals, those most at risk")
    ] = None

    @field_validator("threshold")
    @classmethod
    def _chance(cls, threshold: Fraction) -> Fraction:
        if not 0 < threshold <= 1:
            raise ValueError("a threshold lies over 0 and is at most 1")
        return threshold

    @field_validator("percentile")
    @classmethod
    def _percentage(cls, percentile: Fraction | None) -> Fraction | None:
        if percentile is not None and not 0 < percentile <= 100:  # noqa: PLR2004
            raise ValueError("a percentile lies over 0 and is at most 100")
        return percentile

    @property
    def by_some_frequency(self) -> bool:
        """Return True: no attacker reads more if records are suppressed for a large enough l by frequency."""
        return True

    @property
    def limit(self) -> Fraction:
        """Return the threshold."""
        return self.threshold
