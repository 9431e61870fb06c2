"""Whether a table is the released one: checked first, because later checks rely on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rrpolicy
from rrpolicy.attacks.result import AttackReport
from rrpolicy.attacks.run import run_attacks
from rrpolicy.attacks.target import AttackTarget
from rrpolicy.bundle.audit import ATTACK_FILE
from rrpolicy.bundle.tables.lazy_tables import open_data_table
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.finding import Finding, Standing, Verdict
from rrpolicy.numbers import plain_number
from rrpolicy.planning.plan import fingerprint
from rrpolicy.verification.audit import AuditFolder
from rrpolicy.verification.outcome import Log, VerificationLevel
from rrpolicy.verification.public import PublicFolder
from rrpolicy.verification.records import documents_equivalent

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.protocol import Original


_LEAST = 1e-300
"""A probability below it is reported as a bound: as a number it would underflow to 0."""


def check_source_consistency(
    log: Log, audit: AuditFolder, side: PublicFolder, original: Original, scratch: Path, *, tagged: bool
) -> Finding | None:
    """Check that a table has the release's number of records, and that the released rows can be a draw from it.

    `tagged`: the key's tag shows the table to be the source, so that the release is wrong. Return whether the released
    rows conform to the channel; None if the table is probably another one, whose results do not concern the bundle.
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


def attack_target(name: str, side: PublicFolder, audit: AuditFolder, original: Original, scratch: Path) -> AttackTarget:
    """Return the target of attacks."""
    channel = audit.plan.channel

    @contextmanager
    def read(table: str) -> Iterator[pa.RecordBatchReader]:
        spec = next(spec for spec in channel.tables() if spec.name == table)
        with open_data_table(side.folder, side.manifest.data, spec, scratch, side.registry.formats) as opened:
            yield opened.distinct()

    return AttackTarget(name, audit.plan.policy, channel, original, read, audit.plan.policy.release.series)


def check_attack_record(log: Log, audit: AuditFolder, side: PublicFolder, original: Original, scratch: Path) -> None:
    """Run the adversarial test in audit/ again, if there is one, on the table."""
    stated = audit.attacked
    if stated is None:
        return
    file = f"audit/{ATTACK_FILE}"
    right = stated.source == fingerprint(original)
    failure = f"{file} was written for another table than the source"
    if not log.check(f"{file}: its source", right, "RR552", failure):
        return
    try:
        found = tuple(run_attacks(attack_target(side.folder.parent.name, side, audit, original, scratch)))
    except RequirementError as error:
        log.check(f"{file}: run again", False, "RR552", error.problems[0].message)  # noqa: FBT003 it fails
        return
    again = AttackReport(stated.releases, stated.source, original.records, stated.version, found, stated.together)
    by = "" if stated.version == rrpolicy.__version__ else f"rrpolicy {stated.version}"
    failure = f"{file} does not contain the results of the attacks"
    log.again(f"{file}: run again", documents_equivalent(stated.to_json(), again.to_json()), "RR552", failure, by)
    log.confirm(file, "attacks", "source")
