"""Whether a table is the released one: checked first, because later checks rely on it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle.tables.lazy_tables import open_data_table
from rrpolicy.errors import Problem
from rrpolicy.finding import Finding, Standing, Verdict
from rrpolicy.numbers import plain_number
from rrpolicy.verification.audit import AuditFolder
from rrpolicy.verification.outcome import Log, VerificationLevel
from rrpolicy.verification.public import PublicFolder

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.protocol import Original

_LEAST = 1e-300
"""A probability below it is reported as a bound: as a number it would underflow to 0."""


def check_source_consistency(
    log: Log, audit: AuditFolder, side: PublicFolder, original: Original, scratch: Path, *, tagged: bool
) -> Finding | None:
    """Check that a table has the release's number of records, and that the released rows can be a draw from it.

    Args:
        log: takes the checks.
        audit: the audit side.
        side: the public side.
        original: the claimed source.
        scratch: for reading the released tables.
        tagged: whether the key's tag shows the table to be the source; then the release is wrong.

    Returns:
        Whether the released rows conform to the channel; None if the table is probably another one, so that its results
            do not concern the bundle.
    """
    log.level = VerificationLevel.SOURCE
    stated = audit.plan.records
    right, other = original.records == stated, record_count_problem(original.records, stated)
    if not log.check("records of the source", right, other.code, other.message, hint=other.hint):
        log.level = VerificationLevel.AUDIT
        return None
    finding = goodness_of_fit_finding(audit, side, original, scratch)
    if finding.verdict is Verdict.UNDECIDED:
        log.undecided.append("conforms")
        return finding
    satisfied = finding.verdict is Verdict.SATISFIED
    unlike = (
        "what was released does not look like a draw from "
        f"{'the channel' if tagged else 'it'}{false_alarm_text(finding)}"
    )
    if tagged:
        log.check("conforms to the channel", satisfied, "RR125", unlike)
        return finding
    failure = (
        f"the source is probably not the released table: it has {original.records:,} records, as the release has "
        f"{stated:,}, but {unlike}"
    )
    hint = f"{_HINT}; if it is that table, the released rows were replaced: `rrpolicy explain RR125`"
    if log.check("conforms to the channel", satisfied, "RR125", failure, hint=hint):
        return finding
    log.findings.append(finding)
    log.level = VerificationLevel.AUDIT
    return None


def record_count_problem(records: int, stated: int) -> Problem:
    """Return the problem of a source with another number of records than the release (RR124)."""
    message = f"the source is probably not the released table: it has {records:,} records, not {stated:,}"
    return Problem("RR124", message, hint=_HINT)


_HINT = "name the release's own source, as it was when it was released"


def goodness_of_fit_finding(audit: AuditFolder, side: PublicFolder, original: Original, scratch: Path) -> Finding:
    """Return the test of the released rows against the channel."""
    with ExitStack() as stack:
        released: dict[str, pa.RecordBatchReader] = {}
        for spec in audit.plan.channel.tables():
            table = open_data_table(side.folder, side.manifest.data, spec, scratch, side.registry.formats)
            released[spec.name] = stack.enter_context(table).distinct()
        return audit.plan.channel.conforms(original, released)


def false_alarm_text(finding: Finding) -> str:
    """Return the chance of a false alarm in words; "" if the rows cannot be a draw at all."""
    found = finding.achieved
    if found is None or (found.standing is Standing.EXACT and not found.value):
        return ""
    told = f"less than {plain_number(_LEAST)}" if found.value < _LEAST else f"at most {plain_number(found.value, 2)}"
    return f" (chance of a false alarm: {told})"
