"""What is done to each released attribute, as far as the policy says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from rrpolicy.plugin import Attribute, Axis, Value
from rrpolicy.plugin.solve import keep_probability


@dataclass(frozen=True, slots=True)
class Given:
    """What the policy says of one parameter, in either of two words; both None if it is to be solved for.

    Attributes:
        keep: keep probability of every block of two categories or more.
        retention: retention probability.
    """

    keep: Fraction | None = None
    retention: Fraction | None = None

    @property
    def certain(self) -> bool:
        """Whether every value is kept with certainty."""
        return Fraction(1) in {self.keep, self.retention}

    def keep_of(self, size: int) -> Fraction:
        """Return the keep probability in a block of so many categories."""
        if self.retention is not None:
            return keep_probability(self.retention, size)
        return Fraction(1) if self.keep is None or size == 1 else self.keep


@dataclass(frozen=True, slots=True)
class Retained:
    """A retention matrix, in blocks or not.

    Attributes:
        blocks: codes of the categories of each block; empty while the domain is not known.
        given: its parameter.
    """

    blocks: tuple[tuple[int, ...], ...]
    given: Given

    @property
    def alone(self) -> bool:
        """Whether every category stands alone, so that nothing is exchanged: an attribute of one category does."""
        return bool(self.blocks) and max(map(len, self.blocks)) == 1

    @property
    def open(self) -> bool:
        """Whether the parameter is to be solved for."""
        return self.given == Given() and not self.alone


@dataclass(frozen=True, slots=True)
class Explicit:
    """A matrix written out: `rows[u][v]`, columns in domain order."""

    released: tuple[Value, ...]
    rows: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True)
class Invariant:
    """A matrix that leaves a marginal as it is, made in two stages from a retention matrix.

    Attributes:
        given: the parameter of the retention matrix that it starts from.
        marginal: exact shares in domain order; None while it is to be observed.
        source: where the marginal comes from.
    """

    given: Given
    marginal: tuple[Fraction, ...] | None
    source: Literal["observed", "declared"]


Rule: TypeAlias = "Retained | Explicit | Invariant | None"
"""None: released as it is."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """A released attribute and what is done to it."""

    attribute: Attribute
    rule: Rule

    @property
    def exchanges(self) -> bool:
        """Whether values are exchanged at all; else it is released as it is."""
        match self.rule:
            case Retained(given=given) as rule:
                return not rule.alone and not given.certain
            case Explicit(released, rows):
                unit = all(x == (u == v) for u, row in enumerate(rows) for v, x in enumerate(row))
                return not (unit and released == self.attribute.domain)
            case Invariant(given=given):
                return not given.certain
        return False

    def axis(self) -> type[Axis] | None:
        """Return the class of its axis; None for a carried column."""
        from rrpolicy.plugin import Identity, Matrix, Retention

        if not self.exchanges:
            return Identity if self.attribute.categorical else None
        return Retention if isinstance(self.rule, Retained) else Matrix

    @property
    def solved(self) -> bool:
        """Whether the parameter is to be solved for."""
        return isinstance(self.rule, Retained) and self.rule.open


@dataclass(frozen=True, slots=True)
class Layout:
    """All released attributes, in the policy's order."""

    treatments: tuple[Treatment, ...]
    allocation: Literal["equal", "optimal", "fixed"]

    @property
    def solved(self) -> tuple[str, ...]:
        """Return the attributes whose parameters are to be solved for."""
        return tuple(t.attribute.name for t in self.treatments if t.solved)

    @property
    def fixed(self) -> bool:
        """Whether the policy alone determines the channel."""
        return all(
            not t.solved
            and (t.attribute.domain is not None or not t.attribute.categorical)
            and not (isinstance(t.rule, Invariant) and t.rule.marginal is None)
            for t in self.treatments
        )
