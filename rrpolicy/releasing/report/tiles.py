"""The three tiles that head a page: being found, a secret being learnt, and what the data are good for.

Each shows the worst number that was found for anybody, never a smaller one, and says whether the policy limits it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from rrpolicy.finding import ERRORS, VALUE, Companion, Finding, Measure, Risk, Standing
from rrpolicy.policy.model import Role
from rrpolicy.privacy.risks import bounded_by, likelihood_in
from rrpolicy.releasing.report.attributes import unmodified
from rrpolicy.report import Tile
from rrpolicy.section import figure, sentence

if TYPE_CHECKING:
    from rrpolicy.channel.decoders import Decoder
    from rrpolicy.releasing.report.attributes import A
    from rrpolicy.report import MarginalPanel

LIKELY = 0.5
"""From this chance on a reader would speak of disclosure: an attacker is rather right than wrong."""
CERTAIN = 1.0
UNSAID = "No requirement of this policy speaks of it."
UNBOUNDED = "An attacker who knows all other records may link a person to a record."
NO_LIMIT = "not limited"
LOOK_ALIKE = "who knows how common its values are among people who look alike"
HARDLY = 1e-6
"""What lies nearer to certainty is told as certainty."""
SAME = 1e-4
"""Relative distance of a chance from 1/k, both rounded, up to which they are one number."""
SMALLEST = 0.01
"""Chances below it are told as 1 in so many."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The largest chance of a risk that any finding tells, and of how many people it is certain.

    Attributes:
        risk: which.
        of: the attribute that is read; "" for being linked.
        measure: the chance.
        meaning: what it says, in a sentence.
        people: of how many people it is certain; None if nobody counted them.
        conditional: whether it is conditional on what was derived from the table.
        limited: whether a requirement of the policy bounds this very number.
    """

    risk: Risk
    of: str
    measure: Measure
    meaning: str
    people: Measure | None
    conditional: bool
    limited: bool

    @property
    def disclosing(self) -> bool:
        """Whether a reader would call it disclosure."""
        return self.measure.value >= LIKELY


def chances(findings: Iterable[Finding]) -> tuple[Chance, ...]:
    """Return the largest chance of each risk and attribute: first of being linked, then by attribute.

    Args:
        findings: with the numbers that the page may show.
    """
    found = sorted(_chances(findings), key=lambda c: (c.risk is not Risk.LINKING, c.of))
    largest = []
    for _, group in groupby(found, key=lambda c: (c.risk, c.of)):
        each = list(group)
        worst = max(each, key=lambda c: (c.measure.value, c.limited))
        counted = [c.people for c in each if c.people is not None]
        exact = [m for m in counted if m.standing is Standing.EXACT]
        people = max(exact or counted, key=lambda m: m.value, default=None)
        largest.append(
            Chance(worst.risk, worst.of, worst.measure, worst.meaning, people, worst.conditional, worst.limited)
        )
    return tuple(largest)


def _chances(findings: Iterable[Finding]) -> Iterator[Chance]:
    for finding in findings:
        given = bool(finding.given)
        if finding.chance_of is not None and finding.achieved is not None:
            of = next((c.of for c in finding.companions if c.of), "") if finding.chance_of is Risk.READING else ""
            who = f"The chance of somebody who {finding.adversary}"
            certain = (o.measure for o in finding.companions if o.certain_of is finding.chance_of)
            people, limited = next(certain, None), finding.limit is not None
            yield Chance(finding.chance_of, _attribute(of), finding.achieved, who, people, given, limited)
        for c in finding.companions:
            if c.chance_of is not None and VALUE not in c.of:
                certain = (o.measure for o in finding.companions if o.certain_of is c.chance_of and o.of == c.of)
                people, limited = next(certain, None), _decides(finding, c)
                yield Chance(c.chance_of, _attribute(c.of), c.measure, c.meaning, people, bool(c.given), limited)


def _decides(finding: Finding, companion: Companion) -> bool:
    """Return whether a chance beside a finding is what the requirement limits, told in another way: 1/k beside k."""
    told = finding.achieved
    if finding.limit is None or told is None or companion.chance_of not in bounded_by(finding.model):
        return False
    if companion.basis is not finding.basis:  # another number, that happens to be as large
        return False
    return told.value >= 1 and math.isclose(companion.measure.value * told.value, 1.0, rel_tol=SAME)


def _attribute(of: str) -> str:
    """Return the attribute of `disease (the other sensitive values known)`."""
    return of.partition(" (")[0]


def tiles(
    findings: Sequence[Finding],
    attributes: Sequence[A],
    decoders: Sequence[Decoder],
    marginals: Sequence[MarginalPanel] = (),
    errors: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Tile, ...]:
    """Return the tiles.

    Args:
        findings: with the numbers that the page may show.
        attributes: that are released.
        decoders: of the channel.
        marginals: of the release, with intervals; none of a plan.
        errors: of a plan, the root mean squared error of each randomised column's shares together.
    """
    found = chances(findings)
    kept = unmodified(attributes, decoders)
    return (
        _linking(found, findings, kept),
        _reading(found, findings, attributes, [a for a in kept if a.role is Role.SENSITIVE]),
        _utility(marginals, errors),
    )


def exact_identifiers(kept: Iterable[A]) -> list[str]:
    """Return the quasi-identifiers among columns that are released as they are."""
    return [a.release_as or a.name for a in kept if a.role is Role.QUASI_IDENTIFIER and a.assume_unlinkable is None]


def _linking(found: Sequence[Chance], findings: Sequence[Finding], kept: Sequence[A]) -> Tile:
    name, exact = "Re-identification", exact_identifiers(kept)
    worst = next((c for c in found if c.risk is Risk.LINKING), None)
    if worst is None and exact:
        known = f"{_names(exact)} {_are(exact)} released exactly as in the table: whoever knows them of a person finds"
        return Tile(name, NO_LIMIT, f"{known} the records that agree.", "", "open")
    if worst is None:
        bounded = any(Risk.LINKING in bounded_by(f.model) for f in findings)
        text = "A requirement limits it; the number is not on this page."
        return (
            Tile(name, "limited", text, "", "limited") if bounded else Tile(name, "not measured", UNSAID, "", "plain")
        )
    assumed = [a.release_as or a.name for a in kept if a.assume_unlinkable is not None]
    smaller: list[Finding] = [
        f for f in findings if f.chance_of is Risk.LINKING and f.limit is not None and not worst.limited
    ]
    told = [sentence(worst.meaning) if worst.measure.value < CERTAIN - HARDLY else UNBOUNDED, *map(_smaller, smaller)]
    limited = _limited(worst, partly=bool(smaller))
    if assumed and worst.measure.value < CERTAIN - HARDLY:
        told.append(f"All this is of attackers who do not know {_names(assumed)} of a person.")
        return Tile(name, in_hundred(worst.measure), " ".join(told), f"{limited[:-1]}, on an assumption.", "open")
    return Tile(name, in_hundred(worst.measure), " ".join(told), limited, _tone(worst))


def _smaller(finding: Finding) -> str:
    assert finding.achieved is not None
    who = finding.promise or f"somebody who {finding.adversary}"
    who = who.removeprefix("Re-identification: ")
    return sentence(f"Limited by this policy, {in_hundred(finding.achieved)}: {who}")


def _reading(found: Sequence[Chance], findings: Sequence[Finding], attributes: Sequence[A], kept: Sequence[A]) -> Tile:
    name = "Learning a secret"
    sensitive = {a.name: a.release_as or a.name for a in attributes if a.role is Role.SENSITIVE}
    if not sensitive:
        return Tile(name, "none released", "The policy names no released column as sensitive.", "", "plain")
    told = {c.of: c for c in found if c.risk is Risk.READING}
    known = [c for c in told.values() if any(a in c.of.split(" x ") for a in sensitive)]
    exact = [a.name for a in kept if not any(a.name in c.of.split(" x ") for c in known)]
    rest = [n for n in sensitive if n not in exact and not any(n in c.of.split(" x ") for c in known)]
    sentences = [_unlimited(exact, sensitive)] if exact else []
    sentences += [guessed(c) for c in sorted(known, key=lambda c: -c.measure.value)]
    sentences += [_unmeasured(rest, sensitive, findings)] if rest else []
    if exact:
        return Tile(name, "not limited", " ".join(sentences), "", "open")
    if not known:
        return Tile(name, "not measured", " ".join(sentences), "", "plain")
    worst = max(known, key=lambda c: c.measure.value)
    bounds = [f for f in findings if Risk.READING in bounded_by(f.model) and f.limit is not None and f.promise]
    partly = [] if worst.limited else [f.promise for f in bounds if likelihood_in(f.model) is Risk.READING]
    sentences += [f"Limited by this policy: {text.removeprefix('Learning a secret: ')}" for text in partly]
    return Tile(name, _up_to(worst.measure), " ".join(sentences), _limited(worst, partly=bool(partly)), _tone(worst))


def guessed(chance: Chance) -> str:
    """Return in a sentence how well an attribute is guessed, and of how many people with certainty."""
    many, sure = chance.people, ""
    if many is not None and many.value:
        most = "at most " if many.standing is Standing.UPPER_BOUND else ""
        people = "person" if many.value == 1 else "people"
        sure = f" (for {most}{figure(many.value)} {people} it can be known for certain)"
    limit = "limited by this policy" if chance.limited else "not limited by this policy"
    return f"{_plain(chance.of)} can be guessed with {_up_to(chance.measure)} by somebody {LOOK_ALIKE}{sure}, {limit}."


def _plain(of: str) -> str:
    return f"`{of}`"


def _names(names: Iterable[str]) -> str:
    *others, last = map(_plain, names)
    return f"{', '.join(others)} and {last}" if others else last


def _unlimited(names: Sequence[str], released: Mapping[str, str]) -> str:
    told = _names(released[name] for name in names)
    return f"{told} {_are(names)} released unmodified: whoever knows which record is a person's reads it."


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _unmeasured(names: Sequence[str], released: Mapping[str, str], findings: Sequence[Finding]) -> str:
    told = _names(released[name] for name in names)
    bounded = any(Risk.READING in bounded_by(f.model) for f in findings)
    how = "a requirement limits how much a release changes any guess" if bounded else "no requirement speaks of it"
    return f"How well {told} can be guessed was not measured; {how}."


def _utility(marginals: Sequence[MarginalPanel], errors: Mapping[str, float]) -> Tile:
    name = "Usefulness"
    if errors:
        worst = max(errors, key=lambda column: errors[column])
        if math.isinf(errors[worst]):
            return Tile(name, "not estimable", f"The shares of {_plain(worst)} cannot be estimated.", "", "open")
        text = f"Root mean squared error of a share of {_plain(worst)}, the largest of a column."
        return Tile(name, f"± {points(errors[worst])}", text, "", "plain")
    drawn, inside = _half_widths(marginals, certain=False), _half_widths(marginals, certain=True)
    told = [_drawn(drawn)] if drawn else []
    if inside:
        wide = max(inside, key=lambda column: inside[column])
        told.append("Shares of the released labels are exact; what lies inside a label is known up to")
        told.append(f"± {points(inside[wide])} ({_plain(wide)}).")
    if told:
        shown = f"± {points(max(drawn.values()))}" if drawn else "labels exact"
        return Tile(name, shown, " ".join(told), "", "plain")
    if any(panel.rows for panel in marginals):
        return Tile(name, "exact", "The share of every category of each single column is the table's.", "", "plain")
    return Tile(name, "as released", "No column has a list of categories whose shares could be shown.", "", "plain")


def _drawn(widths: Mapping[str, float]) -> str:
    worst = max(widths, key=lambda column: widths[column])
    told = f"Half a 95 % interval of one share of {_plain(worst)}"
    if len(widths) == 1:
        return f"{told}, where it is widest."
    middle = points(median(widths.values()))
    return f"{told}, the worst of the {figure(len(widths))} randomised columns; median ± {middle}."


def _half_widths(marginals: Sequence[MarginalPanel], *, certain: bool) -> dict[str, float]:
    """Return column -> the largest half width of an interval, of chance or of certain limits; not of what is exact."""
    wide = {
        panel.attribute: max((row.high - row.low) / 2 for row in panel.rows)
        for panel in marginals
        if panel.rows and panel.of != "labels" and (panel.level >= 1) is certain
    }
    return {name: width for name, width in wide.items() if width > 0}


def points(share: float) -> str:
    """Return a difference of shares in percentage points."""
    return f"{figure(100 * share, 2)} points"


def in_hundred(measure: Measure) -> str:
    """Return a chance as people say it, never rounded to less: `at most 5 in 100`, `at most 1 in 400`."""
    chance = measure.value + (ERRORS * measure.error if measure.standing is Standing.ESTIMATE else 0.0)
    if chance >= CERTAIN - HARDLY:
        return NO_LIMIT if chance >= CERTAIN else "nearly certain"
    if chance <= 0:
        return "none"
    if chance < SMALLEST:
        return f"at most 1 in {figure(_down(1 / chance))}"
    return f"at most {math.ceil(round(100 * chance, 6))} in 100"


def _down(number: float) -> float:
    """Return a number with two digits that is not larger."""
    scale = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.floor(number / scale) * scale


def _up_to(measure: Measure) -> str:
    chance = measure.value + (ERRORS * measure.error if measure.standing is Standing.ESTIMATE else 0.0)
    return f"up to {math.ceil(round(100 * min(chance, 1.0), 6))} %"


def _limited(chance: Chance, *, partly: bool) -> str:
    if partly:
        return "Limited against some attackers only."
    return "Limited by this policy." if chance.limited else "Not limited by this policy."


def _tone(chance: Chance) -> Literal["limited", "open", "plain"]:
    return "limited" if chance.limited else "open" if chance.disclosing else "plain"
