"""The [mechanism] table of `rr-both`, `rr-qi` and `rr-s`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin.solve import Marginal


class RandomizedResponseOptions(BaseModel):
    """What a policy may say under [mechanism]: nothing has to be said, the requirements determine the parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workload: Annotated[
        tuple[Marginal, ...], Field(description="Marginals whose error is minimised; default: the whole table.")
    ] = ()
    digits: Annotated[int, Field(ge=5, le=12, description="Decimals that keep probabilities are rounded down to.")] = 5
    starts: Annotated[int, Field(ge=1, le=50, description="Points that the search starts from.")] = 5
