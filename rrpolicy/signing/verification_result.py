"""An auditor's signed statement: an in-toto Simple Verification Result. It lists only recomputed, valid properties."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import rrpolicy
from rrpolicy.bundle import audit as auditing
from rrpolicy.canonical_json import Json, canonical, file_digest
from rrpolicy.finding import Verdict
from rrpolicy.manifest.manifest import MANIFEST_FILE
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.signing.statement import STATEMENT
from rrpolicy.verification.outcome import Verification, VerificationLevel

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

    A level includes those below it. A requirement that holds given the published parameters has a different name, so
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
