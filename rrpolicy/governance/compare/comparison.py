"""Result of comparing candidates: their numbers, the Pareto front, and the recommendation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct, field

from rrpolicy.errors import GatedResult, PolicyError, Problem
from rrpolicy.finding import ERRORS, Finding, Measure, Verdict
from rrpolicy.frozen import field_names
from rrpolicy.planning.plan import MarginalError
from rrpolicy.policy.tree.problems import choices_text
from rrpolicy.privacy.protection.grade import POSTERIOR_RISE, ProtectionGrade
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.reports.alternatives import MAP_ROUNDING, ComparisonQuantity
from rrpolicy.serialization import JsonDocument

RULE = (
    "Of the candidates that satisfy every requirement and gate of their own and every requirement of the first "
    "one as its file states it, and that have usable tables: those with the best grade of protection"
    "; of these the "
    "ones whose records raise the probability of a person's true value least (within a tenth of a point, or the noise "
    "of an estimate); of these the one with the least error; of those whose errors cannot be distinguished from "
    "the least "
    f"(within {ERRORS} standard errors of their difference), the one with the lowest risk; of those whose risks differ "
    "from the lowest by at most a thousandth, which is a tie, the one with the smallest error, and then the first."
)


class CandidateOutcome(StrEnum):
    """Outcome of a candidate."""

    PASSES = "passes"
    FAILS = "fails"
    REFUSED = "refused"


class CandidateResult(Struct, frozen=True):
    """A candidate and its results.

    Attributes:
        policy: name, version and digest; None if it is not a valid policy.
        outcome: whether a release would pass; `fails` if it was planned and does not, `refused` if it was not planned.
        findings: identity of a requirement -> its finding; other candidates' requirements included where they apply.
        utility: the expected value at each gate, and the errors that are always measured, by identity.
        expected_errors: errors of single marginals, as `plan` shows them.
        accept: the line under [release] that accepts its derived statistics, if the file does not.
        unmet: requirements of the first candidate, as its file states them, that it does not meet, and the values that
            it attains.
        protection: protection of the release; None if it was not planned, or its document does not state it.
        usable: whether some one-way and some two-way table has a smaller error than equal shares.
    """

    label: str
    file: str
    mechanism: str
    changed: tuple[tuple[str, str], ...]
    policy: Mapping[str, str] | None
    outcome: CandidateOutcome
    problems: tuple[Problem, ...] = ()
    records: int | None = None
    findings: Mapping[str, Finding] = field(default_factory=dict)
    utility: Mapping[str, Measure] = field(default_factory=dict)
    expected_errors: tuple[MarginalError, ...] = ()
    accept: str | None = None
    unmet: tuple[str, ...] = ()
    protection: ReleaseProtection | None = None
    unchanged: tuple[str, ...] = ()
    usable: bool = True

    def risk(self, quantity: ComparisonQuantity | None) -> Measure | None:
        """Return one of its risks; None if unknown."""
        finding = None if quantity is None else self.findings.get(quantity.id)
        return None if finding is None else finding.achieved

    def error(self, quantity: ComparisonQuantity | None) -> Measure | None:
        """Return one of its errors; None if unknown."""
        return None if quantity is None else self.utility.get(quantity.id)

    def shown(self, quantity: ComparisonQuantity) -> str:
        """Return one of its numbers with its standing, marked if it is conditional on derived statistics."""
        finding = self.findings.get(quantity.id)
        measure = self.utility.get(quantity.id) if finding is None else finding.achieved
        given = finding is not None and bool(finding.given)
        return "not known" if measure is None else quantity.told(measure, conditional=given)

    @property
    def passes(self) -> bool:
        """Return whether a release would pass."""
        return self.outcome is CandidateOutcome.PASSES

    @property
    def rank(self) -> int:
        """Return the rank of its grade, 0 for the best; an unknown grade is last."""
        return len(ProtectionGrade) if self.protection is None else self.protection.grade.rank

    @property
    def rise(self) -> Measure:
        """Return how much the records raise the probability of a true value, in the worst column; 0 without columns."""
        ladders = () if self.protection is None else self.protection.ladders
        return max((ladder.rise for ladder in ladders), key=lambda rise: rise.value, default=Measure(0.0))

    @property
    def became(self) -> str:
        """Return the outcome, marked if all its tables are unusable."""
        return self.outcome.value if self.usable else f"{self.outcome.value}, tables not usable"


class ListedRequirement(Struct, frozen=True):
    """A requirement of a candidate, as the document contains it.

    Attributes:
        requirement: the requirement with its limit.
        achieved: the number achieved.
        verdict: null without a limit.
        given: ids of the derived statistics that it is conditional on.
    """

    requirement: str
    achieved: Measure | None
    verdict: Verdict | None
    given: tuple[str, ...]


class ChangedOption(Struct, frozen=True):
    """An option set by the caller.

    Attributes:
        key: key in the policy.
        value: value as given.
    """

    key: str
    value: str


class ListedCandidate(Struct, frozen=True):
    """A candidate, as the document contains it.

    Attributes:
        candidate: its number, from 1.
        label: displayed name.
        file: file of the policy that it is made from.
        mechanism: its name.
        changed: options set by the caller.
        policy: name, version and digest; null if it is not a valid policy.
        outcome: whether a release would pass.
        records: null if it was not planned.
        risks: identity of a requirement -> its result.
        utility: the expected value at each gate, and the errors that are always measured, by identity.
        expected_errors: errors of single marginals.
        protection: null if it was not planned.
        unchanged: columns that are released exactly.
        usable: whether some one-way and some two-way table has a smaller error than equal shares.
        accept: the line under [release] that accepts its derived statistics, if the file does not.
        unmet: requirements of the first candidate that it does not meet, and the values that it attains.
        front: whether no candidate is better in risk and error.
        problems: reasons why it does not pass.
    """

    candidate: int
    label: str
    file: str
    mechanism: str
    changed: tuple[ChangedOption, ...]
    policy: Mapping[str, str] | None
    outcome: CandidateOutcome
    records: int | None
    risks: Mapping[str, ListedRequirement]
    utility: Mapping[str, Measure]
    expected_errors: tuple[MarginalError, ...]
    protection: ReleaseProtection | None
    unchanged: tuple[str, ...]
    usable: bool
    accept: str | None
    unmet: tuple[str, ...]
    front: bool
    problems: tuple[Problem, ...]

    @classmethod
    def of(cls, number: int, row: CandidateResult, *, front: bool) -> Self:
        """Return a candidate with its number, and whether it is on the front."""
        same = set(field_names(cls)) - {"candidate", "changed", "risks", "front"}
        risks = {
            name: ListedRequirement(finding.stated, finding.achieved, finding.verdict, finding.given)
            for name, finding in row.findings.items()
        }
        changed = tuple(ChangedOption(key, value) for key, value in row.changed)
        own: dict[str, Any] = {name: getattr(row, name) for name in same}
        return cls(candidate=number, changed=changed, risks=risks, front=front, **own)


class ComparisonMap(Struct, frozen=True):
    """The axes of the map, and the candidates that no other one dominates.

    Attributes:
        risk: id of the risk; null if no two candidates can be compared.
        error: id of the error; likewise.
        front: numbers of candidates.
    """

    risk: str | None
    error: str | None
    front: tuple[int, ...]


class Recommendation(Struct, frozen=True):
    """The recommended candidate with the reason.

    Attributes:
        candidate: its number among the candidates, from 1; None if no candidate can be recommended.
        reason: the reason, with numbers.
    """

    candidate: int | None
    reason: str
    rule: str = RULE


class CandidateComparison(JsonDocument, Struct, GatedResult, frozen=True):
    """Compared candidates.

    Attributes:
        risks: each requirement that applied to a candidate.
        utilities: each error that was measured.
        risk: axis of the map and the front; None if no two candidates can be compared.
        error: likewise.
        confidential: whether a table, or a release's audit/, was read; else the comparison contains no information on
            people.
        unkept: numbers, from 1, of candidates that are planned again each time although finished candidates are cached.
    """

    schema: ClassVar[str] = "rrpolicy.comparison/1"
    written: ClassVar[tuple[str, ...]] = (
        *("schema", "confidential", "unkept", "candidates", "risks", "utilities", "map"),
        *("recommendation=recommended", "problems"),
    )

    rows: tuple[CandidateResult, ...]
    risks: tuple[ComparisonQuantity, ...]
    utilities: tuple[ComparisonQuantity, ...]
    risk: ComparisonQuantity | None
    error: ComparisonQuantity | None
    confidential: bool = True
    unkept: tuple[int, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the reasons why every candidate is refused; empty if one passes."""
        if any(row.passes for row in self.rows):
            return ()
        return tuple(dict.fromkeys(problem for row in self.rows for problem in row.problems))

    @property
    def front(self) -> tuple[int, ...]:
        """Return the Pareto front: the numbers, from 1, of passing candidates that no other one dominates.

        A candidate dominates another if it is at least as good in risk and error, and better in one of them, by the
        displayed numbers. A candidate without one of the numbers is not on the front.
        """
        points = {i: point for i, row in enumerate(self.rows, 1) if row.passes and (point := self.point(row))}
        return tuple(i for i, one in points.items() if not any(_dominates(other, one) for other in points.values()))

    def point(self, row: CandidateResult) -> tuple[float, float] | None:
        """Return risk and error of a row, the greater the worse; None if one of them is unknown."""
        risk, error = row.risk(self.risk), row.error(self.error)
        if risk is None or error is None or self.risk is None or self.error is None:
            return None
        return self.risk.cost(risk), self.error.cost(error)

    @property
    def recommended(self) -> Recommendation:
        """Return the recommendation by `RULE`; a row that passes but has no known error is not recommended."""
        passing = {i: row for i, row in enumerate(self.rows, 1) if row.passes}
        enough = {i: row for i, row in passing.items() if not row.unmet}
        useful = {i: row for i, row in enough.items() if row.usable}
        known = {i: point for i, row in useful.items() if (point := self.point(row)) is not None}
        if not known:
            return Recommendation(None, self._none(len(passing), len(enough), len(useful)))
        safest = _lowest_risk_candidates({i: self.rows[i - 1] for i in known})
        points = {i: known[i] for i in safest}
        assert self.risk is not None
        assert self.error is not None
        least = min(points, key=lambda i: (points[i][1], points[i][0], i))
        alike = [i for i in points if _within_standard_error(self._error(i), self._error(least))]
        lowest = min(points[i][0] for i in alike)
        tied = {i: points[i] for i in alike if _at_most(points[i][0], lowest)}
        best = min(tied, key=lambda i: (tied[i][1], tied[i][0], i))
        if len(tied) > 1:
            reason = self._tie(best, tied, len(alike))
        else:
            reason = self._reason(best, least, len(points), len(alike), len(known))
        return Recommendation(best, f"{self._safer(best, len(known), len(safest))}{reason}{self._unmet(best)}")

    @property
    def ranked(self) -> tuple[tuple[int, CandidateResult], ...]:
        """Return numbers and candidates in display order: the recommended one, then by use, grade, rise and error."""
        best = self.recommended.candidate

        def key(one: tuple[int, CandidateResult]) -> tuple[bool, bool, bool, int, float, float]:
            place, row = one
            point = self.point(row)
            error = math.inf if point is None else point[1]
            return place != best, not row.passes, not row.usable, row.rank, row.rise.value, error

        return tuple(sorted(enumerate(self.rows, 1), key=key))

    def _safer(self, best: int, known: int, safest: int) -> str:
        """Return the effect of protection on the choice; "" if it excluded no candidate."""
        if known == safest:
            return ""
        row = self.rows[best - 1]
        assert row.protection is not None  # else all would remain
        among = f"candidate {best} protects" if safest == 1 else f"{safest} protect"
        return (
            f"Of {known} candidates with usable tables, {among} best: grade {row.protection.grade.value}, the records "
            f"raise the probability of one person's true value by {POSTERIOR_RISE.figure(row.rise.value)}. "
        )

    def _error(self, place: int) -> Measure:
        found = self.rows[place - 1].error(self.error)
        assert found is not None
        return found

    def _told(self, place: int) -> str:
        assert self.error is not None
        return self.error.told(self._error(place))

    def _numbers(self, place: int) -> str:
        assert self.risk is not None
        return f"error {self._told(place)}, risk {self.rows[place - 1].shown(self.risk)} of {self.risk.id}"

    def _tie(self, best: int, tied: Mapping[int, tuple[float, float]], alike: int) -> str:
        """Return the reason for naming one of several candidates with indistinguishable risk and error.

        `tied` has the risk and error of each, the greater the worse. `alike` counts all candidates with
        indistinguishable errors, including those with higher risks.
        """
        *others, last = tied
        more, beaten = alike - len(tied), ""
        if more:
            beaten = f"; {more} more with such errors {'has a higher risk' if more == 1 else 'have higher risks'}"
        estimated = any(self._error(i).error for i in tied)
        noise = "by less than the noise of the draws" if estimated else "not at all"
        told = (
            f"Candidates {', '.join(map(str, others))} and {last} cannot be distinguished: their risks differ by "
            f"at most "
            f"a thousandth, their errors {noise}{beaten}."
        )
        of_rest = [point for i, point in tied.items() if i != best]
        if tied[best][1] < min(error for _, error in of_rest):
            why = "its estimated error is the smallest"
        elif tied[best][0] < min(risk for risk, _ in of_rest):
            why = "its risk is the lowest by a difference within the tie"
        else:
            why = "it comes first"
        draws = "; more draws (`--draws`) may distinguish them" if estimated else ""
        return f"{told} {best} is recommended because {why}: {self._numbers(best)}{draws}."

    def _reason(self, best: int, least: int, passing: int, alike: int, known: int) -> str:
        told = self._numbers(best)
        if passing < known and passing == 1:
            return f"It has {told}."
        if passing == 1:
            return f"Candidate {best} is the only one to choose from that has both numbers: {told}."
        if alike == 1:
            return f"Of {passing} candidates to choose from, candidate {best} has the least error: {told}."
        first = f", the least error being {self._told(least)} of candidate {least}" if least != best else ""
        chosen = f"candidate {best} has the lowest risk: {told}{first}."
        return f"Of {alike} candidates whose errors cannot be distinguished, {chosen}"

    def _unmet(self, place: int) -> str:
        """Return the requirements of other candidates that one does not satisfy, or that do not apply, as text."""
        findings = self.rows[place - 1].findings
        names = [one.id for one in self.risks]
        met = {name for name in names if name in findings and findings[name].verdict is Verdict.SATISFIED}
        unmet = [name for name in names if name not in met]
        told = f" Requirements of other candidates that it is not known to meet: {', '.join(unmet)}."
        return told if unmet else ""

    def _none(self, passing: int, enough: int, useful: int) -> str:
        if passing and not enough:
            return f"{passing} pass, and none meets the requirements in the first one's file."
        if passing and not useful:
            return (
                "No candidate can be recommended: for each one that passes and meets the first one's "
                "requirements, all one-way or all two-way tables are worse than assuming equal shares."
            )
        if passing:
            return f"{passing} pass, and none has both numbers that they could be compared by."
        return "None passes. Each is listed with its results and its obstacles."

    @property
    def candidates(self) -> tuple[ListedCandidate, ...]:
        """Return the candidates, as the document contains them."""
        return tuple(ListedCandidate.of(i, row, front=i in self.front) for i, row in enumerate(self.rows, 1))

    @property
    def map(self) -> ComparisonMap:
        """Return the axes of the map, as the document contains them."""
        risk, error = (None if axis is None else axis.id for axis in (self.risk, self.error))
        return ComparisonMap(risk, error, self.front)


