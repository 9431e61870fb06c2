"""The target of an attack: a bundle and its source; and the adversarial test in audit/, run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rrpolicy
from rrpolicy.attacks.result import AttackReport
from rrpolicy.attacks.run import run_attacks
from rrpolicy.attacks.target import AttackTarget
from rrpolicy.bundle.audit import ATTACK_FILE
from rrpolicy.bundle.tables.lazy_tables import open_data_table
from rrpolicy.errors import RequirementError
from rrpolicy.planning.plan import fingerprint
from rrpolicy.verification.audit import AuditFolder
from rrpolicy.verification.outcome import Log
from rrpolicy.verification.public import PublicFolder
from rrpolicy.verification.records import documents_equivalent

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.protocol import Original


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
    failure = f"{file} is not what the attacks come to"
    log.again(f"{file}: run again", documents_equivalent(stated.to_json(), again.to_json()), "RR552", failure, by)
    log.confirm(file, "attacks", "source")
