"""What an estimate can speak of, and how it can be made."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL
from rrpolicy.numbers import plain_number

Target: TypeAlias = Literal["table", "population"]

WEIGHTS_INSIDE = Problem(
    "RR549",
    "the publisher kept the survey's weights: of how many people a record stands for is not in the release",
    expected='the target "table"; without --population, this table is estimated, every record alike',
    hint="known totals of the population can stand in for weights: `release.with_design(totals=...)`, or --design "
    "totals=FILE",
)
UNWEIGHTED = "the publisher kept the survey's weights: every record counts alike, and nothing is said of the population"
CHANGED = Problem(
    "RR271",
    "how two tables differ says nothing of the population that they were drawn from",
    expected='the target "table"',
)


class Sample(Struct, frozen=True):
    """How the records were sampled, where that is known.

    Attributes:
        degrees: of freedom of the variance: clusters, or records, less strata.
        population_size: of the population, as estimated.
        description: the design, in words.
        notes: what must be known of errors.
    """

    degrees: int
    population_size: float
    description: str
    notes: tuple[str, ...] = ()

    def degrees_for(self, target: Target) -> float:
        """Return the degrees of freedom of intervals; of the randomisation alone no clusters limit them."""
        return float(max(self.degrees, 1)) if target == "population" else math.inf


def check_target(target: str, level: float, max_records: int = 1) -> None:
    """Refuse what is no target or no level, and the population where its variance cannot be told.

    Raises:
        PolicyError: RR271; RR247 for the population of a release with several records a unit.
    """
    if target not in {"table", "population"}:
        raise PolicyError(Problem("RR271", f"no such target: {target!r}", expected='"table" or "population"'))
    if target == "population":
        refuse_repeated_units(max_records)
    if not 0 < level < 1:
        raise PolicyError(
            Problem("RR271", f"the level {level} is no probability", expected=f"such as {plain_number(LEVEL)}")
        )


class TargetScope(Struct, frozen=True):
    """What the standard errors and intervals of a result can speak of.

    Attributes:
        target: unless another one is asked for.
        max_records: the most records that a unit may have.
        unknown: why nothing is known of the population; None where something is.
    """

    target: Target
    max_records: int = 1
    unknown: Problem | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        """Return every target that can be asked for."""
        return ("table", "population") if self.max_records == 1 and self.unknown is None else ("table",)

    def of(self, target: Target | None = None, level: float = LEVEL) -> Target:
        """Return the target that is asked for; raises as `check_target` does."""
        check_target(target or self.target, level, self.max_records)
        if target == "population" and self.unknown is not None:
            raise PolicyError(self.unknown)
        return target or self.target


def refuse_repeated_units(max_records: int) -> None:
    """Refuse to speak of the population if a unit may have several records.

    Such records are no independent draws from it, and a release does not tell which belong together. This table's
    variance is that of the randomisation alone, in which every record is drawn by itself.

    Raises:
        PolicyError: RR247.
    """
    if max_records > 1:
        message = f"a person may have up to {max_records} records: the table is no sample of independent records"
        hint = "estimate this table: leave out --population; which records belong together is not released"
        raise PolicyError(Problem("RR247", message, expected='the target "table"', hint=hint))
