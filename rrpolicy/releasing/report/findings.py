"""Findings and utility as rows of the report. Both pages come from one JSON; the public one holds fewer numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from rrpolicy.canonical import parse_number
from rrpolicy.finding import CONDITION, VALUE, Measure, Standing, Verdict
from rrpolicy.releasing.report.not_covered import not_covered
from rrpolicy.releasing.report.stored_findings import measure_from_json
from rrpolicy.releasing.report.wording import FEWER, apart, direction, gauge, margin, worded
from rrpolicy.report import Beside, FindingRow, Histogram, UtilityRow
from rrpolicy.section import figure, rational

MEASURED = "measured"
"""The verdict of a finding without a limit."""


def finding_row(finding: Mapping[str, Any], models: Mapping[str, object], file: str | None = None) -> FindingRow:
    """Return a finding as the page shows it.

    Args:
        finding: what `Finding.to_json` wrote, with the numbers that the page may show.
        models: loaded privacy models by name; each may say itself what it does not cover.
        file: the name of the policy file that asks for it, which may be one that is extended; audit page only.
    """
    reached = measure_from_json(finding["reached"])
    exact_limit = None if finding.get("limit_exact") is None else Fraction(str(finding["limit_exact"]))
    limit = None if exact_limit is None else float(exact_limit)
    verdict = None if finding["verdict"] is None else Verdict(finding["verdict"])
    side = direction(finding["requirement"], None if reached is None else reached.value, limit, verdict)
    both = reached is not None and limit is not None
    return FindingRow(
        model=finding["model"],
        requirement=finding["requirement"],
        verdict=MEASURED if verdict is None else verdict.value,
        reached=None if reached is None else worded(reached, side, limit),
        standing=None if reached is None else reached.standing.value,
        limit=None if exact_limit is None else f"{side} {rational(exact_limit)}",
        margin=margin(reached.value, limit) if both and reached and limit is not None else None,
        gauge=gauge(reached.value, limit, side) if both and reached and limit is not None else None,
        basis=finding["basis"],
        adversary=finding["adversary"],
        assumptions=tuple(finding["assumptions"]),
        beside=tuple(_beside(companion, limit) for companion in finding["beside"]),
        not_covered=not_covered(finding["model"], models),
        histogram=_histogram(finding.get("profile")),
        groups_over=finding.get("groups_over"),
        people_over=finding.get("people_over"),
        reference=finding["reference"],
        assessor=finding["assessor"],
        place=_place(finding.get("place"), file),
        reached_of=None if reached is None else _of(reached, finding["beside"]),
        given=tuple(finding["given"]),
    )


def _of(reached: Measure, beside: Sequence[Mapping[str, Any]]) -> str | None:
    """Return which value the number reached is of: limits may differ by value, and the largest may not decide."""
    same = {
        companion["of"]
        for companion in beside
        if VALUE in companion.get("of", "") and parse_number(companion["measure"]["value"]) == reached.value
    }
    return same.pop() if len(same) == 1 else None


def _beside(companion: Mapping[str, Any], limit: float | None) -> Beside:
    measure = measure_from_json(companion["measure"])
    if measure is None:
        raise ValueError(f"the number beside a finding is missing: {companion['name']}")
    return Beside(
        companion["name"],
        worded(measure, limit=limit, digits=FEWER),
        measure.standing.value,
        companion["meaning"],
        companion.get("of", ""),
        tuple(companion["given"]),
    )


def _histogram(profile: Mapping[str, Any] | None) -> Histogram | None:
    if profile is None:
        return None
    return Histogram(
        profile["quantity"],
        tuple(parse_number(edge) for edge in profile["edges"]),
        tuple(profile["people"]),
        None if profile["before"] is None else tuple(profile["before"]),
        tuple((row["group"], parse_number(row["value"]), row["people"]) for row in profile["top"]),
    )


def _place(place: Mapping[str, Any] | None, file: str | None) -> str | None:
    if place is None:
        return None
    key = f", {place['key']}" if place.get("key") else ""
    return f"{f'{file}, ' if file else ''}line {place['line']}{key}"


def utility_row(finding: Mapping[str, Any], realised: Measure | None = None) -> UtilityRow:
    """Return a [[utility]] entry as the page shows it.

    Args:
        finding: what `UtilityFinding.to_json` wrote.
        realised: what the draw attained; audit page only.
    """
    expected = measure_from_json(finding if finding["value"] is not None else None)
    exact_limit = Fraction(str(finding["limit_exact"]))
    limit = float(exact_limit)
    options = finding.get("options") or {}
    attributes = options.get("attributes") if isinstance(options, dict) else None
    population = isinstance(options, dict) and options.get("target") == "population"
    shown = None
    if expected is not None:
        shown = worded(expected) if expected.standing is not Standing.EXACT else apart(expected.value, (limit,))
    return UtilityRow(
        metric=finding["metric"] + (", for the population" if population else ""),
        attributes=", ".join(attributes) if attributes else "every randomised attribute",
        expected=shown,
        standing=None if expected is None else expected.standing.value,
        limit=f"at most {rational(exact_limit)}",
        verdict=finding["verdict"],
        gauge=None if expected is None else gauge(expected.value, limit, "at most"),
        realised=None if realised is None else worded(realised),
        meaning=finding["meaning"],
    )


def decision(findings: Sequence[FindingRow], utility: Sequence[UtilityRow]) -> tuple[bool, str]:
    """Return whether everything holds, and the sentence that heads the page."""
    privacy = [(f"{row.model}, {row.requirement}", row.verdict) for row in findings if row.verdict != MEASURED]
    useful = [(f"{row.metric} {row.limit}", row.verdict) for row in utility if row.verdict is not None]
    failing = [f"{name} ({verdict})" for name, verdict in privacy + useful if verdict != Verdict.HOLDS.value]
    if failing:
        asked = len(privacy) + len(useful)
        return False, f"Not every limit holds: {len(failing)} of {asked}. {'; '.join(failing)}."
    if not privacy:
        return False, "The policy asks for nothing: no privacy requirement was stated."
    kept = (
        "The privacy requirement holds"
        if len(privacy) == 1
        else f"All {figure(len(privacy))} privacy requirements hold"
    )
    if any(row.given for row in findings):
        kept += f", {CONDITION}"
    if not useful:
        return True, f"{kept}."
    also = "the utility limit" if len(useful) == 1 else f"all {figure(len(useful))} utility limits"
    return True, f"{kept}, and so {'does' if len(useful) == 1 else 'do'} {also}."
