"""The [mechanism] table of `pram`, and the problems found in it, collected so that all are reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, Union

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin import Attribute, Policy, Problem, Rational, Value
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
    """Keys of [mechanism] with name = "pram"."""

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
            description="Attribute -> probability to keep the value, else it is drawn anew from the whole domain. "
            "For attributes together it applies to their combination: give it once."
            "",
            examples=[{"sex": 0.6}],
        ),
    ] = {}
    matrix: Annotated[
        dict[str, ExplicitMatrix],
        Field(description="Attribute -> its matrix; for attributes together, give it under any one of them."),
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
            description="Attribute -> the marginal that its matrix preserves, declared or observed;"
            " made from the retention matrix of its keep_probability or retention_probability."
        ),
    ] = {}
    workload: Annotated[
        tuple[Marginal, ...], Field(description="Marginals whose error is minimised; default: the whole table.")
    ] = ()
    digits: Annotated[int, Field(ge=5, le=12, description="Decimals of keep probabilities that are solved for.")] = 5


@dataclass
class ProblemCollector:
    """Problems under [mechanism], each with its place."""

    policy: Policy
    problems: list[Problem] = field(default_factory=list)

    def add(self, code: str, message: str, key: str, *, expected: str | None = None, hint: str | None = None) -> None:
        """Note a problem."""
        self.problems.append(Problem(code, message, self.policy.place(f"mechanism.{key}"), expected, hint))


def quoted_names(attributes: Iterable[Attribute]) -> str:
    """Return an attribute's name in quotes; for attributes that are randomised together all of them."""
    return " with ".join(f"'{a.name}'" for a in attributes)


def quoted_labels(labels: Iterable[Label], most: int = 5) -> str:
    """Return the first categories in quotes, and the number of the others."""
    known = [" x ".join(f"'{v}'" for v in (label if isinstance(label, tuple) else (label,))) for label in labels]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) or "none") + more
