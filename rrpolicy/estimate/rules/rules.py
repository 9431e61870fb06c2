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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Json, Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.results.estimates import factor, number
from rrpolicy.estimate.results.flags import SELECTED
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.rules.sums import By, RuleSet, rule_set
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.plot import Figure
    from rrpolicy.estimate.rules.errors import RuleErrors

CANDIDATES = 2_000_000


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

    given: tuple[tuple[str, Value], ...]
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
        return f"{', '.join(f'{c} = {v}' for c, v in self.given)} -> {self.then[0]} = {self.then[1]}"


@dataclass(frozen=True)
class Rules:
    """Rules whose estimated support and confidence reach the thresholds.

    Attributes:
        min_support: least support.
        min_confidence: least confidence.
        where: the condition, as asked.
        target: what intervals speak of.
        level: of the intervals.
        records: N.
        sets: every candidate, by the columns that it combines.
    """

    min_support: float
    min_confidence: float
    where: str | None
    target: Target
    level: float
    records: int
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
        return tuple(sorted(self._made(), key=lambda r: (-r.confidence, -r.support, str(r))))

    def compared(self, truth: pd.DataFrame) -> RuleErrors:
        """Compare with the rules of the true table; see `rrpolicy.estimate.rules.errors`."""
        from rrpolicy.estimate.rules.errors import rule_errors

        return rule_errors(self, truth)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame, one row a rule."""
        import pandas as pd

        names = ("given", "then", "support", "support_se", "support_low", "support_high", "confidence")
        more = ("confidence_se", "confidence_low", "confidence_high", "low_chebyshev", "high_chebyshev", "sure")
        rows = [
            (
                ", ".join(f"{c} = {v}" for c, v in r.given),
                f"{r.then[0]} = {r.then[1]}",
                r.support,
                r.support_se,
                *r.support_interval,
                r.confidence,
                r.confidence_se,
                *r.confidence_interval,
                *r.confidence_chebyshev,
                r.sure,
            )
            for r in self.rules
        ]
        return pd.DataFrame(rows, columns=[*names, *more])

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; numbers that are not there are null."""
        return {
            "schema": "rrpolicy.rules/1",
            "min_support": self.min_support,
            "min_confidence": self.min_confidence,
            "where": self.where,
            "target": self.target,
            "level": self.level,
            "records": self.records,
            "notes": [SELECTED] if self.rules else [],
            "rules": [
                {
                    "given": dict(r.given),
                    "then": dict([r.then]),
                    "support": {"estimate": r.support, "se": r.support_se, "interval": list(r.support_interval)},
                    "confidence": {
                        "estimate": r.confidence,
                        "se": number(r.confidence_se),
                        "interval": [number(v) for v in r.confidence_interval],
                        "chebyshev": [number(v) for v in r.confidence_chebyshev],
                    },
                    "sure": r.sure,
                }
                for r in self.rules
            ],
        }

    def summary(self) -> str:
        """Return the rules as text."""
        percent = f"{100 * self.level:g} %"
        lines = [
            f"{len(self.rules):,} rules with support >= {self.min_support:g} and confidence >= {self.min_confidence:g}",
            f"of {sum(s.support.size for s in self.sets):,} candidates; moment estimates, this {self.target}",
            f"{percent} intervals; * both lower ends reach the thresholds as well",
            *([f"note: {SELECTED}"] if self.rules else []),
            "",
        ]
        for r in self.rules:
            support = f"support {r.support:.4f} [{r.support_interval[0]:.4f}, {r.support_interval[1]:.4f}]"
            confidence = (
                f"confidence {r.confidence:.4f} [{r.confidence_interval[0]:.4f}, {r.confidence_interval[1]:.4f}]"
            )
            lines.append(f"{r}: {support}, {confidence}{' *' if r.sure else ''}")
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Return the confidences with intervals as SVG."""
        from rrpolicy.estimate.results.plot import forest

        marks = [(r.confidence, *r.confidence_interval) for r in self.rules]
        title = f"Confidence of rules, {100 * self.level:g} % intervals: this {self.target}"
        return forest([str(r) for r in self.rules], marks, title)

    def _made(self) -> Iterator[Rule]:
        wide = factor("chebyshev", self.level)
        for s, chosen, sure in zip(self.sets, self.chosen(), self.chosen("lower"), strict=True):
            supports, confidences = s.support, s.confidence
            errors, spreads = s.support_se[self.target], s.confidence_se[self.target]
            ends, tops = (s.shaped(ratio.ends(self.level, self.target)) for ratio in (s.supports, s.confidences))
            for cell in map(tuple, np.argwhere(chosen)):
                support, error = float(supports[cell]), float(errors[cell])
                confidence, spread = float(confidences[cell]), float(spreads[cell])
                given, then = s.items(cell)
                yield Rule(
                    given=given,
                    then=then,
                    support=support,
                    support_se=error,
                    support_interval=_pair(ends[cell]),
                    confidence=confidence,
                    confidence_se=spread,
                    confidence_interval=_pair(tops[cell]),
                    confidence_chebyshev=_interval(confidence, wide * spread),
                    sure=bool(sure[cell]),
                )


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
    return Rules(min_support, min_confidence, where, target, level, release.records, sets)


def _pair(ends: Array) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


def _interval(value: float, half: float) -> tuple[float, float]:
    return min(max(value - half, 0.0), 1.0), max(min(value + half, 1.0), 0.0)
