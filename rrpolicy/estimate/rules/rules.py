"""Association rules with corrected supports and confidences, and their errors where the truth is known.

For a rule X -> Y the support is the share of records with all its categories, the confidence that share divided by the
share of X. With w and v the record weights of (X and Y) and of X, N the records and c the confidence, this table:
N^2 Var(support) = sum w^2 - sum w, (sum v)^2 Var(c) = sum (w - c v)^2 - (sum w - 2 c sum w + c^2 sum v); population:
N/(N-1) times the centred sums of squares (delta method; Guo 2010, chapter 3). Intervals are Fieller's sets.

Rules are chosen by their estimates, so that those listed tend to be too large: their intervals hold for a rule named
before the data were seen, not for the best of many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from rrpolicy.canonical import Json, Value
from rrpolicy.drawing.chart import Line
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.results.drawn import Drawn
from rrpolicy.estimate.results.estimates import factor
from rrpolicy.estimate.results.flags import SELECTED, flags_of
from rrpolicy.estimate.results.intervals import Ratios
from rrpolicy.estimate.results.measured import Column, Measured, joined, named, nothing
from rrpolicy.estimate.results.possible import clipped
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.rules.sums import By, RuleSet, rule_set
from rrpolicy.estimate.weights.base import Mask

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.rules.errors import RuleErrors

CANDIDATES = 2_000_000

_Given: TypeAlias = tuple[tuple[str, Value], ...]
_Items: TypeAlias = tuple[_Given, tuple[str, Value]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        given: column -> category of what is given.
        then: column -> category of what follows.
        support: share of records with all of them.
        support_se: its standard error.
        support_interval: Fieller's.
        confidence: share of those with what is given that have what follows.
        confidence_se: its standard error (delta method).
        confidence_interval: Fieller's.
        confidence_chebyshev: for any distribution, approximately: the standard error is estimated.
        sure: whether both lower ends reach the thresholds.
    """

    given: _Given
    then: tuple[str, Value]
    support: float
    support_se: float
    support_interval: tuple[float, float]
    confidence: float
    confidence_se: float
    confidence_interval: tuple[float, float]
    confidence_chebyshev: tuple[float, float]
    sure: bool

    def __str__(self) -> str:
        return _told(self.given, self.then)


@dataclass(frozen=True, slots=True)
class _Estimated:
    """The rules, row by row: what is given and what follows, support, confidence, and which are sure."""

    items: tuple[_Items, ...]
    support: Measured
    confidence: Measured
    sure: tuple[bool, ...]


