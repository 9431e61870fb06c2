"""What heads a page: whether the requirements are met, and what a person must judge all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.finding import CONDITION, Verdict
from rrpolicy.policy.governance import WARNING
from rrpolicy.policy.model import Role
from rrpolicy.releasing.plan.waivers import WARNINGS, warning_id
from rrpolicy.releasing.report.attributes import unmodified
from rrpolicy.releasing.report.findings import MEASURED
from rrpolicy.section import figure
from rrpolicy.untrusted.printable import listed

if TYPE_CHECKING:
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.mechanism import Remark
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


def points(manifest: Manifest, findings: Sequence[FindingRow], remarks: Sequence[Remark] = ()) -> tuple[str, ...]:
    """Return what needs a person's judgement although nothing fails.

    Args:
        manifest: of the release.
        findings: as the page shows them.
        remarks: that the plan made; of none where only public/ may be told of.
    """
    return tuple(_points(manifest, findings, remarks))


def _points(manifest: Manifest, findings: Sequence[FindingRow], remarks: Sequence[Remark]) -> Iterator[str]:
    for attribute in unmodified(manifest):
        name = f"'{attribute.release_as}'"
        if attribute.assume_unlinkable is not None:
            yield f"{name} is released unmodified on the assumption that it links nobody: {attribute.assume_unlinkable}"
        elif attribute.role is Role.SENSITIVE:
            why = f": {attribute.unchanged}" if attribute.unchanged else ""
            yield f"{name} is sensitive and released unmodified{why}"
    given = [row for row in findings if row.given]
    if given:
        ids = listed(dict.fromkeys(item for row in given for item in row.given))
        told = "requirement is" if len(given) == 1 else "requirements are"
        yield f"{figure(len(given))} {told} met only given what the description tells of the table: {ids}"
    waived = {waiver.finding for waiver in manifest.governance.waivers}
    for remark in remarks:
        if remark.name in WARNINGS and not waived & {warning_id(remark), WARNING + remark.name}:
            yield remark.text


def _all(number: int, what: str) -> str:
    if number == 1:
        return f"the {what} requirement"
    return f"{'both' if number == 2 else f'all {figure(number)}'} {what} requirements"  # noqa: PLR2004 two are both


def _number(number: int) -> str:
    return "One" if number == 1 else figure(number)


def _is(number: int) -> str:
    return " is" if number == 1 else "s are"
