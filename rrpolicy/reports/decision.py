"""The top of a page: whether the requirements are met, and points that need judgement nevertheless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channels.decoders import AdditionDecoder
from rrpolicy.declarations import WARNING_PREFIX, Role
from rrpolicy.escaping.printable import condense_sentences, shortened_names
from rrpolicy.finding import CONDITION, WITHHELD, Origin, Risk, Verdict
from rrpolicy.numbers import NO_LIMIT, at_most_in_hundred, figure
from rrpolicy.planning.waivers import REVIEW_REMARKS, warning_id
from rrpolicy.reports.attributes import AttributeT, unmodified_attributes
from rrpolicy.reports.bounded_risks import includes_sensitive_knowledge
from rrpolicy.reports.key_figures import (
    exact_quasi_identifiers,
    guess_sentence,
    largest_risks,
    met_linking_limits,
    unmeasured_sentence,
)
from rrpolicy.wording import MEASURED, MET, NOT_MET, UNDECIDED, WAIVED, all_met_sentence, counted, some_words

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.declarations import Governance
    from rrpolicy.finding import Finding
    from rrpolicy.mechanism import Remark
    from rrpolicy.report import FindingRow, ProtectionPanel, UtilityRow

MOST_IDS = 4
"""Maximum number of statistics that a point lists."""
SUPPRESSED = "suppressed"
"""Name of the remark on the number of suppressed records."""


def decision_summary(findings: Sequence[FindingRow], utility: Sequence[UtilityRow]) -> tuple[bool, str]:
    """Return whether everything is met, and the sentence at the top of the page."""
    privacy = [(f"{row.model}, {row.requirement}", row.verdict) for row in findings if row.verdict != MEASURED]
    useful = [
        (f"{row.metric} {row.limit}", row.verdict) for row in utility if row.verdict is not None and row.waived is None
    ]
    asked = privacy + useful
    open_ = {Verdict.UNDECIDED.value: f" ({UNDECIDED})"}
    failing = [name + open_.get(verdict, "") for name, verdict in asked if verdict != Verdict.SATISFIED]
    if failing:
        return False, f"{some_words(len(failing), len(asked), NOT_MET)}: {'; '.join(failing)}."
    if not privacy:
        return False, "The policy contains no privacy requirement."
    condition = f", {CONDITION}" if any(row.given for row in findings) else ""
    waived = sum(row.waived is not None for row in utility)
    let_be = f" {counted(waived, 'utility requirement')} {'is' if waived == 1 else 'are'} {NOT_MET} and {WAIVED}."
    return True, f"{all_met_sentence(len(privacy), len(useful))}{condition}.{let_be if waived else ''}"


def judgement_points(
    attributes: Sequence[AttributeT],
    decoders: Sequence[Decoder],
    findings: Sequence[Finding],
    governance: Governance,
    remarks: Sequence[Remark] = (),
    *,
    panel: ProtectionPanel | None = None,
) -> tuple[str, ...]:
    """Return points that need judgement although nothing fails; a point common to many columns is listed once.

    A waived problem is not such a point, even if the waiver has ended.
    """
    waived = {waiver.finding for waiver in governance.waivers}
    kept: Sequence[AttributeT] = unmodified_attributes(attributes, decoders)
    warned = (remark for remark in remarks if remark.name in REVIEW_REMARKS)
    left: Iterator[str] = (r.text for r in warned if not waived & {warning_id(r), WARNING_PREFIX + r.name})
    every = (
        *_waiver_points(governance),
        *_open_access_points(governance, panel),
        *_unmodified_points(kept, findings, several=sum(a.role is Role.SENSITIVE for a in attributes) > 1),
        *(() if panel is not None and panel.rows else _disclosure_points(findings, attributes, kept)),
        *_uninformative_set_points(decoders),
        *_assumption_points([f.given for f in findings]),
        *_suppression_points(remarks),
        *left,
    )
    return condense_sentences(every)


def chosen_by_optimiser(origins: Mapping[str, Origin]) -> bool:
    """Return whether an optimiser chose parameters, which goes as far as the limits allow."""
    return any(origin is not Origin.POLICY for origin in origins.values())


def _unmodified_points(
    attributes: Iterable[AttributeT], findings: Sequence[Finding], *, several: bool
) -> Iterator[str]:
    """Yield unmodified columns, and whether findings cover attackers who know a person's values of them."""
    told = [
        known or f.requirement == WITHHELD
        for f in findings
        if (known := includes_sensitive_knowledge(f.model, f.requirement)) is not None
    ]
    unknown = several and bool(told) and not any(told)
    beside = "; no limit of attribute disclosure counts with attackers who know it of a person (`known_sensitive`)"
    for attribute in attributes:
        name = f"'{attribute.release_as or attribute.name}'"
        if attribute.assume_unlinkable is not None:
            yield f"{name} is released unmodified, assuming that it identifies nobody: {attribute.assume_unlinkable}"
        elif attribute.role is Role.SENSITIVE:
            why = f": {attribute.unchanged}" if attribute.unchanged else ""
            yield f"{name} is sensitive and released unmodified{why}{beside if unknown else ''}"


