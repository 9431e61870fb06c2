"""The [mechanism] table of `pram`, as pydantic checks it before any attribute is looked at."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin import Rational, Value
from rrpolicy.plugin.solve import Marginal


class ExplicitMatrix(BaseModel):
    """Pr(released | original) written out: one row a released category, one column an original one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    released: Annotated[tuple[Value, ...], Field(min_length=1, description="Names of the rows.")]
    original: Annotated[
        tuple[Value, ...],
        Field(min_length=1, description="Names of the columns: the attribute's domain, in any order."),
    ]
    rows: Annotated[
        tuple[tuple[Rational, ...], ...], Field(description="Probabilities; every column sums to exactly 1.")
    ]


class Options(BaseModel):
    """What a policy may say under [mechanism] with name = "pram"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: Annotated[
        tuple[str, ...] | None,
        Field(description="What is randomised; by default all quasi-identifiers and sensitive attributes."),
    ] = None
    allocation: Annotated[
        Literal["equal", "optimal", "fixed"] | None,
        Field(
            description="How parameters that the policy does not give are found: one retention probability for all"
            " (equal), least expected error (optimal), or not at all (fixed). Default: fixed if all are given,"
            " else equal."
        ),
    ] = None
    keep_probability: Annotated[
        dict[str, Rational],
        Field(
            description="Attribute -> Pr(released = original), above 1/d; with blocks, of every block.",
            examples=[{"sex": 0.8}],
        ),
    ] = {}
    retention_probability: Annotated[
        dict[str, Rational],
        Field(
            description="Attribute -> probability to keep the value, else it is drawn anew from the whole domain.",
            examples=[{"sex": 0.6}],
        ),
    ] = {}
    matrix: Annotated[dict[str, ExplicitMatrix], Field(description="Attribute -> its matrix.")] = {}
    blocks: Annotated[
        dict[str, tuple[tuple[Value, ...], ...]],
        Field(
            description="Attribute -> groups of categories; values are exchanged only inside their group.",
            examples=[{"region": [["north", "south"], ["west"]]}],
        ),
    ] = {}
    invariant: Annotated[
        dict[str, Literal["observed"] | dict[str, Rational]],
        Field(
            description="Attribute -> the marginal that its matrix leaves as it is, declared or observed;"
            " made from the retention matrix of its keep_probability or retention_probability."
        ),
    ] = {}
    workload: Annotated[
        tuple[Marginal, ...], Field(description="Marginals whose error is minimised; default: the whole table.")
    ] = ()
    digits: Annotated[int, Field(ge=5, le=12, description="Decimals of keep probabilities that are solved for.")] = 5
