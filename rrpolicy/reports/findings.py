"""Findings and utility as rows of the report. Both pages come from one JSON; the public one contains fewer numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rrpolicy.declarations import Waiver
from rrpolicy.errors import Place
from rrpolicy.escaping.printable import visible
from rrpolicy.finding import (
    BOUND_WORDS,
    VALUE,
    Companion,
    Finding,
    Measure,
    Profile,
    Standing,
    UtilityFinding,
    Verdict,
)
from rrpolicy.numbers import Direction, distinguishable_number, rational
from rrpolicy.privacy.model import EVERY_MODEL
from rrpolicy.report import CompanionRow, Fact, FindingRow, Histogram, LimitLine, UtilityRow
from rrpolicy.wording import COMPANION_DIGITS, limit_direction, margin_text, measure_words, used_share_of_limit

UNKNOWN = ("The plugin of this model does not state its limits; contact its author.", *EVERY_MODEL)


def model_caveats(model: str, offered: Mapping[str, object]) -> tuple[str, ...]:
    """Return the caveats on a finding, as stated by its model: see `rrpolicy.privacy.model.PrivacyModel`.

    A model is named by itself, as one of its kinds (`l-diversity/entropy`), or by a measure of its assessors.
    """
    family = model.partition("/")[0]
    if family in offered:
        one = offered[family]
        own = getattr(one, "measures", {}).get(model, getattr(one, "not_covered", None))
    else:
        own = next((m[family] for o in offered.values() if family in (m := getattr(o, "measures", {}))), None)
    return tuple(map(str, own)) if isinstance(own, tuple) and own else UNKNOWN


MEASURED_LABEL = "measured"
"""The verdict of a finding without a limit."""


def finding_row(
    finding: Finding, models: Mapping[str, object], file: str | None = None, *, solved: bool = False
) -> FindingRow:
    """Return a finding as a row of the page.

    `file` is the name of the policy file that requires it, possibly an extended one; audit page only.
    """
    achieved, verdict = finding.achieved, finding.verdict
    limit = None if finding.limit is None else float(finding.limit)
    side = limit_direction(finding.requirement, None if achieved is None else achieved.value, limit, verdict)
    both = None if achieved is None or limit is None else (achieved.value, limit)
    return FindingRow(
        model=finding.model,
        requirement=finding.requirement,
        verdict=MEASURED_LABEL if verdict is None else verdict.value,
        achieved=None if achieved is None else measure_words(achieved, side, limit),
        standing=None if achieved is None else achieved.standing.value,
        limit=None if finding.limit is None else f"{side} {rational(finding.limit)}",
        margin=None if both is None else margin_text(*both, solved=solved),
        basis=finding.basis.name.lower(),
        adversary=finding.adversary,
        assumptions=finding.assumptions,
        companions=tuple(_companion_row(companion, limit) for companion in finding.companions),
        not_covered=model_caveats(finding.model, models),
        histogram=_profile_histogram(finding.profile),
        groups_over=finding.groups_over,
        people_over=finding.people_over,
        reference=finding.reference,
        assessor=finding.assessor,
        place=_place_text(finding.place, file),
        achieved_of=None if achieved is None else _decisive_value(achieved, finding.companions),
        given=finding.given,
        promise=finding.promise,
        used=None if both is None else used_share_of_limit(*both, side),
        by_limit=tuple(Fact(c.of, _companion_by_limit(c, side)) for c in finding.by_limit),
    )


def _companion_by_limit(companion: Companion, side: Direction) -> str:
    """Return the number of a value with the value's limit."""
    assert companion.limit is not None
    limit = "no limit" if companion.limit == 1 else f"required {side} {rational(companion.limit)}"
    return f"{measure_words(companion.measure, side, float(companion.limit))}, {limit}"


def _decisive_value(achieved: Measure, companions: Sequence[Companion]) -> str | None:
    """Return the value that the achieved number is for: limits may differ by value, and the largest may not decide."""
    same = {c.of for c in companions if VALUE in c.of and c.measure.value == achieved.value}
    return same.pop() if len(same) == 1 else None


def _companion_row(companion: Companion, limit: float | None) -> CompanionRow:
    return CompanionRow(
        companion.name,
        measure_words(companion.measure, limit=limit, digits=COMPANION_DIGITS),
        companion.measure.standing.value,
        companion.meaning,
        companion.of,
        companion.given,
    )


def _profile_histogram(profile: Profile | None) -> Histogram | None:
    if profile is None:
        return None
    lines = tuple(LimitLine(limit, of) for of, limit in profile.limits)
    return Histogram(profile.quantity, profile.edges, profile.people, profile.before, profile.top, lines)


def _place_text(place: Place | None, file: str | None) -> str | None:
    if place is None:
        return None
    key = f", {place.key}" if place.key else ""
    return f"{f'{file}, ' if file else ''}line {place.line}{key}"


def utility_row(
    finding: UtilityFinding, realised: Measure | str | None = None, waivers: Sequence[Waiver] = ()
) -> UtilityRow:
    """Return a [[utility]] entry as a row of the page."""
    expected, limit = finding.expected, float(finding.limit)
    population = finding.options.get("target") == "population"
    shown = None
    if expected is not None:
        shown = (
            measure_words(expected)
            if expected.standing is not Standing.EXACT
            else distinguishable_number(expected.value, (limit,))
        )
        shown += f" (from {finding.simulated})" if finding.simulated else ""
    return UtilityRow(
        metric=finding.metric + (", for the population" if population else ""),
        attributes=visible(finding.over) or "every randomised attribute",
        expected=shown,
        standing=None if expected is None else expected.standing.value,
        limit=f"{BOUND_WORDS[finding.bound]} {rational(finding.limit)}",
        verdict=finding.verdict.value,
        realised=measure_words(realised) if isinstance(realised, Measure) else realised,
        meaning=finding.meaning,
        waived=_waiver_approver(finding, waivers),
        companions=tuple(_companion_row(companion, None) for companion in finding.companions),
        used=None
        if expected is None
        else used_share_of_limit(expected.end(finding.bound), limit, BOUND_WORDS[finding.bound]),
    )


def _waiver_approver(finding: UtilityFinding, waivers: Sequence[Waiver]) -> str | None:
    """Return the approver of the waiver if the requirement is unmet, else None."""
    if finding.verdict is Verdict.SATISFIED:
        return None
    return next((str(waiver) for waiver in waivers if waiver.finding == finding.identity), None)
