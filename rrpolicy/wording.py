"""The words of verdicts, standings and measures: each is here once, for pages, the terminal and reports for CI."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import CONDITION, ERRORS, Companion, Finding, Measure, Standing, UtilityFinding, Verdict
from rrpolicy.numbers import (
    CERTAIN,
    DIGITS,
    NOISE,
    Direction,
    distinguishable_number,
    figure,
    plain_number,
    rough_percent,
)

MET, NOT_MET, UNDECIDED = "met", "not met", "undecided"
VERDICT_WORDS: Mapping[Verdict | None, str] = {
    Verdict.SATISFIED: MET,
    Verdict.FAILED: NOT_MET,
    Verdict.UNDECIDED: UNDECIDED,
    None: "measured",
}
"""Verdict of a requirement -> its word; None is a measurement without a limit. Documents contain the verdict's name."""
MEASURED = "measured"
"""Name in documents of the verdict on a measurement without a limit."""
CONDITIONAL, WAIVED = "met, conditional", "waived"
NOT_FIT = "Not fit for release"
"""The head of a page whose release must not be used."""
UNDECIDED_NOTE = "Undecided: nothing at hand computes this number. What is undecided does not pass."
_STANDING_PREFIX: Mapping[Standing, str] = {
    Standing.EXACT: "",
    Standing.UPPER_BOUND: "at most ",
    Standing.ESTIMATE: "about ",
}
"""Words before a number in a sentence."""
COMPANION_DIGITS = 4
"""Significant digits of related measures."""
_HARDLY = 1e-8
"""A distance from certainty that digits would hide."""
_ULPS = 4
"""Units in the last place of a limit by which a number at it may differ through rounding."""
_NOTHING = 1e-3
"""Relative distance from a limit below which there is no margin."""
SET = " (set by the optimiser)"
_NAMED = 8
"""Maximum number of columns that a sentence lists; for more it gives their number."""


def verdict_word(verdict: str) -> str:
    """Return the word for a verdict as documents name it; any other text, such as a plugin's, unchanged."""
    known: dict[str, Verdict | None] = {MEASURED: None, **{each.value: each for each in Verdict}}
    return VERDICT_WORDS[known[verdict]] if verdict in known else verdict


def requirement_title(finding: Finding) -> str:
    """Return the model of a finding with its requirement, if it has one."""
    return f"{finding.model}: {finding.requirement}" if finding.requirement else finding.model


def verdict_sentence(finding: Finding) -> str:
    """Return a finding as a sentence: `k-anonymity: k >= 2 is met, achieved 3`."""
    title = requirement_title(finding)
    if finding.verdict is Verdict.UNDECIDED:
        return f"{title} is {VERDICT_WORDS[finding.verdict]}"
    number = "" if finding.achieved is None else f", achieved {measure_text(finding.achieved)}"
    if finding.verdict is None:
        return f"{title}: {VERDICT_WORDS[None]}{number}"
    conditional = finding.verdict is Verdict.SATISFIED and bool(finding.given)
    given = f", {CONDITION}: {quoted_list(finding.given)}" if conditional else ""
    return f"{title} is {VERDICT_WORDS[finding.verdict]}{number}{given}"


def all_met_sentence(privacy: int, utility: int) -> str:
    """Return the statement that so many requirements are met: `Both privacy requirements are met`."""
    parts = (
        {1: f"the {what}", 2: f"both {what}s"}.get(number, f"all {number:,} {what}s")
        for number, what in ((privacy, "privacy requirement"), (utility, "utility requirement"))
        if number
    )
    said = " and ".join(parts)
    return f"{said[0].upper()}{said[1:]} {'is' if privacy + utility == 1 else 'are'} {MET}"


def requirements_met(points: int = 0) -> str:
    """Return the head of a page without unmet requirements: `Requirements met; 2 points need judgement`."""
    return f"Requirements {MET}; {judgement_words(points)}" if points else f"Requirements {MET}"


def judgement_words(points: int) -> str:
    """Return the number of points that a person must judge: `1 point needs judgement`."""
    return f"{counted(points, 'point')} {'needs' if points == 1 else 'need'} judgement"


def unmet_and(waived: str = WAIVED) -> str:
    """Return the verdict on an unmet requirement that a waiver permits: `not met, and waived`."""
    return f"{NOT_MET}, and {waived}"


def some_words(some: int, of: int, what: str) -> str:
    """Return the beginning of a statement on some requirements: `1 of 3 requirements is not met`."""
    return f"{some:,} of {counted(of, 'requirement')} {'is' if some == 1 else 'are'} {what}"


