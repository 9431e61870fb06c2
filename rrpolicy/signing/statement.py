"""The statement that a release is signed by: an in-toto Statement v1, a function of the release's records.

A verifier with the bundle reconstructs it byte for byte; a signature is over these bytes. A verifier with public/ alone
trusts its digests of audit/, and checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

import rrpolicy
from rrpolicy.bundle import audit as auditing
from rrpolicy.bundle.manifest import digest_with_tag
from rrpolicy.canonical_json import Json, canonical, file_digest
from rrpolicy.finding import Verdict
from rrpolicy.manifest.manifest import MANIFEST_FILE, Manifest
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.safe_io.document import read_document
from rrpolicy.serialization import plain, record
from rrpolicy.verification.outcome import Verification, VerificationLevel

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
RELEASE = "urn:rrpolicy:attestation:release:1"
"""Predicate type: a steward's statement on a release."""
APPROVAL = "urn:rrpolicy:attestation:approval:1"
"""Predicate type: an approver's statement on a policy."""
RECALL = "urn:rrpolicy:attestation:recall:1"
"""Predicate type: a steward's statement that a release must no longer be used."""
SIGNED_AT = (
    *("release", "policy", "governance", "governance_digest", "software", "records", "mechanism"),
    *("findings", "utility", "derived", "assumptions"),
)
"""Fields of release.json that the predicate repeats, so that the statement alone contains the guarantees."""


class AuditDigests(Struct, frozen=True):
    """The statement's digests of audit/: SHA-256 in hexadecimal digits.

    Attributes:
        policy_file: digest of the policy as written; None if it is not in the bundle.
    """

    record: str
    policy_file: str | None
    plan: str


def release_statement(manifest: Manifest, file: str, audit: AuditDigests) -> dict[str, Json]:
    """Return the statement of a release."""
    public = {f"public/{name}": _hex(told) for name, told in manifest.files.items()}
    subjects = {f"public/{MANIFEST_FILE}": _hex(file), **public, f"audit/{auditing.AUDIT_FILE}": audit.record}
    stated = plain(record(manifest))
    assert isinstance(stated, dict)
    predicate: dict[str, Json] = {key: stated[key] for key in SIGNED_AT}
    predicate["plan"] = {"digest": {"sha256": audit.plan}}
    predicate["policy_file"] = (
        None
        if audit.policy_file is None
        else {
            "uri": auditing.POLICY_FILE_NAME,
            "digest": {"sha256": audit.policy_file},
            "mediaType": "application/toml",
        }
    )
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": told}} for name, told in subjects.items()],
        "predicateType": RELEASE,
        "predicate": predicate,
    }


def approval_statement(name: str, version: str, policy: str, governance: str) -> bytes:
    """Return the bytes that approve a policy: its meaning, declarations and approvals.

    `policy` is the SHA-256 of the resolved policy, `governance` the digest of declarations and approvals.
    """
    subjects = {"policy": policy, "governance": governance}
    return canonical(
        {
            "_type": STATEMENT,
            "subject": [{"name": what, "digest": {"sha256": _hex(told)}} for what, told in subjects.items()],
            "predicateType": APPROVAL,
            "predicate": {"policy": {"name": name, "version": version}},
        }
    )


def recall_statement(bundle: Path, reason: str, when: str) -> bytes:
    """Return the bytes that recall a release.

    `when` is in the format of ISO 8601.
    """
    return canonical(
        {
            "_type": STATEMENT,
            "subject": [
                {
                    "name": f"public/{MANIFEST_FILE}",
                    "digest": {"sha256": _hex(file_digest(bundle / "public" / MANIFEST_FILE))},
                }
            ],
            "predicateType": RECALL,
            "predicate": {"reason": reason, "timeCreated": when},
        }
    )


def bundle_statement(bundle: Path) -> bytes:
    """Return the bytes that are signed for a bundle's release.

    Raises:
        PolicyError: RR260, RR261 if there is no readable release.
        ValueError: if audit.json cannot be read.
    """
    public = bundle / "public"
    manifest = read_release(public)
    audit = audit_digests(bundle / "audit", withheld=manifest.withholds)
    return canonical(release_statement(manifest, file_digest(public / MANIFEST_FILE), audit))


