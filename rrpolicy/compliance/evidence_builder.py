"""Evidence of a release: verification first, then the citations for every clause of a regime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rrpolicy.attacks.result import AttackReport
from rrpolicy.bundle.audit import ATTACK_FILE, read_assessment
from rrpolicy.bundle.audit import AUDIT_FILE as RECORD
from rrpolicy.canonical_json import file_digest
from rrpolicy.compliance.citations import (
    AUDIT,
    RELEASE,
    CitedRelease,
    find_citations,
)
from rrpolicy.compliance.evidence import CitedFile, Clause, ClauseAnswer, ComplianceEvidence, load_regime
from rrpolicy.declarations import REVIEW_KEY, Role
from rrpolicy.discovery import load_allowed
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.reports.report_builder import DROPPED_ROLES
from rrpolicy.safe_io.document import read_document
from rrpolicy.serialization import read
from rrpolicy.signing.allowed_signers import AllowedSigners
from rrpolicy.signing.signature_checks import verify_signatures
from rrpolicy.signing.signing_keys import TrustedKey
from rrpolicy.verification.outcome import VerificationLevel
from rrpolicy.verification.verify import APPROVAL_FILE, ATTESTATIONS_FOLDER, verify

Page = Literal["public", "audit"]


def build_evidence(
    bundle: Path,
    name: str,
    page: Page | None = None,
    plugins: Sequence[str] = (),
    keys: Sequence[TrustedKey] = (),
    *,
    allowed: AllowedSigners | None = None,
) -> ComplianceEvidence:
    """Return a release's evidence for the clauses of a regime.

    Without `page` it is the audit page's, if audit/ is available.

    Raises:
        PolicyError: RR250 if there is no such regime, or if audit/ is requested and missing; RR260 if there is no
            release.
        RequirementError: RR110 to RR137 if the release does not verify: it then has no evidence.
    """
    asked = load_regime(name)
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    audit = bundle / "audit"
    if page == "audit" and not audit.is_dir():
        message = f"{bundle} has no audit/, whose numbers the audit page shows"
        raise PolicyError(Problem("RR250", message, hint="name the bundle's folder, or take `--page public`"))
    shown: Page = page or ("audit" if audit.is_dir() else "public")
    found = verify(
        bundle, level=VerificationLevel.PUBLIC if shown == "public" else VerificationLevel.AUDIT, plugins=plugins
    )
    verify_signatures(bundle, found, keys, allowed=allowed).require()
    release = _cited_release(public, audit, shown, plugins)
    manifest = release.manifest
    answers = tuple(_clause_answer(clause, release) for clause in asked.clauses)
    folders = {"public": public, "audit": audit, ATTESTATIONS_FOLDER: public.parent / ATTESTATIONS_FOLDER}
    label = f", release {manifest.release}" if manifest.release else ""
    return ComplianceEvidence(
        asked.name,
        asked.title,
        asked.source,
        f"{manifest.policy.name} {manifest.policy.version}{label}",
        manifest.digest,
        shown,
        _release_day(manifest) if shown == "public" else _release_time(audit),
        _valid_until(manifest),
        tuple(_cited_files({RELEASE, *(citation.file for a in answers for citation in a.citations)}, folders)),
        answers,
    )


def _release_time(audit: Path) -> str:
    when = datetime.fromisoformat(read_document(audit / RECORD)["time"])
    return when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _release_day(manifest: Manifest) -> str | None:
    return None if manifest.day is None else f"{manifest.day}T00:00:00Z"


def _valid_until(manifest: Manifest) -> str | None:
    governance = manifest.governance
    put_off = [waiver.until for waiver in governance.waivers if waiver.finding == REVIEW_KEY]
    return governance.context.review_by and max([governance.context.review_by, *put_off])


def _cited_files(cited: Iterable[str], folders: Mapping[str, Path]) -> Iterator[CitedFile]:
    for path in sorted(cited):
        room, _, name = path.partition("/")
        names = [name] if name else sorted(file.name for file in folders[room].iterdir())
        for each in names:
            yield CitedFile(f"{room}/{each}", file_digest(folders[room] / each))


def _cited_release(public: Path, audit: Path, page: Page, plugins: Sequence[str]) -> CitedRelease:
    manifest = read_release(public)
    models = load_allowed(manifest.software, plugins).privacy_models
    folder = public.parent / ATTESTATIONS_FOLDER
    beside = folder.is_dir() and any(file.name != APPROVAL_FILE for file in folder.iterdir())
    if page == "public":
        return CitedRelease(manifest, manifest.findings, manifest.utility, RELEASE, None, None, models, beside)
    found = read_assessment(read_document(audit / "findings.json"))
    policy = read_document(audit / "policy.json")
    roles = {a["name"]: Role(a["role"]) for a in policy["attributes"]}
    dropped = tuple(f"'{name}' is not released: {DROPPED_ROLES[role]}" for name, role in roles.items() if role.dropped)
    population = policy["source"]["population"]
    together = tuple(_joint_requirements(read_document(audit / "audit.json")))
    test = audit / ATTACK_FILE
    attacked = read(AttackReport, read_document(test)) if test.is_file() else None
    return CitedRelease(
        *(manifest, found.findings, found.utility, AUDIT, dropped, population, models, beside, together, attacked),
        tested=found.tested,
        protection=found.protection,
    )


def _joint_requirements(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the joint results with earlier releases from audit.json, one per entry of the budget."""
    stated = record.get("together") or {"earlier": [], "requirements": []}
    if stated["earlier"]:
        for each in stated["requirements"]:
            yield f"{each['requirement']}: {each['verdict']}; {each['told']} ({stated['rule']})"


def _clause_answer(clause: Clause, release: CitedRelease) -> ClauseAnswer:
    found = [find_citations(need, release) for need in clause.needs]
    citations = tuple(dict.fromkeys(citation for each, _ in found for citation in each))
    missing = tuple(text for _, text in found if text is not None)
    if not clause.needs:
        missing = ("nothing: no release contains it",)
    return ClauseAnswer(clause.id, clause.title, clause.control, citations, missing)
