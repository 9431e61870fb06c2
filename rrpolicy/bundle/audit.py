"""audit/audit.json: the record of a release's policy, plan, source, software and time. Refers to public/ by digest."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from rrpolicy.bundle.tables.lazy_tables import open_data_tables
from rrpolicy.canonical_json import Digest, Json
from rrpolicy.channels.base import Channel
from rrpolicy.finding import Finding, UtilityFinding
from rrpolicy.manifest.manifest import Data, LedgerPlace, Manifest
from rrpolicy.planning.assess import Assessment, channel_outline
from rrpolicy.planning.key_storage import KeyStorage
from rrpolicy.planning.keys import Hexadecimal, SourceTag
from rrpolicy.planning.ledger_account import BudgetCheck, RecordedComposition
from rrpolicy.planning.plan import Plan
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.folder.root import blob_id
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.registry import Registry
from rrpolicy.serialization import read, record

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original


AUDIT_FILE = "audit.json"
POLICY_FILE_NAME = "policy.toml"
FILES = frozenset({"policy.json", "plan.json", "findings.json", "report.html", "report.json"})
ATTACK_FILE = "attack.json"
"""The adversarial test, if one was written into audit/ after the release."""
COMPARISON_FILE = "comparison.json"
"""The alternatives with which the release was compared, if written into audit/."""


class PublicDigests(Struct, frozen=True):
    """Digests of public/ that audit/ contains.

    Attributes:
        digest: digest of release.json, as the file itself states it.
        file: digest of the bytes of release.json.
    """

    digest: Digest
    file: Digest


class AuditRecord(Struct, frozen=True):
    """audit/audit.json: a release's policy, plan, source, software and time.

    Attributes:
        release: its label.
        public: refers to public/.
        source_tag: HMAC of the source's content under the plan's key; null for collected records.
        source_given_as: the kind of the table; no address, no path.
        key: the way in which the key is stored.
        writers: versions that the bytes of the release depend on.
        policy_files: the policy's files as written, in audit/.
        policy_commit: git commit of the policy's repository (HEAD); null if the policy was in no repository.
        policy_blob: git's id of the policy file.
        time: time of the release.
        ledger: its position in the ledger.
        draw: in a series, the binding of its key to the plan and the source.
        together: the composition with earlier releases.
        files: digests of the other files of audit/.
        digest: digest of this document without this key.
    """

    schema: ClassVar[str] = "rrpolicy.audit/1"
    sparse: ClassVar[tuple[str, ...]] = ("ledger", "draw", "together", "files", "digest")

    release: str | None
    public: PublicDigests
    plan_digest: Digest
    policy_digest: Digest
    source_tag: SourceTag | None
    source_given_as: str
    key: KeyStorage
    software: Software
    writers: Mapping[str, str]
    policy_files: tuple[str, ...]
    policy_commit: Hexadecimal | None
    policy_blob: Hexadecimal | None
    time: str
    ledger: LedgerPlace | None = None
    draw: str | None = None
    together: RecordedComposition | None = None
    files: Mapping[str, Digest] = MappingProxyType({})
    digest: Digest = ""


class FindingsDocument(Struct, frozen=True):
    """audit/findings.json: every number of the final assessment, and the draw's actual values.

    Attributes:
        findings: results of the privacy requirements.
        utility: expectations.
        attained: the draw's actual values.
        protection: the grade of protection.
        tested: whether the draw was tested.
        selected_from: the number of the table's records, of which one of each unit was read.
    """

    schema: ClassVar[str] = "rrpolicy.findings/1"
    sparse: ClassVar[tuple[str, ...]] = ("protection", "selected_from")

    findings: tuple[Finding, ...]
    utility: tuple[UtilityFinding, ...]
    attained: tuple[Finding, ...]
    protection: ReleaseProtection | None = None
    tested: bool = False
    selected_from: int | None = None


def audit_record(
    plan: Plan,
    public: Manifest,
    public_file: str,
    *,
    given_as: str,
    custody: KeyStorage,
    commit: str | None,
    policy_files: Mapping[str, bytes],
    draw: str | None = None,
    weighed: BudgetCheck | None = None,
) -> dict[str, Json]:
    """Return audit.json without the digests of the other files of audit/.

    `given_as` is the kind of the table: no address, no path. `custody`, `commit` and `weighed` are stated, not
    verified. `draw` binds the key of a series to the plan and the source
    (`rrpolicy.planning.ledger_account.draw_id`).
    """
    return record(
        AuditRecord(
            public.release,
            PublicDigests(public.digest, public_file),
            plan.digest(),
            plan.policy_digest,
            plan.source_tag,
            given_as,
            custody,
            plan.software,
            software_versions(),
            tuple(sorted(policy_files)),
            commit,
            policy_git_id(commit, policy_files.get("policy.toml")),
            datetime.now(UTC).isoformat(timespec="seconds"),
            public.ledger,
            draw,
            None if weighed is None or weighed.rerun is not None else weighed.stated,
        )
    )


def policy_git_id(commit: str | None, toml: bytes | None) -> str | None:
    """Return git's id of the policy file: `git ls-tree -r COMMIT` shows it if the commit contains these bytes."""
    return None if commit is None or toml is None else blob_id(toml, commit)


