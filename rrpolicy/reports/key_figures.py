"""The three tiles at the top of a page: re-identification, reading a sensitive value, and utility.

Each shows the worst number found for any person, never a smaller one, and whether the policy limits it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rrpolicy.declarations import Role
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.finding import MAXIMUM_POSTERIOR, VALUE, Companion, Finding, Measure, Risk, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.numbers import (
    CERTAIN,
    NEARLY_CERTAIN,
    NO_LIMIT,
    at_most_in_hundred,
    figure,
    level_percent,
    percentage_points,
    rough_percent,
    up_to_percent,
)
from rrpolicy.report import Tile
from rrpolicy.reports.attributes import unmodified_attributes
from rrpolicy.reports.bounded_risks import bounded_risks, linkage_attacker, stated_likelihood
from rrpolicy.wording import sentence, standing_words

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.report import MarginalPanel, MarginalRow
    from rrpolicy.reports.attributes import AttributeT

MOST_NAMED = 6
"""Maximum number of columns that a sentence lists."""
LIKELY = 0.5
"""Probability from which a reader would call it disclosure: an attacker is more often right than wrong."""
NOT_MEASURED = "not measured"
"""Figure of a tile without a number."""
UNSAID = "No requirement of this policy limits it."
UNMEASURED_SUFFIX = "was not measured"
"""Suffix for sensitive attributes without a finding on guesses."""
HIDDEN = "A requirement limits it; the number is not on this page."
LOOK_ALIKE = "who knows how common its values are among people who look alike"
HOLDS_RECORD = f"{LOOK_ALIKE}, and which record is the person's"
LINKED, READING_TITLE = "Re-identification", "Reading a value"
"""Titles of the tiles; models begin their guarantees on the same risks with them."""
SAME = 1e-4
"""Relative distance of a probability from 1/k, both rounded, up to which they count as the same number."""


class LargestRisk(Struct, frozen=True):
    """The finding with the largest probability of one risk, and how many people it certainly affects.

    Attributes:
        of: the attribute that is read; "" for re-identification.
        people: number of people for whom the risk is certain; None if not counted.
        conditional: whether it is conditional on statistics derived from the table.
        limited: whether a requirement of the policy bounds this very number.
        attacker: the linking attacker, as named on every page; "" if unknown. For reading, an attacker who does not
            know the frequencies of values in groups.
    """

    risk: Risk
    of: str
    measure: Measure
    meaning: str
    people: Measure | None
    conditional: bool
    limited: bool
    attacker: str = ""

    @property
    def disclosing(self) -> bool:
        """Whether a reader would call it disclosure."""
        return self.measure.value >= LIKELY


def largest_risks(findings: Iterable[Finding]) -> tuple[LargestRisk, ...]:
    """Return the largest probability of each risk and attribute: re-identification first, then by attribute."""
    found = sorted(_risk_candidates(findings), key=lambda c: (c.risk is not Risk.LINKING, c.of))
    largest = []
    for _, group in groupby(found, key=lambda c: (c.risk, c.of)):
        each = list(group)
        worst = max(each, key=lambda c: (c.measure.value, c.limited))
        counted = [c.people for c in each if c.people is not None]
        exact = [m for m in counted if m.standing is Standing.EXACT]
        people = max(exact or counted, key=lambda m: m.value, default=None)
        largest.append(replace(worst, people=people))
    return tuple(largest)


def _risk_candidates(findings: Iterable[Finding]) -> Iterator[LargestRisk]:
    for finding in findings:
        given = bool(finding.given)
        if finding.chance_of is not None and finding.achieved is not None:
            of = next((c.of for c in finding.companions if c.of), "") if finding.chance_of is Risk.READING else ""
            who = f"The success probability of an attacker who {finding.adversary}"
            certain = (o.measure for o in finding.companions if o.certain_of is finding.chance_of)
            people, limited = next(certain, None), finding.limit is not None
            by = _linking_condition(finding.chance_of, finding.model)
            yield LargestRisk(
                finding.chance_of, _subject_attribute(of), finding.achieved, who, people, given, limited, by
            )
        for c in finding.companions:
            if c.chance_of is not None and VALUE not in c.of:
                certain = (o.measure for o in finding.companions if o.certain_of is c.chance_of and o.of == c.of)
                people, limited = next(certain, None), _is_limited_number(finding, c)
                by = (
                    HOLDS_RECORD
                    if c.name == MAXIMUM_POSTERIOR
                    else _linking_condition(c.chance_of, finding.model, c.name)
                )
                yield LargestRisk(
                    c.chance_of, _subject_attribute(c.of), c.measure, c.meaning, people, bool(c.given), limited, by
                )


def _linking_condition(risk: Risk, model: str, number: str = "") -> str:
    return linkage_attacker(model, number) if risk is Risk.LINKING else ""


def _is_limited_number(finding: Finding, companion: Companion) -> bool:
    """Return whether a related probability is the limited quantity in another form, such as 1/k for k."""
    told = finding.achieved
    if finding.limit is None or told is None or companion.chance_of not in bounded_risks(finding.model):
        return False
    if companion.basis is not finding.basis:  # a different number, equal by coincidence
        return False
    return told.value >= 1 and math.isclose(companion.measure.value * told.value, 1.0, rel_tol=SAME)


def _subject_attribute(of: str) -> str:
    """Return the attribute of `disease (the other sensitive values known)`."""
    return of.partition(" (")[0]


def key_figure_tiles(
    findings: Sequence[Finding],
    attributes: Sequence[AttributeT],
    decoders: Sequence[Decoder],
    marginals: Sequence[MarginalPanel] = (),
    errors: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Tile, ...]:
    """Return the tiles.

    A plan has no `marginals`, but `errors`: the root mean squared error of each randomised column's shares together.
    """
    found = largest_risks(findings)
    kept = unmodified_attributes(attributes, decoders)
    return (
        _linking_tile(found, findings, kept),
        _reading_tile(found, findings, attributes, [a for a in kept if a.role is Role.SENSITIVE]),
        _utility_tile(marginals, errors),
    )


def exact_quasi_identifiers(kept: Iterable[AttributeT]) -> list[str]:
    """Return the quasi-identifiers among columns that are released unmodified."""
    return [a.release_as or a.name for a in kept if a.role is Role.QUASI_IDENTIFIER and a.assume_unlinkable is None]


def _linking_tile(found: Sequence[LargestRisk], findings: Sequence[Finding], kept: Sequence[AttributeT]) -> Tile:
    name, exact = LINKED, exact_quasi_identifiers(kept)
    worst = next((c for c in found if c.risk is Risk.LINKING), None)
    if worst is None and exact:
        known = (
            f"{_joined_names(exact)} {_is_or_are(exact)} released exactly: an attacker who knows them of a person finds"
        )
        return Tile(name, NO_LIMIT, f"{known} the records that agree.", "", "open")
    if worst is None:
        bounded = any(Risk.LINKING in bounded_risks(f.model) for f in findings)
        if bounded:
            return Tile(name, "limited", HIDDEN, "", "limited")
        return Tile(name, NOT_MEASURED, UNSAID, "", "plain")
    assumed = [a.release_as or a.name for a in kept if a.assume_unlinkable is not None]
    held: tuple[str, ...] = () if worst.limited else met_linking_limits(findings)
    told = [_linking_sentence(worst), *(sentence(f"Limited by this policy: {promised}") for promised in held)]
    limited, shown = _limit_sentence(worst, partly=bool(held)), at_most_in_hundred(worst.measure.end("max"))
    if assumed and worst.measure.value < CERTAIN - NEARLY_CERTAIN:
        told.append(f"Not counted: attackers who know {_joined_names(assumed)} of a person.")
        given = f"if nobody knows {_joined_names(assumed)} (not checked)"
        return Tile(name, shown, " ".join(told), f"{limited[:-1]}, {given}.", "open")
    return Tile(name, shown, " ".join(told), limited, _tile_tone(worst))


def _linking_sentence(worst: LargestRisk) -> str:
    """Return a sentence on the attacker and the people that the largest probability of re-identification applies to."""
    if worst.attacker and worst.measure.value >= CERTAIN - NEARLY_CERTAIN:
        return sentence(f"{worst.attacker[0].upper()}{worst.attacker[1:]} may link a person to a record")
    return sentence(worst.meaning)


def met_linking_limits(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the guarantees of met requirements on re-identification, without a full stop."""
    start = f"{LINKED}: "
    return tuple(
        f"{f.promise.removeprefix(start).removesuffix('.')} ({f.model})"
        for f in findings
        if f.verdict is Verdict.SATISFIED and f.promise.startswith(start)
    )


