"""Small options classes that stand in for plugins'."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rrpolicy.policy.rational import Rational
from rrpolicy.registry import NameCatalogue


def _probability(value):
    if not 0 < value <= 1:
        raise ValueError("expected a probability above 0, at most 1")
    return value


Probability = Annotated[Rational, AfterValidator(_probability)]


class Weight(BaseModel):
    """A nested table."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    marginal: tuple[str, ...] = Field(description="Which attributes.")
    weight: float = 1.0


class Flip(BaseModel):
    """A mechanism's options."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    keep: dict[str, Probability] = Field({}, description="Keep probabilities.")
    invariant: dict[str, Literal["observed"] | dict[str, Probability]] = {}
    workload: tuple[Weight, ...] = ()
    digits: int = Field(5, ge=1, le=12)
    attributes: tuple[str, ...] | None = None


class K(BaseModel):
    """A privacy model's options."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    k: int = Field(ge=2, description="How many.")
    decided_by: Literal["bound", "estimate"] = "bound"


class Epsilon(BaseModel):
    """Another model's options; forgets to forbid unknown keys."""

    epsilon: Rational
    scope: Literal["record", "attribute"] = "record"
    decided_by: Literal["bound", "estimate"] = "bound"


class Error(BaseModel):
    """A metric's options."""

    attributes: tuple[str, ...] | None = None


CATALOGUE = NameCatalogue({"flip": Flip}, {"k": K, "epsilon": Epsilon}, {"error": Error}, ("parquet", "csv", "duckdb"))
