"""What heads a page: whether the requirements are met, and what a person must judge all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channel.decoders import AdditionDecoder
from rrpolicy.finding import CONDITION, Verdict
from rrpolicy.policy.governance import WARNING
from rrpolicy.policy.model import Role
from rrpolicy.releasing.plan.waivers import WARNINGS, warning_id
from rrpolicy.releasing.report.attributes import A, unmodified
from rrpolicy.releasing.report.findings import MEASURED
from rrpolicy.section import figure
from rrpolicy.untrusted.printable import listed

if TYPE_CHECKING:
    from rrpolicy.channel.decoders import Decoder
    from rrpolicy.mechanism import Remark
    from rrpolicy.policy.governance import Governance
    from rrpolicy.report import FindingRow, UtilityRow


def decision(findings: Sequence[FindingRow], utility: Sequence[UtilityRow]) -> tuple[bool, str]:
    """Return whether everything is met, and the sentence that heads the page."""
    privacy = [(f"{row.model}, {row.requirement}", row.verdict) for row in findings if row.verdict != MEASURED]
    counted = [row for row in utility if row.verdict is not None and row.waived is None]
    useful = [(f"{row.metric} {row.limit}", row.verdict) for row in counted]
    waived = sum(row.waived is not None for row in utility)
    let_be = f" {_number(waived)} utility requirement{_is(waived)} not met and waived." if waived else ""
    failing = [f"{name} ({verdict})" for name, verdict in privacy + useful if verdict != Verdict.SATISFIED.value]
    if failing:
        asked = len(privacy) + len(useful)
        return False, f"{figure(len(failing))} of {figure(asked)} requirements not met: {'; '.join(failing)}."
    if not privacy:
        return False, "The policy asks for nothing: no privacy requirement was stated."
    met = _all(len(privacy), "privacy")
    met += f" and {_all(len(useful), 'utility')}" if useful else ""
    many = len(privacy) + len(useful) > 1
    condition = f", {CONDITION}" if any(row.given for row in findings) else ""
    return True, f"{met[0].upper()}{met[1:]} {'are' if many else 'is'} met{condition}.{let_be}"


def points(
    attributes: Iterable[A],
    decoders: Sequence[Decoder],
    given: Sequence[Sequence[str]],
    governance: Governance,
    remarks: Sequence[Remark] = (),
) -> tuple[str, ...]:
    """Return what needs a person's judgement although nothing fails.

    Args:
        attributes: that are released.
        decoders: of the channel.
        given: of each requirement, the ids of the derived statistics that it is conditional on.
        governance: what is waived is no point, whenever the waiver ended.
        remarks: that the plan made; none where only public/ may be told of.
    """
    waived = {waiver.finding for waiver in governance.waivers}
    warned = (remark for remark in remarks if remark.name in WARNINGS)
    left: Iterator[str] = (r.text for r in warned if not waived & {warning_id(r), WARNING + r.name})
    return (*_unmodified(unmodified(attributes, decoders)), *_silent(decoders), *_conditional(given), *left)


def _unmodified(attributes: Iterable[A]) -> Iterator[str]:
    for attribute in attributes:
        name = f"'{attribute.release_as or attribute.name}'"
        if attribute.assume_unlinkable is not None:
            yield f"{name} is released unmodified on the assumption that it links nobody: {attribute.assume_unlinkable}"
        elif attribute.role is Role.SENSITIVE:
            why = f": {attribute.unchanged}" if attribute.unchanged else ""
            yield f"{name} is sensitive and released unmodified{why}"


def _silent(decoders: Sequence[Decoder]) -> Iterator[str]:
    for decoder in decoders:
        if isinstance(decoder, AdditionDecoder) and decoder.silent:
            names = ", ".join(f"'{column}'" for column in decoder.columns)
            yield f"{names}: every set holds all values, and nothing can be estimated"


def _conditional(given: Sequence[Sequence[str]]) -> Iterator[str]:
    conditional = [ids for ids in given if ids]
    if conditional:
        ids = listed(dict.fromkeys(item for each in conditional for item in each))
        told = "requirement is" if len(conditional) == 1 else "requirements are"
        yield f"{figure(len(conditional))} {told} met only given what the description tells of the table: {ids}"


def _all(number: int, what: str) -> str:
    if number == 1:
        return f"the {what} requirement"
    return f"{'both' if number == 2 else f'all {figure(number)}'} {what} requirements"  # noqa: PLR2004 two are both


def _number(number: int) -> str:
    return "One" if number == 1 else figure(number)


def _is(number: int) -> str:
    return " is" if number == 1 else "s are"
