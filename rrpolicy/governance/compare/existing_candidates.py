"""Candidates that are already planned: a plan's file, or a release with its audit/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.file import read_plan
from rrpolicy.planning.plan import Plan
from rrpolicy.policy.identity import entry_identities
from rrpolicy.registry import Registry
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.verification.audit import verify_records

PLAN_SUFFIX = ".json"


@frozen
class ExistingCandidate:
    """A plan with the results in its documents.

    Attributes:
        plan: with the table from the caller, if given.
        assessment: findings and utility, as written.
        table: whether its table is available; that of a release is only if the caller names it.
        release: digest of release.json; "" for a plan.
    """

    plan: Plan
    registry: Registry
    assessment: Assessment
    table: bool
    release: str


def is_release(path: Path) -> bool:
    """Return whether a caller names a release."""
    return (path / "public").is_dir()


def is_plan_or_release(path: Path) -> bool:
    """Return whether a caller names a plan's file, or a release."""
    return path.suffix == PLAN_SUFFIX or is_release(path)


def open_existing(path: Path, handed: InputTable, root: Path | None, trusted: Sequence[str]) -> ExistingCandidate:
    """Read a plan's file, or a release.

    A release cannot load plugins by itself: it may use those of `trusted`.
    """
    if path.suffix == PLAN_SUFFIX and not path.is_dir():
        found = read_plan(path, source=handed.uri, root=root)
        registry = found.opened.registry.opening(handed.engines)
        return ExistingCandidate(
            found.plan, registry, _with_identities(found.assessment, found.plan), table=True, release=""
        )
    if not (path / "audit").is_dir():
        message = f"{path} has no audit/, which states its plan"
        raise PolicyError(Problem("RR260", message, expected="a whole bundle, as `rrpolicy release` writes it"))
    with scratch_folder() as spilled:
        side, audit = verify_records(path, spilled.folder, trusted, handed.engines, uri=handed.uri or "", start=".")
    stated, known = _with_identities(audit.stated, audit.plan), handed.uri is not None
    return ExistingCandidate(audit.plan, side.registry, stated, table=known, release=side.manifest.digest)


def _with_identities(assessment: Assessment, plan: Plan) -> Assessment:
    """Return findings with the ids of the policy's entries that require them, which are in no document."""
    names = entry_identities(plan.policy).requirements
    pairs = zip(assessment.findings, names, strict=True)
    return replace(assessment, findings=tuple(replace(finding, identity=name) for finding, name in pairs))