@dataclass(frozen=True)
class Rules(Result):
    """Rules whose estimated support and confidence reach the thresholds.

    Attributes:
        min_support: least support.
        min_confidence: least confidence.
        sets: every candidate, by the columns that it combines.
    """

    schema: ClassVar[str] = "rrpolicy.rules/1"

    min_support: float
    min_confidence: float
    sets: tuple[RuleSet, ...] = field(repr=False)

    def chosen(self, by: By = "point") -> tuple[Mask, ...]:
        """Return, for each of `sets`, the rules that reach the thresholds.

        Args:
            by: with the lower ends of the intervals, the estimates, or the upper ends.
        """
        found = []
        for s in self.sets:
            support, confidence = s.support, s.confidence
            if by != "point":
                end = 0 if by == "lower" else 1
                support, confidence = (
                    s.shaped(ratio.ends(self.level, self.target))[..., end] for ratio in (s.supports, s.confidences)
                )
            found.append(s.estimable & (support >= self.min_support) & (confidence >= self.min_confidence))
        return tuple(found)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules, the most confident first."""
        found = self._estimated
        support, confidence = (m.columns(self.level, self.target) for m in (found.support, found.confidence))
        numbers = [*support.values()][:4] + [*confidence.values()][:4]
        return tuple(
            Rule(given, then, s, s_se, (s_low, s_high), c, c_se, (c_low, c_high), wide, sure)
            for (given, then), s, s_se, s_low, s_high, c, c_se, c_low, c_high, wide, sure in zip(
                found.items, *numbers, self._wide, found.sure, strict=True
            )
        )

    def compared(self, truth: pd.DataFrame) -> RuleErrors:
        """Compare with the rules of the true table; see `rrpolicy.estimate.rules.errors`."""
        from rrpolicy.estimate.rules.errors import rule_errors

        return rule_errors(self, truth)

    @property
    def candidates(self) -> int:
        """Return how many rules were looked at."""
        return sum(s.support.size for s in self.sets)

    @property
    def title(self) -> str:
        """Return the thresholds, and how many rules reach them."""
        achieved = f"support >= {self.min_support:g} and confidence >= {self.min_confidence:g}"
        return f"{len(self._estimated.items):,} rules of {self.candidates:,} candidates with {achieved}"

    def shown(self) -> tuple[Column | Measured, ...]:
        """Return what is given and what follows, support and confidence, and whether a rule is sure."""
        found = self._estimated
        wide = zip(*self._wide, strict=True) if self._wide else ((), ())
        return (
            Column("given", tuple(dict(given) for given, _ in found.items)),
            Column("then", tuple(dict([then]) for _, then in found.items)),
            found.support,
            found.confidence,
            Column("sure", found.sure, key=False),
            *(
                Column(f"confidence_{end}_chebyshev", tuple(values), key=False, printed=False)
                for end, values in zip(("low", "high"), wide, strict=True)
            ),
        )

    def facts(self) -> dict[str, Json]:
        """Return the thresholds, and how many candidates were looked at."""
        return {
            "min_support": self.min_support,
            "min_confidence": self.min_confidence,
            "candidates": self.candidates,
        }

    def said_of_method(self) -> str:
        """Return how the rules were estimated, and which are sure."""
        return "moment estimates; sure: both lower ends reach the thresholds as well"

    def named_rows(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Return the rules."""
        return ("rule",), tuple((str(rule),) for rule in self.rules)

    def drawn(self) -> tuple[Drawn, ...]:
        """Return the confidences, beside the least that was asked for."""
        line = Line(self.min_confidence, "the least confidence asked for")
        return (Drawn(self._estimated.confidence, "confidence", line=line),)

    @cached_property
    def _estimated(self) -> _Estimated:
        """Return the rules that reach the thresholds, the most confident first."""
        items: list[_Items] = []
        sure: list[bool] = []
        supports, confidences = [nothing(named("support"))], [nothing(named("confidence"))]
        for s, chosen, certain in zip(self.sets, self.chosen(), self.chosen("lower"), strict=True):
            rows = np.flatnonzero(chosen)
            items += [s.items(cell) for cell in map(tuple, np.argwhere(chosen))]
            sure += certain.reshape(-1)[rows].tolist()
            supports.append(self._measured("support", s.supports.picked(rows)))
            confidences.append(self._measured("confidence", s.confidences.picked(rows)))
        support, confidence = joined(supports), joined(confidences)
        ranks = [
            (-c, -s, _told(*item)) for c, s, item in zip(confidence.estimate, support.estimate, items, strict=True)
        ]
        order = sorted(range(len(items)), key=ranks.__getitem__)
        return _Estimated(
            items=tuple(items[i] for i in order),
            support=support.picked(order),
            confidence=confidence.picked(order),
            sure=tuple(sure[i] for i in order),
        )

    def _measured(self, name: str, ratio: Ratios) -> Measured:
        flags = flags_of(ratio.doubts(self.level, self.target))
        return Measured(named(name), ratio.estimate, ratio.errors(), ratio.ends, flags)

    @property
    def _wide(self) -> list[tuple[float, float]]:
        """Return Chebyshev's intervals of the confidences."""
        confidence = self._estimated.confidence
        half = factor("chebyshev", self.level) * confidence.errors[self.target]
        return [(float(low), float(high)) for low, high in clipped(confidence.estimate, half, np.array([[0.0, 1.0]]))]


def rules(
    release: Release,
    min_support: float,
    min_confidence: float,
    columns: Sequence[str] | None,
    *,
    where: str | None,
    longest: int,
    target: Target,
    level: float,
) -> Rules:
    """Estimate rules; `Release.rules` says how.

    Raises:
        PolicyError: RR277 for thresholds that are no shares, or too many candidates.
    """
    check_target(target, level, release.max_records)
    if not (0 < min_support <= 1 and 0 < min_confidence <= 1 and longest >= 2):  # noqa: PLR2004 - two columns
        message = "a rule needs a least support and a least confidence in (0, 1], and two columns or more"
        raise PolicyError(Problem("RR277", message))
    condition = split(where, release.columns)
    names = tuple(map(release.columns.name, release.columns.axes if columns is None else columns))
    axes = {name: release.columns.axis(name) for name in names}
    subsets = [
        subset
        for size in range(2, longest + 1)
        for subset in combinations(names, size)
        if len({id(axes[c]) for c in subset}) == size
    ]
    candidates = sum(len(s) * math.prod(len(axes[c].original) for c in s) for s in subsets)
    if candidates > CANDIDATES:
        raise PolicyError(
            Problem(
                "RR277",
                f"{candidates:,} candidates are more than {CANDIDATES:,}",
                hint="name fewer columns, or shorter rules (longest=2)",
            )
        )
    sets = tuple(s for subset in subsets for s in rule_set(release, subset, condition))
    return Rules(
        min_support, min_confidence, sets,
        where=where, target=target, level=level, records=release.records, notes=(SELECTED,),
        max_records=release.max_records,
    )  # fmt: skip


def _told(given: _Given, then: tuple[str, Value]) -> str:
    return f"{', '.join(f'{c} = {v}' for c, v in given)} -> {then[0]} = {then[1]}"
