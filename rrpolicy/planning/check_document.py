"""Output of `rrpolicy check --json`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType

from rrpolicy.canonical_json import Digest
from rrpolicy.declarations import Governance
from rrpolicy.errors import ExitStatus, Problem
from rrpolicy.finding import Derived, Finding
from rrpolicy.frozen import field_names
from rrpolicy.planning.check import PolicyCheck, RequirementStatement
from rrpolicy.planning.plan import IdentifiedWarning
from rrpolicy.planning.waivers import WaivedProblem, warning_id


@dataclass(frozen=True, kw_only=True)
class CheckedFinding(Finding):
    """A finding with the origin of its requirement.

    Attributes:
        origin: the baseline that states it; null if the policy itself does.
        void: the reason for which it adds nothing, in words; null if it adds something.
    """

    written: ClassVar[tuple[str, ...]] = (*Finding.written, "entry=identity", "origin", "void")

    origin: str | None
    void: str | None

    @classmethod
    def of(cls, finding: Finding, statement: RequirementStatement) -> CheckedFinding:
        """Return a finding with the origin of its requirement."""
        own = {name: getattr(finding, name) for name in field_names(Finding)}
        return cls(**own, origin=statement.origin, void=statement.void)


class CheckedPolicy(Struct, frozen=True):
    """The policy that was checked.

    Attributes:
        name: its name.
        version: its version.
        digest: digest of its content.
    """

    name: str
    version: str
    digest: Digest


class FileCheckDocument(Struct, frozen=True, kw_only=True):
    """One file; if it is not a valid policy, only its problems.

    Attributes:
        file: the file as the caller named it.
        exit_status: the exit status of a check of this file alone.
        policy: its name, version and digest.
        extends: its baselines.
        ledger: the path of its ledger.
        findings: results of the privacy requirements.
        derived: statistics that a plan may derive from the data.
        unchanged: column released unmodified -> the reason.
        governance: people's declarations and decisions.
        waived: problems that waivers permit.
        records: number of records of its table; null if it was not read.
        warnings: points that need a person's judgement.
        problems: the problems of the file.
    """

    sparse: ClassVar[tuple[str, ...]] = (
        *("policy", "extends", "ledger", "findings", "derived", "unchanged", "governance", "governance_digest"),
        *("waived", "records", "warnings"),
    )

    file: str
    exit_status: ExitStatus
    policy: CheckedPolicy | UnsetType = UNSET
    extends: tuple[str, ...] | UnsetType = UNSET
    ledger: str | UnsetType | None = UNSET
    findings: tuple[CheckedFinding, ...] | UnsetType = UNSET
    derived: tuple[Derived, ...] | UnsetType = UNSET
    unchanged: Mapping[str, str | None] | UnsetType = UNSET
    governance: Governance | UnsetType = UNSET
    governance_digest: Digest | UnsetType = UNSET
    waived: tuple[WaivedProblem, ...] | UnsetType = UNSET
    records: int | UnsetType | None = UNSET
    warnings: tuple[IdentifiedWarning, ...] | UnsetType = UNSET
    problems: tuple[Problem, ...]


class CheckDocument(Struct, frozen=True):
    """Output of `rrpolicy check --json`.

    Attributes:
        exit_status: exit status of the command.
        policies: each file.
    """

    schema: ClassVar[str] = "rrpolicy.check/1"

    exit_status: ExitStatus
    policies: tuple[FileCheckDocument, ...]


def refused_policy(name: str, status: int, problems: Sequence[Problem]) -> FileCheckDocument:
    """Return the document of a file that is not a valid policy."""
    return FileCheckDocument(file=name, exit_status=status, problems=tuple(problems))


def checked_policy(name: str, status: int, checked: PolicyCheck) -> FileCheckDocument:
    """Return the document of a checked policy."""
    policy = checked.policy
    ledger = None if policy.ledger is None else os.path.normpath(Path(policy.folder) / policy.ledger.file)
    return FileCheckDocument(
        file=name,
        exit_status=status,
        policy=CheckedPolicy(policy.name, policy.version, policy.digest()),
        extends=tuple(policy.baselines),
        ledger=ledger,
        findings=tuple(CheckedFinding.of(f, s) for f, s in zip(checked.findings, checked.stated, strict=True)),
        derived=checked.derived,
        unchanged={a.name: a.why_unchanged for a in checked.unchanged},
        governance=policy.governance,
        governance_digest=policy.governance.digest(),
        waived=checked.waived,
        records=checked.records,
        warnings=tuple(IdentifiedWarning(warning_id(remark), remark.text) for remark in checked.warnings),
        problems=checked.problems,
    )