def _reading_tile(
    found: Sequence[LargestRisk],
    findings: Sequence[Finding],
    attributes: Sequence[AttributeT],
    kept: Sequence[AttributeT],
) -> Tile:
    name = READING_TITLE
    sensitive = {a.name: a.release_as or a.name for a in attributes if a.role is Role.SENSITIVE}
    if not sensitive:
        return Tile(name, "none released", "The policy declares no released column as sensitive.", "", "plain")
    told = {c.of: c for c in found if c.risk is Risk.READING}
    known = [c for c in told.values() if any(a in c.of.split(" x ") for a in sensitive)]
    exact = [a.name for a in kept if not any(a.name in c.of.split(" x ") for c in known)]
    rest = unmeasured_sentence(found, findings, attributes, kept)
    sentences = [_unlimited_sentence(exact, sensitive)] if exact else []
    sentences += [guess_sentence(c) for c in sorted(known, key=lambda c: -c.measure.value)]
    sentences += [sentence(rest)] if rest else []
    if exact:
        return Tile(name, "not limited", " ".join(sentences), "", "open")
    if not known:
        return Tile(name, NOT_MEASURED if rest else "not on this page", " ".join(sentences) or HIDDEN, "", "plain")
    worst = max(known, key=lambda c: c.measure.value)
    bounds = [f for f in findings if Risk.READING in bounded_risks(f.model) and f.limit is not None and f.promise]
    partly = [] if worst.limited else [f.promise for f in bounds if stated_likelihood(f.model) is Risk.READING]
    sentences += [f"Limited by this policy: {text.removeprefix(f'{READING_TITLE}: ')}" for text in partly]
    return Tile(
        name,
        up_to_percent(worst.measure.end("max")),
        " ".join(sentences),
        _limit_sentence(worst, partly=bool(partly)),
        _tile_tone(worst),
    )


