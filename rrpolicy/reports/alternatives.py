"""The candidates that a release was compared with: audit/comparison.json, and its section of the audit report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from rrpolicy.finding import BOUND_WORDS, Bound, Measure
from rrpolicy.numbers import plain_number
from rrpolicy.plotting.chart import nice_step
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.report import AlternativeRow, Alternatives, MapMark, RiskMap, Tick
from rrpolicy.reports.protection_panel import guess_sentences
from rrpolicy.wording import COMPANION_DIGITS, measure_words

MAP_ROUNDING = 1e-3
"""Relative difference of risks and errors up to which they count as equal: a tie."""
STEPS = 4
"""Approximate number of grid lines of a scale."""
NEAR = (0.03, 0.05)
"""Distance of marks, across and up, below which they share one label."""


class RiskMapPoint(Struct, frozen=True):
    """A candidate's numbers as costs, the greater the worse.

    Attributes:
        spread: uncertainty of its error, to both sides; 0 if it is not an estimate.
    """

    risk: float
    error: float
    spread: float
    passes: bool


def risk_map(
    points: Mapping[int, RiskMapPoint], front: Sequence[int], *, risk_up: bool, error_up: bool
) -> RiskMap | None:
    """Return the map; None without points.

    Infinite costs are omitted. With `risk_up` larger displayed risks are better, and costs are their negatives;
    `error_up` likewise.
    """
    finite = {i: one for i, one in points.items() if math.isfinite(one.risk) and math.isfinite(one.error)}
    if not finite:
        return None
    up = _CostScale([one.risk for one in finite.values()])
    across = _CostScale([one.error + sign * one.spread for one in finite.values() for sign in (-1, 1)])
    labels = _mark_labels({i: (across.at(one.error), up.at(one.risk)) for i, one in finite.items()})
    marks = tuple(
        MapMark(
            i,
            across.at(one.error),
            up.at(one.risk),
            across.at(one.error - one.spread),
            across.at(one.error + one.spread),
            one.passes,
            labels.get(i, ""),
        )
        for i, one in finite.items()
    )
    steps = sorted((mark.across, mark.up) for mark in marks if mark.candidate in front)
    return RiskMap(across.ticks(negative=error_up), up.ticks(negative=risk_up), marks, tuple(steps))


def _mark_labels(places: Mapping[int, tuple[float, float]]) -> Mapping[int, str]:
    """Return the labels of marks: candidates' numbers, those of nearby marks together at the first mark."""
    together: dict[int, list[int]] = {}
    for i, (across, up) in places.items():
        near = (j for j in together if abs(places[j][0] - across) < NEAR[0] and abs(places[j][1] - up) < NEAR[1])
        together.setdefault(next(near, i), []).append(i)
    return {first: ", ".join(map(str, all_of_them)) for first, all_of_them in together.items()}


