"""What every result other than a table of counts is: estimates by name, with standard errors for both targets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from rrpolicy.canonical import Json, Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.flags import Marks
from rrpolicy.estimate.results.intervals import Ends
from rrpolicy.estimate.results.possible import clipped
from rrpolicy.estimate.results.target import Spoken, Target
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.results.plot import Figure

Interval: TypeAlias = Literal["tested", "normal", "chebyshev"]


@dataclass(frozen=True)
class Estimates:
    """Estimates of one kind, one a row.

    Attributes:
        target: what intervals speak of: this table, or the population it was drawn from.
        level: of the intervals.
        records: N.
        where: the condition, as asked.
        keys: what each row is of, by column.
        estimate: (rows,) NaN where it cannot be estimated.
        errors: target -> (rows,) standard errors; NaN where no interval belongs to the estimate.
        range: (rows, 2) what an interval is clipped to; estimates are not.
        estimator: (rows,) `moment`, `EM` or `not estimable`.
        flags: (rows,) for the target; see `MEANINGS`. That there is none promises nothing.
        ends: the intervals that are shown, by level and target.
        max_records: the most records that a unit may have; of several, nothing is said of the population.
    """

    schema: ClassVar[str] = "rrpolicy.estimates/1"

    target: Target
    level: float
    records: int
    where: str | None
    keys: tuple[Mapping[str, Value], ...] = field(repr=False)
    estimate: Array
    errors: Mapping[Target, Array] = field(repr=False)
    range: Array = field(repr=False)
    estimator: tuple[str, ...] = field(repr=False)
    flags: Marks = field(repr=False)
    ends: Ends = field(repr=False)
    max_records: int = field(default=1, repr=False, kw_only=True)

    def se(self, target: Target | None = None) -> Array:
        """Return (rows,) standard errors (delta method).

        Raises:
            PolicyError: RR271 for another target; RR247 for the population if a unit may have several records.
        """
        return self.errors[Spoken(self.target, self.max_records).of(target)]

    def conf_int(
        self, level: float | None = None, target: Target | None = None, interval: Interval = "tested"
    ) -> Array:
        """Return (rows, 2) intervals inside what is possible; infinite where an end is not bounded.

        Args:
            level: default that of the result.
            target: default that of the result.
            interval: "tested": the values that a test of the estimate does not reject, by scores for measures, by
                Fieller for means and shares; of totals, the normal one. "normal" is right in large releases only.
                "chebyshev" holds for any distribution with a known standard error, approximately with an estimated
                one, and is 2.3 times as long at 95 %.

        Raises:
            PolicyError: RR271 for another level or target, RR278 for another interval; RR247 as of `se`.
        """
        level = self.level if level is None else level
        target = Spoken(self.target, self.max_records).of(target, level)
        if interval == "tested":
            return self.ends(level, target)
        half = factor(interval, level) * self.se(target)
        return clipped(self.estimate, half, self.range)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: what each row is of, estimate, se, intervals, estimator, marks (its flags)."""
        import pandas as pd

        frame = pd.DataFrame({name: [key[name] for key in self.keys] for name in self._key_names})
        ends, wide = self.conf_int(), self.conf_int(interval="chebyshev")
        named = (
            ("estimate", self.estimate),
            ("se", self.se()),
            ("low", ends[:, 0]),
            ("high", ends[:, 1]),
            ("low_chebyshev", wide[:, 0]),
            ("high_chebyshev", wide[:, 1]),
            ("estimator", list(self.estimator)),
            ("marks", ["; ".join(f) for f in self.flags]),
        )
        for name, values in named:
            frame[_free(name, self._key_names)] = values
        return frame

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; numbers that are not there are null."""
        ends, normal, wide = (self.conf_int(interval=i) for i in ("tested", "normal", "chebyshev"))
        return {
            "schema": self.schema,
            "target": self.target,
            "level": self.level,
            "records": self.records,
            "where": self.where,
            "rows": [
                {
                    "of": dict(key),
                    "estimate": number(estimate),
                    "se": number(se),
                    "low": number(low),
                    "high": number(high),
                    "not_bounded": not_bounded(low, high),
                    "normal": [number(v) for v in plain],
                    "chebyshev": [number(v) for v in chebyshev],
                    "estimator": estimator,
                    "marks": list(flags),
                }
                for key, estimate, se, (low, high), plain, chebyshev, estimator, flags in zip(
                    self.keys, self.estimate, self.se(), ends, normal, wide, self.estimator, self.flags, strict=True
                )
            ],
        }

    def summary(self) -> str:
        """Return the rows as text, with what they are above and what their marks mean below."""
        from rrpolicy.estimate.results.text import estimates_summary

        return estimates_summary(self, self.title)

    def plot(self) -> Figure:
        """Return a dot-and-interval plot as SVG, one line a row."""
        from rrpolicy.estimate.results.plot import forest

        names = [", ".join(str(v) for v in key.values()) for key in self.keys]
        marks = [(float(e), float(a), float(b)) for e, (a, b) in zip(self.estimate, self.conf_int(), strict=True)]
        return forest(names, marks, f"{self.title}, {100 * self.level:g} % intervals: this {self.target}")

    @property
    def title(self) -> str:
        """Return what the estimates are, in words."""
        return "Estimates"

    @property
    def _key_names(self) -> tuple[str, ...]:
        return tuple(self.keys[0]) if self.keys else ()


def factor(interval: str, level: float) -> float:
    """Return how many standard errors an interval reaches to each side.

    Raises:
        PolicyError: RR278 for an unknown kind of interval.
    """
    match interval:
        case "normal":
            return NormalDist().inv_cdf((1 + level) / 2)
        case "chebyshev":
            return 1 / math.sqrt(1 - level)
        case _:
            raise PolicyError(
                Problem("RR278", f"no such interval: {interval!r}", expected='"tested", "normal" or "chebyshev"')
            )


def not_bounded(low: float, high: float) -> list[Json]:
    """Return which ends of an interval are not bounded."""
    return [name for name, end in (("low", low), ("high", high)) if math.isinf(end)]


def number(value: float) -> float | None:
    """Return a number as JSON can hold it."""
    return float(value) if math.isfinite(value) else None


def _free(name: str, taken: tuple[str, ...]) -> str:
    return f"{name} (result)" if name in taken else name
