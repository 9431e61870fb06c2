"""The possible targets of estimates (this table, or the population), and the sampling design behind them."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.numbers import plain_number

Target: TypeAlias = Literal["table", "population"]

WEIGHTS_INSIDE = Problem(
    "RR549",
    "the publisher kept the survey's weights: the number of people that a record represents is not in the release",
    expected='the target "table"; without --population, this table is estimated, with equal weights',
    hint="known totals of the population can replace weights: `release.with_design(totals=...)`, or --design "
    "totals=FILE",
)
UNWEIGHTED = (
    "the publisher kept the survey's weights: every record has equal weight, and no estimate describes the population"
)
CHANGED = Problem(
    "RR271",
    "how two tables differ reveals nothing about the population that they were drawn from",
    expected='the target "table"',
)


class Sample(Struct, frozen=True):
    """The sampling design of the records.

    Attributes:
        degrees: degrees of freedom of the variance: clusters, or records, less strata.
        population_size: estimated size of the population.
        description: the design, in words.
        notes: notes that are required to read the errors.
    """

    degrees: int
    population_size: float
    description: str
    notes: tuple[str, ...] = ()

    def degrees_for(self, target: Target) -> float:
        """Return the degrees of freedom of intervals; of the randomisation alone no clusters limit them."""
        return float(max(self.degrees, 1)) if target == "population" else math.inf


def check_target(target: str, level: float, max_records: int = 1) -> None:
    """Refuse an unknown target or level, and the population if its variance cannot be estimated.

    Raises:
        PolicyError: RR271; RR247 for the population of a release with several records per unit.
    """
    if target not in {"table", "population"}:
        raise PolicyError(Problem("RR271", f"no such target: {target!r}", expected='"table" or "population"'))
    if target == "population":
        refuse_repeated_units(max_records)
    if not 0 < level < 1:
        raise PolicyError(
            Problem("RR271", f"the level {level} is not between 0 and 1", expected=f"such as {plain_number(LEVEL)}")
        )


class TargetScope(Struct, frozen=True):
    """The possible targets of a result's standard errors and intervals.

    Attributes:
        target: the default target.
        max_records: the most records that a unit may have.
        unknown: the reason for which the population cannot be estimated; None if it can.
    """

    target: Target
    max_records: int = 1
    unknown: Problem | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        """Return every possible target."""
        return ("table", "population") if self.max_records == 1 and self.unknown is None else ("table",)

    def of(self, target: Target | None = None, level: float = LEVEL) -> Target:
        """Return the given target, or the default one; raises as `check_target` does."""
        check_target(target or self.target, level, self.max_records)
        if target == "population" and self.unknown is not None:
            raise PolicyError(self.unknown)
        return target or self.target


def refuse_repeated_units(max_records: int) -> None:
    """Refuse the population as a target if a unit may have several records.

    Such records are not independent draws from it, and a release does not show which belong together. This table's
    variance is that of the randomisation alone, in which every record is drawn by itself.

    Raises:
        PolicyError: RR247.
    """
    if max_records > 1:
        message = f"a person may have up to {max_records} records: the table is not a sample of independent records"
        hint = "estimate this table: leave out --population; which records belong together is not released"
        raise PolicyError(Problem("RR247", message, expected='the target "table"', hint=hint))