def policy_file_contents(toml: Path, named: Iterable[str]) -> Mapping[str, bytes]:
    """Return the policy's files by their path in audit/: `policy.toml`, and the files that it reads from its folder.

    A baseline or hierarchy outside that folder, or of the name of another file of audit/, is left out; verify then
    leaves the policy as written undecided.
    """
    return {name: path.read_bytes() for name, path in policy_file_paths(toml, named).items()}


def policy_file_paths(toml: Path, named: Iterable[str]) -> Mapping[str, Path]:
    """Return the paths of a policy's files by their path in audit/; arguments as for `policy_file_contents`."""
    files = {POLICY_FILE_NAME: toml}
    own = Path(os.path.normpath(toml.absolute()))
    for name in named:
        path = Path(os.path.normpath(Path(name).absolute()))
        inside = path.relative_to(own.parent).as_posix() if path.is_relative_to(own.parent) else ""
        if (
            inside
            and path != own
            and inside not in {*FILES, ATTACK_FILE, COMPARISON_FILE, AUDIT_FILE, POLICY_FILE_NAME}
        ):
            files[inside] = path
    return files


def findings_document(assessment: Assessment) -> dict[str, Json]:
    """Return audit/findings.json: every number of the final assessment, and the draw's actual values."""
    found = assessment
    tested, selected = found.tested, found.selected_from
    return record(FindingsDocument(found.findings, found.utility, found.attained, found.protection, tested, selected))


def read_assessment(document: Mapping[str, Any]) -> Assessment:
    """Read the output of `findings_document`; it fits its schema. Places have the line and no file.

    Raises:
        ValueError: if a number or a word cannot be read.
    """
    found = read(FindingsDocument, document)
    return Assessment(
        findings=found.findings,
        utility=found.utility,
        attained=found.attained,
        protection=found.protection,
        tested=found.tested,
        selected_from=found.selected_from,
    )


def software_versions() -> dict[str, str]:
    """Return the versions that the bytes of a release depend on."""
    import duckdb
    import numpy as np
    import pyarrow as pa

    return {
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
        "numpy": np.__version__,
    }


def realised_findings(  # noqa: PLR0917 each is another thing
    policy: Policy, registry: Registry, channel: Channel, original: Original, public: Path, data: Data, scratch: Path
) -> tuple[Finding, ...]:
    """Return the measurements on a written release by the assessors of a policy's requirements, each once."""
    outline = channel_outline(channel)
    assessors = [registry.assessor(requirement, policy, outline) for requirement in policy.requirements]
    measures = dict.fromkeys(a.attained for a in assessors if a.attained is not None)
    if not measures:
        return ()
    with open_data_tables(public, data, channel.tables(), scratch, registry.formats) as written:
        found = [check_return_type(Finding | None, measure)(channel, original, written) for measure in measures]
    return tuple(finding for finding in found if finding is not None)
