"""The [mechanism] table of `generalisation`, as pydantic checks it before any attribute is read."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.plugin import Rational, exact


class GeneralisationOptions(BaseModel):
    """What a policy may say under [mechanism] with name = "generalisation"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithm: Annotated[
        Literal["full-domain", "mondrian", "tp"],
        Field(
            description="full-domain: each attribute at one level of its hierarchy, the best node of the lattice;"
            " mondrian: the domain cut into boxes; tp: as few suppressed records as it finds, equal records parted."
        ),
    ] = "full-domain"
    suppression: Annotated[
        Rational, Field(description="The largest share of records that may be released as `*`; 0 or more, below 1.")
    ] = Fraction(0)
    loss: Annotated[
        Literal["ncp", "discernibility", "average-class-size", "kl"],
        Field(description="What decides among the nodes that satisfy every requirement."),
    ] = "ncp"
    weights: Annotated[
        dict[str, Rational], Field(description="Quasi-identifier -> how much it counts in `ncp`; by default 1 each.")
    ] = {}
    node: Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        Field(description="Quasi-identifier -> the level at which it is released, 0 being its categories."),
    ] = {}

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if not 0 <= self.suppression < 1:
            raise ValueError(f"suppression must be 0 or more and below 1, got {exact(self.suppression)}")
        return self