def guess_sentence(chance: LargestRisk) -> str:
    """Return a sentence on how well an attribute is guessed, and for how many people with certainty."""
    many, sure = chance.people, ""
    if many is not None and many.value:
        people = "person" if many.value == 1 else "people"
        sure = f" (for {standing_words(many, figure)} {people} it can be known for certain)"
    limit = "limited by this policy" if chance.limited else "not limited by this policy"
    who, most = chance.attacker or LOOK_ALIKE, up_to_percent(chance.measure.end("max"))
    return f"{_code_quoted(chance.of)} can be guessed with {most} by an attacker {who}{sure}, {limit}."


def _code_quoted(of: str) -> str:
    return f"`{of}`"


def _joined_names(names: Iterable[str]) -> str:
    *others, last = map(_code_quoted, names)
    return f"{', '.join(others)} and {last}" if others else last


def _unlimited_sentence(names: Sequence[str], released: Mapping[str, str]) -> str:
    told = _joined_names(released[name] for name in names)
    return (
        f"{told} {_is_or_are(names)} released unmodified: an attacker who knows which record belongs "
        f"to the person reads it."
    )


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def unmeasured_sentence(
    found: Iterable[LargestRisk],
    findings: Sequence[Finding],
    attributes: Iterable[AttributeT],
    kept: Iterable[AttributeT],
) -> str:
    """Return the sensitive attributes without a finding on how well they are guessed; "" if each has one.

    It is also "" if a finding covers only readings and has no number: the page may not show it.
    """
    told = {name for c in found if c.risk is Risk.READING for name in c.of.split(" x ")}
    known = told | {a.name for a in kept}
    rest = [a.release_as or a.name for a in attributes if a.role is Role.SENSITIVE and a.name not in known]
    bounds = [bounded_risks(f.model) for f in findings if Risk.READING in bounded_risks(f.model)]
    if not rest or ({Risk.READING} in bounds and not told):
        return ""
    how = "a requirement limits how much a release changes any guess" if bounds else "no requirement limits it"
    many = f"{_joined_names(rest[:MOST_NAMED])} and {len(rest) - MOST_NAMED:,} more columns"
    return (
        f"how well {many if len(rest) > MOST_NAMED + 1 else _joined_names(rest)} can be guessed {UNMEASURED_SUFFIX}; "
        f"{how}"
    )