def counted(number: int, word: str) -> str:
    """Return a number of things: `1 point`, `2 points`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def measure_text(measure: Measure) -> str:
    """Return a number with its standing for messages and the terminal, in digits that a policy can represent."""
    if measure.standing is Standing.ESTIMATE:
        error = f" ± {plain_number(measure.error, 2)}" if measure.error else ""
        return f"{plain_number(measure.value)}{error} (estimate)"
    return ("at most " if measure.standing is Standing.UPPER_BOUND else "") + plain_number(measure.value)


def measure_words(
    measure: Measure, side: Direction = "at most", limit: float | None = None, digits: int = DIGITS
) -> str:
    """Return a number with its standing for pages: `2.31`, `at most 4.52`, `0.013 ± 0.002`.

    Args:
        measure: the number.
        side: a bound of a quantity that must be large enough is a lower one.
        limit: keeps as many digits as needed to distinguish the two.
        digits: significant ones at least.
    """
    bound = side if measure.standing is Standing.UPPER_BOUND else None
    if bound is None and NOISE < abs(measure.value - CERTAIN) < _HARDLY:
        return f"just {'above' if measure.value > CERTAIN else 'below'} {figure(CERTAIN)}"
    text = distinguishable_number(measure.value, (CERTAIN,) if limit is None else (CERTAIN, limit), digits, bound)
    if measure.standing is Standing.UPPER_BOUND:
        return text if math.isinf(measure.value) else f"{side} {text}"
    if measure.standing is Standing.ESTIMATE:
        return f"{text} ± {figure(measure.error, 2)}" if measure.error else text
    return text


def standing_words(measure: Measure, written: Callable[[float], str]) -> str:
    """Return a number in the form that a function writes, with its standing in words: `at most 5 %`, `about 3`."""
    return _STANDING_PREFIX[measure.standing] + written(measure.value)


def expected_value_text(finding: UtilityFinding) -> str:
    """Return the expected value at a gate: `0.013 ± 0.0002 (estimate from 100 draws, seed 1)`."""
    if finding.expected is None:
        return "unknown without data"
    text = measure_text(finding.expected)
    return f"{text.removesuffix(')')} from {finding.simulated})" if finding.simulated else text


def limit_direction(
    requirement: str, achieved: float | None, limit: float | None, verdict: Verdict | None
) -> Direction:
    """Return the side of its limit on which a requirement is met: by its wording, else by its verdict."""
    if any(sign in requirement for sign in (">", "≥", "at least")):
        return "at least"
    if any(sign in requirement for sign in ("<", "≤", "at most")):
        return "at most"
    if achieved is None or limit is None or achieved == limit or verdict not in {Verdict.SATISFIED, Verdict.FAILED}:
        return "at most"
    return "at least" if (achieved > limit) == (verdict is Verdict.SATISFIED) else "at most"


def margin_text(achieved: float, limit: float, *, solved: bool = False) -> str | None:
    """Return the distance of a number from its limit, and its side; None if one of them is infinite.

    Args:
        achieved: the number.
        limit: the limit.
        solved: an optimiser chose parameters, and goes as far as the limit allows.
    """
    if math.isinf(achieved) or math.isinf(limit):
        return None
    distance = achieved - limit
    where = "above" if distance > 0 else "below"
    if abs(distance) <= max(_NOTHING * abs(limit), _ULPS * math.ulp(limit)):
        off = abs(distance) > _ULPS * math.ulp(limit)
        return f"at the limit{SET if solved else ''}{f', {figure(abs(distance), 3)} {where} it' if off else ''}"
    share = f" ({rough_percent(abs(distance) / abs(limit))} of it)" if limit else ""
    return f"{figure(abs(distance), 3)} {where} the limit{share}"


def used_share_of_limit(achieved: float, limit: float, side: Direction) -> float | None:
    """Return the used share of a limit: 1 at it, more if it is exceeded; None if the share is not a number."""
    over, under = (achieved, limit) if side == "at most" else (limit, achieved)
    if math.isinf(under):
        return 0.0
    return over / under if under > 0 and over >= 0 and math.isfinite(over) else None


def decisive_bound_text(finding: UtilityFinding) -> str:
    """Return the number that decides an estimate; "" for an exact number or an upper bound."""
    if finding.expected is None or finding.expected.standing is not Standing.ESTIMATE:
        return ""
    side = "upper" if finding.bound == "max" else "lower"
    return f", whose {side} end at {ERRORS} standard errors is {plain_number(finding.expected.end(finding.bound))},"


def related_measure_text(related: Companion) -> str:
    """Return a related measure with the value that it is of, marked if it is conditional."""
    of, given = f" of {related.of}" if related.of else "", f", {CONDITION}" if related.given else ""
    return f"{related.name}{of}: {measure_text(related.measure)}{given}"


def sentence(text: str) -> str:
    """Return text that starts with a capital and ends with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) or not text else ".")


def attribute_phrase(sensitive: Collection[str]) -> str:
    """Return the attributes of an entry of a policy, in words; "" if it names none."""
    return f" of {' and '.join(f'`{name}`' for name in sensitive)}" if sensitive else ""


def columns_phrase(columns: Collection[str]) -> str:
    """Return columns as a phrase of a sentence; of many, the first and the number of the others."""
    shown = [f"`{column}`" for column in columns][:_NAMED]
    more = len(columns) - len(shown)
    if more:
        return f"{', '.join(shown)} and {figure(more)} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