class _CostScale:
    """Costs on a line from 0 to 1; tied costs share a position, so that a zero difference does not fill the scale."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        largest = max(abs(low), abs(high))
        room = 0.08 * (high - low if high - low > MAP_ROUNDING * largest else largest or 1.0)
        least = low - room
        self._low = 0.0 if least < 0 <= low else least  # no tick below the minimum of a share or a distance
        self._high = high + room

    def at(self, cost: float) -> float:
        return (cost - self._low) / (self._high - self._low)

    def ticks(self, *, negative: bool) -> tuple[Tick, ...]:
        """Return grid lines at round numbers."""
        sign = -1 if negative else 1
        step = nice_step(self._high - self._low, STEPS)
        first, last = math.ceil(self._low / step - 1e-9), math.floor(self._high / step + 1e-9)
        digits = 2 + math.ceil(math.log10(max(abs(self._low), abs(self._high)) / step))
        places = (step * i for i in range(first, last + 1))
        return tuple(Tick(self.at(place), plain_number(sign * place + 0.0, digits)) for place in places)


class ComparisonQuantity(Struct, frozen=True):
    """A measure by which candidates are compared.

    Attributes:
        id: identity of the requirement or gate, or name of an error that is always measured.
    """

    id: str
    meaning: str
    better: Literal["smaller", "larger"]

    def cost(self, measure: Measure) -> float:
        """Return a number that increases as the measure gets worse."""
        return measure.value if self.better == "smaller" else -measure.value

    @property
    def bound(self) -> Bound:
        """Return whether a limit of it would be a maximum or a minimum."""
        return "max" if self.better == "smaller" else "min"

    def told(self, measure: Measure, *, conditional: bool = False) -> str:
        """Return a number of it with its standing, marked if it is conditional on derived statistics."""
        text = measure_words(measure, BOUND_WORDS[self.bound], digits=COMPANION_DIGITS)
        return f"{text} ({measure.standing.value}{', conditional' if conditional else ''})"


class ComparedCandidate(Struct, frozen=True):
    """One candidate of the comparison.

    Attributes:
        policy: name, version and digest; None if it is not a valid policy.
        outcome: whether a release would pass; `refused` if it was not planned.
        risk: None if unknown.
        conditional: whether the risk is conditional on derived statistics.
        error: None if unknown.
        front: whether it is on the Pareto front.
        problems: reasons why it does not pass, each with its code.
        unmet: requirements of the first candidate's file that it is not known to satisfy, if it passes.
        protection: protection of the release; None if unknown.
        usable: whether some one-way and some two-way table is better than equal shares.
    """

    sparse: ClassVar[tuple[str, ...]] = ("protection", "unchanged", "usable")

    label: str
    mechanism: str
    policy: Mapping[str, str] | None
    outcome: Literal["passes", "fails", "refused"]
    released: bool
    risk: Measure | None
    conditional: bool
    error: Measure | None
    front: bool
    recommended: bool
    problems: tuple[str, ...]
    unmet: tuple[str, ...]
    protection: ReleaseProtection | None = None
    unchanged: tuple[str, ...] = ()
    usable: bool = True


class AlternativesRecord(Struct, frozen=True):
    """Candidates that a release was compared with; confidential, as they were computed from the table.

    Attributes:
        risk: the risk of the map; None if no two candidates could be compared.
        candidates: candidates in order, including the release itself.
    """

    schema: ClassVar[str] = "rrpolicy.alternatives/1"
    release: str
    rrpolicy: str
    risk: ComparisonQuantity | None
    error: ComparisonQuantity | None
    candidates: tuple[ComparedCandidate, ...]
    reason: str
    rule: str


def alternatives(found: AlternativesRecord | None) -> Alternatives | None:
    """Return the section of a comparison in the audit report; None without a comparison."""
    if found is None:
        return None
    risk, error = found.risk, found.error
    points = {}
    if risk is not None and error is not None:
        for place, one in enumerate(found.candidates, 1):
            if one.risk is not None and one.error is not None:
                spread = abs(one.error.end(error.bound) - one.error.value)
                passes = one.outcome == "passes"
                points[place] = RiskMapPoint(risk.cost(one.risk), error.cost(one.error), spread, passes)
    front = [place for place, one in enumerate(found.candidates, 1) if one.front]
    larger = [quantity is not None and quantity.better == "larger" for quantity in (risk, error)]
    return Alternatives(
        risk=None if risk is None else risk.id,
        risk_meaning="" if risk is None else risk.meaning,
        error=None if error is None else error.id,
        error_meaning="" if error is None else error.meaning,
        rows=tuple(_alternative_row(one, risk, error) for one in found.candidates),
        map=risk_map(points, front, risk_up=larger[0], error_up=larger[1]),
        reason=found.reason,
        rule=found.rule,
    )


def _alternative_row(
    one: ComparedCandidate, risk: ComparisonQuantity | None, error: ComparisonQuantity | None
) -> AlternativeRow:
    return AlternativeRow(
        label=one.label,
        outcome=one.outcome,
        released=one.released,
        recommended=one.recommended,
        front=one.front,
        risk=None if risk is None or one.risk is None else risk.told(one.risk, conditional=one.conditional),
        error=None if error is None or one.error is None else error.told(one.error),
        problems=(
            *(text.partition(";")[0] for text in one.problems),
            *(f"does not meet the requirements of the first one: {text}" for text in one.unmet),
        ),
        protection=tuple(guess_sentences(one.protection)),
        unchanged=one.unchanged,
        usable=one.usable,
    )
