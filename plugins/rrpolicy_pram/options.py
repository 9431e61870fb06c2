"""The [mechanism] table of `pram`, as pydantic checks it before any attribute is read."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, Union

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin import Rational, Value
from rrpolicy.plugin.solve import Marginal

Label: TypeAlias = Union[Value, tuple[Value, ...]]  # noqa: UP007 the name of a type has no |
"""A category; for attributes that are randomised together a combination, one category each."""


class ExplicitMatrix(BaseModel):
    """Pr(released | original) written out: one row a released category, one column an original one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    released: Annotated[
        tuple[Label, ...],
        Field(
            min_length=1,
            description="Names of the rows; of attributes together a list each, with a category of every attribute.",
        ),
    ]
    original: Annotated[
        tuple[Label, ...],
        Field(
            min_length=1,
            description="Names of the columns, likewise: the attribute's domain, or all combinations, in any order.",
        ),
    ]
    rows: Annotated[
        tuple[tuple[Rational, ...], ...], Field(description="Probabilities; every column sums to exactly 1.")
    ]


class PramOptions(BaseModel):
    """What a policy may say under [mechanism] with name = "pram"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: Annotated[
        tuple[str, ...] | None,
        Field(description="What is randomised; by default all quasi-identifiers and sensitive attributes."),
    ] = None
    together: Annotated[
        tuple[tuple[str, ...], ...],
        Field(
            description="Groups of attributes that are randomised as one: a combination of their values is kept, or"
            ' exchanged for another. Such as [["age", "education"]]. Default: each attribute by itself.'
        ),
    ] = ()
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
            description="Attribute -> probability to keep the value, else it is drawn anew from the whole domain. Of"
            " attributes together it is that of their combination, and of each of them alike: name it once.",
            examples=[{"sex": 0.6}],
        ),
    ] = {}
    matrix: Annotated[
        dict[str, ExplicitMatrix],
        Field(description="Attribute -> its matrix; that of attributes together stands under any one of them."),
    ] = {}
    blocks: Annotated[
        dict[str, tuple[tuple[Value, ...], ...]],
        Field(
            description="Attribute -> groups of categories; values are exchanged only inside their group. Of attributes"
            " together combinations are exchanged where every attribute stays in its group.",
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