def _disclosure_points(
    findings: Sequence[Finding], attributes: Sequence[AttributeT], kept: Sequence[AttributeT]
) -> Iterator[str]:
    """Yield related numbers that a reader would call disclosure and that no requirement limits.

    Then the sensitive attributes without such numbers.
    """
    exact = exact_quasi_identifiers(kept)
    released = {a.name for a in attributes}
    found = largest_risks(findings)
    held = met_linking_limits(findings)
    if exact and not held and all(one.risk is not Risk.LINKING for one in found):
        yield f"re-identification: {NO_LIMIT} by this policy; {', '.join(map(repr, exact))} as in the table"
    for one in found:
        if one.disclosing and not one.limited:
            if one.risk is Risk.LINKING:
                told = at_most_in_hundred(one.measure.end("max"))
                who = f"re-identification{f' by {one.attacker}' if one.attacker else ''}"
                also = "".join(f"; limited: {text}" for text in held)
                yield f"{who}: {'' if told == NO_LIMIT else f'{told}, '}{NO_LIMIT} by this policy{also}"
            elif not released.isdisjoint(one.of.split(" x ")):
                yield guess_sentence(one).removesuffix(".")
    rest = unmeasured_sentence(found, findings, attributes, kept)
    if rest:
        yield rest


def _suppression_points(remarks: Sequence[Remark]) -> Iterator[str]:
    yield from (r.text for r in remarks if r.name == SUPPRESSED and r.measure is not None and r.measure.value > 0)


def _waiver_points(governance: Governance) -> Iterator[str]:
    """Yield waivers with their approver and last day."""
    yield from (f"`{waiver.finding}` is {waiver}" for waiver in governance.waivers)


def _open_access_points(governance: Governance, panel: ProtectionPanel | None) -> Iterator[str]:
    """Yield a point if weakly protected data have open access."""
    if panel is not None and governance.context.release_model == "public" and panel.tone in {"care", "bad"}:
        yield f"everybody gets the data (`release_model`: public). {panel.heading}".removesuffix(".")


def _uninformative_set_points(decoders: Sequence[Decoder]) -> Iterator[str]:
    for decoder in decoders:
        if isinstance(decoder, AdditionDecoder) and decoder.silent:
            names = ", ".join(f"'{column}'" for column in decoder.columns)
            yield f"{names}: every set contains all values, and nothing can be estimated"


def _assumption_points(given: Sequence[Sequence[str]]) -> Iterator[str]:
    conditional = [ids for ids in given if ids]
    if conditional:
        ids = shortened_names(list(dict.fromkeys(item for each in conditional for item in each)), MOST_IDS)
        told = "requirement is" if len(conditional) == 1 else "requirements are"
        statistics = "the statistics of the table in the description"
        yield f"{figure(len(conditional))} {told} {MET} only given {statistics}: {ids}"
