"""The candidates that a release was compared with: audit/comparison.json, and its section of the audit report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Literal

from rrpolicy.finding import BOUND_WORDS, Bound, Measure
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.report import AlternativeRow, Alternatives
from rrpolicy.reports.protection_panel import guess_sentences
from rrpolicy.reports.risk_map import RiskMapPoint, risk_map
from rrpolicy.serialization.fields import SPARSE
from rrpolicy.wording import COMPANION_DIGITS, measure_words


@frozen
class ComparisonQuantity:
    """A measure by which candidates are compared.

    Attributes:
        id: of the requirement or gate, or of an error that is always measured.
        meaning: in a sentence.
        better: which numbers are better.
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


@frozen
class ComparedCandidate:
    """One candidate of the comparison.

    Attributes:
        label: displayed name.
        mechanism: its name.
        policy: name, version and digest; None if it is no valid policy.
        outcome: whether a release would pass; `refused` if it was not planned.
        released: whether it is the release itself.
        risk: None if unknown.
        conditional: whether the risk is conditional on derived statistics.
        error: None if unknown.
        front: whether it is on the Pareto front.
        recommended: whether it is the recommendation.
        problems: reasons why it does not pass, each with its code.
        unmet: requirements of the first candidate's file that it is not known to satisfy, if it passes.
        protection: protection of the release; None if unknown.
        unchanged: columns that are released exactly.
        usable: whether some one-way and some two-way table is better than equal shares.
    """

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
    protection: ReleaseProtection | None = field(default=None, metadata=SPARSE)
    unchanged: tuple[str, ...] = field(default=(), metadata=SPARSE)
    usable: bool = field(default=True, metadata=SPARSE)


@frozen
class AlternativesRecord:
    """Candidates that a release was compared with; confidential, as they were computed from the table.

    Attributes:
        release: digest of its release.json.
        rrpolicy: version of the comparison.
        risk: of the map; None if no two candidates could be compared.
        error: likewise.
        candidates: in order, including the release itself.
        reason: of the recommendation.
        rule: of the recommendation.
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
            *(f"falls short of what the first one asks: {text}" for text in one.unmet),
        ),
        protection=tuple(guess_sentences(one.protection)),
        unchanged=one.unchanged,
        usable=one.usable,
    )