def audit_digests(folder: Path, *, withheld: bool = False) -> AuditDigests:
    """Return a statement's digests of audit/, from its files.

    If the release withholds its matrices, the statement contains no digest that could confirm a guess of them. The
    plan's digest includes the keyed hash (HMAC) of the source, and the policy file's is omitted.

    Raises:
        OSError: if one cannot be read.
        ValueError: if audit.json cannot be read.
        KeyError: if it contains nothing on the plan.
    """
    told = read_document(folder / auditing.AUDIT_FILE)
    written = folder / auditing.POLICY_FILE_NAME
    policy = _hex(file_digest(written)) if written.is_file() and not withheld else None
    plan = digest_with_tag(told["plan_digest"], told["source_tag"]) if withheld else told["plan_digest"]
    return AuditDigests(_hex(file_digest(folder / auditing.AUDIT_FILE)), policy, _hex(plan))


def claimed_audit_digests(document: Mapping[str, Any]) -> AuditDigests:
    """Return a statement's digests of audit/ unverified: for verifiers who have public/ alone.

    Raises:
        KeyError: if it has no such digests.
        TypeError: likewise.
        StopIteration: likewise.
    """
    subject = next(s for s in document["subject"] if s["name"] == f"audit/{auditing.AUDIT_FILE}")
    predicate = document["predicate"]
    policy = predicate["policy_file"]
    return AuditDigests(
        subject["digest"]["sha256"],
        None if policy is None else policy["digest"]["sha256"],
        predicate["plan"]["digest"]["sha256"],
    )


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


RESULT = "https://in-toto.io/attestation/svr/v0.2"
VERIFIER = f"urn:rrpolicy:verifier:{rrpolicy.__version__}"
PREFIX = "RRPOLICY"
CONDITIONAL = "CONDITIONAL"


def verification_statement(bundle: Path, found: Verification, now: datetime) -> bytes:
    """Return the bytes that an auditor signs (RR260 if there is no readable release)."""
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    manifest = read_release(public)
    subjects = {f"public/{MANIFEST_FILE}": file_digest(public / MANIFEST_FILE)}
    record = bundle / "audit" / auditing.AUDIT_FILE
    if found.level > VerificationLevel.PUBLIC:
        subjects[f"audit/{auditing.AUDIT_FILE}"] = file_digest(record)
    document: dict[str, Json] = {
        "_type": STATEMENT,
        "subject": [{"name": n, "digest": {"sha256": d.removeprefix("sha256:")}} for n, d in subjects.items()],
        "predicateType": RESULT,
        "predicate": {
            "verifier": {
                "id": VERIFIER,
                "policies": [
                    {
                        "name": f"{manifest.policy.name} {manifest.policy.version}",
                        "digest": {"sha256": manifest.policy.digest.removeprefix("sha256:")},
                    }
                ],
            },
            "timeCreated": now.isoformat(timespec="seconds"),
            "properties": [*sorted(set(verified_properties(found, withheld=manifest.withholds)))],
        },
    }
    return canonical(document)


def verified_properties(found: Verification, *, withheld: bool = False) -> Iterator[str]:
    """Yield the verified properties, each under a separate name; failed, undecided and unverified ones are omitted.

    A level includes those below it. A requirement that is met given the published parameters has a different name, so
    that it is not read as unconditional. Limits are omitted if the release withholds its matrices, which may follow
    from them.
    """
    for level in VerificationLevel:
        if level <= found.level:
            yield f"{PREFIX}_VERIFIED_{level.word.upper()}"
    for finding in (each.withheld() if withheld else each for each in found.findings):
        if finding.verdict is Verdict.SATISFIED:
            said = _property_word(f"{finding.model}_{finding.requirement}" if finding.requirement else finding.code)
            yield f"{PREFIX}_HOLDS_{said}" + (f"_{CONDITIONAL}" if finding.given else "")
    if found.reproduced:
        yield f"{PREFIX}_DRAWN_AGAIN"


def _property_word(text: str) -> str:
    """Return text in capitals with underscores, with numbers and comparisons kept distinct."""
    spelled = text.replace(">=", " at least ").replace("<=", " at most ").replace("/", " of ").replace(".", " point ")
    return re.sub(r"[^A-Z0-9]+", "_", spelled.upper()).strip("_")