def _utility_tile(marginals: Sequence[MarginalPanel], errors: Mapping[str, float]) -> Tile:
    name = "Usefulness"
    if errors:
        worst = max(errors, key=lambda column: errors[column])
        if math.isinf(errors[worst]):
            return Tile(name, "not estimable", f"The shares of {_code_quoted(worst)} cannot be estimated.", "", "open")
        text = f"Root mean squared error of a share of {_code_quoted(worst)}, the largest of a column."
        return Tile(name, f"± {percentage_points(errors[worst])}", text, "", "plain")
    drawn, inside = _widest_intervals(marginals, certain=False), _widest_intervals(marginals, certain=True)
    told = [_interval_sentence(drawn)] if drawn else []
    if inside:
        wide = max(inside, key=lambda column: _half_width(inside[column]))
        told.append("Shares of the released labels are exact; what lies inside a label is known up to")
        told.append(f"± {percentage_points(_half_width(inside[wide]))} ({_code_quoted(wide)}).")
    if told:
        shown = f"± {percentage_points(max(map(_half_width, drawn.values())))}" if drawn else "labels exact"
        return Tile(name, shown, " ".join(told), "", "plain")
    if any(panel.rows for panel in marginals):
        return Tile(name, "exact", "The share of every category of each single column is the table's.", "", "plain")
    return Tile(name, "as released", "No column has a list of categories whose shares could be shown.", "", "plain")


def _interval_sentence(widest: Mapping[str, MarginalRow]) -> str:
    worst = max(widest, key=lambda column: _half_width(widest[column]))
    share = f"estimated at {rough_percent(widest[worst].estimate)}"
    right = f"Shares of {'a' if len(widest) > 1 else 'the'} randomised column are right to"
    widest_of = f"the widest is that of {_code_quoted(widest[worst].category)} in {_code_quoted(worst)}, {share}"
    half_width, level = percentage_points(_half_width(widest[worst])), level_percent(LEVEL)
    return f"{right} ± {half_width} or better ({level} intervals; {widest_of})."


def _widest_intervals(marginals: Sequence[MarginalPanel], *, certain: bool) -> dict[str, MarginalRow]:
    """Return column -> the category with the widest interval, statistical or certain; exact columns are omitted."""
    wide = {
        panel.attribute: max(panel.rows, key=_half_width)
        for panel in marginals
        if panel.rows and panel.of != "labels" and (panel.level >= 1) is certain
    }
    return {name: row for name, row in wide.items() if _half_width(row) > 0}


def _half_width(row: MarginalRow) -> float:
    return (row.high - row.low) / 2


def _limit_sentence(chance: LargestRisk, *, partly: bool) -> str:
    if partly:
        return "Limited against some attackers only."
    return "Limited by this policy." if chance.limited else "Not limited by this policy."


def _tile_tone(chance: LargestRisk) -> Literal["limited", "open", "plain"]:
    return "limited" if chance.limited else "open" if chance.disclosing else "plain"