def _lowest_risk_candidates(rows: Mapping[int, CandidateResult]) -> list[int]:
    best = min(row.rank for row in rows.values())
    graded = {i: row.rise for i, row in rows.items() if row.rank == best}
    least = min(graded.values(), key=lambda rise: rise.value)
    return [
        i
        for i, rise in graded.items()
        if rise.value <= least.value + MAP_ROUNDING or _within_standard_error(rise, least)
    ]


def choose_axis(
    quantities: Sequence[ComparisonQuantity],
    rows: Sequence[CandidateResult],
    what: Literal["risk", "error"],
    named: str | None,
) -> ComparisonQuantity | None:
    """Return the named quantity, or the first that most candidates have: most passing candidates, if any pass."""
    if named is not None:
        known = {one.id: one for one in quantities}
        if named not in known:
            problem = Problem("RR250", f"there is no {what} '{named}'", None, choices_text(list(known)))
            raise PolicyError(problem)
        return known[named]
    passing = [row for row in rows if row.passes] or rows

    def count(quantity: ComparisonQuantity) -> int:
        found = (row.risk(quantity) if what == "risk" else row.error(quantity) for row in passing)
        return sum(measure is not None and math.isfinite(measure.value) for measure in found)

    return max(quantities, key=count, default=None)


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(map(_at_most, one, other)) and not all(map(_at_most, other, one))


def _at_most(one: float, other: float) -> bool:
    """Return whether a cost is at most another one; parameters that were solved for one limit differ by rounding."""
    return one <= other + MAP_ROUNDING * abs(other)


def _within_standard_error(one: Measure, least: Measure) -> bool:
    return abs(one.value - least.value) <= ERRORS * math.hypot(one.error, least.error)
