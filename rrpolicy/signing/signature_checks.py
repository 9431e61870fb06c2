"""Checks of a release's signatures against the release and the keys that a verifier trusts. All checks fail closed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle import audit as auditing
from rrpolicy.canonical_json import canonical, file_digest
from rrpolicy.errors import PolicyError, Problem, RefusedError, RequirementError
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import MANIFEST_FILE, Manifest
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.report import Fact
from rrpolicy.safe_io.document import UnreadableError
from rrpolicy.signing.allowed_signers import AllowedSigners, SignerCheck, check_signers, read_signers
from rrpolicy.signing.envelope import SignedEnvelope, read_envelope, verified_key_ids
from rrpolicy.signing.signing import RECALLED, RELEASE, SUFFIX, approval_path
from rrpolicy.signing.signing_keys import TrustedKey
from rrpolicy.signing.statement import (
    PREFIX,
    RECALL,
    RESULT,
    STATEMENT,
    approval_statement,
    audit_digests,
    claimed_audit_digests,
    release_statement,
)
from rrpolicy.verification.outcome import UNSIGNED_CODE, Log, Verification, VerificationLevel
from rrpolicy.verification.verify import APPROVAL_FILE, ATTESTATIONS_FOLDER

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy


FOREIGN_STATEMENT = "RR137"
VERIFIED, SIGNED, APPROVAL_SIGNED = "Verified", "Signed", "Policy approved"
"""Names of the facts that signed statements add to the audit page."""


def verify_signatures(
    bundle: Path,
    found: Verification,
    keys: Sequence[TrustedKey],
    auditors: Sequence[TrustedKey] = (),
    allowed: AllowedSigners | None = None,
    *,
    unsigned: bool = False,
) -> Verification:
    """Return a verification extended by the checks of signatures.

    Each of `keys` must have signed the release, each of `auditors` a verification of it. If `unsigned`, the release was
    just made, and the signatures that it requires are undecided.
    """
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    folder = (bundle if public != bundle else bundle.parent) / ATTESTATIONS_FOLDER
    try:
        manifest = read_release(public)
    except PolicyError:
        return found  # the finding reports it
    gathered = _StatementFindings()
    if folder.is_dir() and (public != bundle or keys or auditors or allowed):
        _read_statements(gathered, folder, public, manifest)
    needed = manifest.require_signatures
    by = () if gathered.release is None else verified_key_ids(gathered.release, [trusted.key for trusted in keys])
    for trusted in keys:
        failure = f"the release is not signed by the key {trusted}"
        gathered.check(f"signed by {trusted}", trusted.key.keyid in by, UNSIGNED_CODE, failure)
    for trusted in auditors:
        failure = f"no verification of the release is signed by the key {trusted}"
        least = trusted.least
        failure += "" if least is VerificationLevel.PUBLIC else f" to the level {least.word}"
        audited = any(r.signed_by(trusted.key) and verified_level(r) >= least for r in gathered.results.values())
        gathered.check(f"verified by {trusted}", audited, UNSIGNED_CODE, failure)
    held = check_signers(gathered.release, () if allowed is None else allowed.signers, trust_date(allowed))
    if needed and not unsigned:
        count = max(len(by), len(held.people))
        failure = (
            f"the release must be signed by {needed} keys that the verifier gives with --signed-by or --signers; "
            f"{count} of {needed} are"
        )
        gathered.check("signatures that the release requires", count >= needed, UNSIGNED_CODE, failure)
    if not unsigned:
        _check_roles(gathered, manifest, held, allowed)
    asked = bool(needed or manifest.require_roles or manifest.require_approval)
    unnamed = gathered.release is not None and not keys and allowed is None
    undecided = ("who signed the release (--signed-by)",) if unnamed or (asked and unsigned) else ()
    first_named = {trusted.key.keyid: trusted for trusted in reversed(keys)}.values()
    return replace(
        found,
        checks=(*found.checks, *gathered.checks),
        problems=(*found.problems, *gathered.problems),
        undecided=(*found.undecided, *undecided),
        notes=(
            *found.notes,
            *(f"the release is signed by {trusted}" for trusted in first_named if trusted.key.keyid in by),
            *(f"the release is signed by {name}, as {', '.join(roles)}" for name, roles in held.people.items()),
            *held.distrusted,
            *_trusted_results(gathered, (*keys, *auditors)),
        ),
    )


def _check_roles(
    gathered: _StatementFindings, manifest: Manifest, held: SignerCheck, allowed: AllowedSigners | None
) -> None:
    """Check that people in the required roles signed the release, and approved its policy."""
    signers = () if allowed is None else allowed.signers
    approvals = check_signers(gathered.approval, signers, trust_date(allowed))
    asked = {
        "signed in the roles that the release requires": (manifest.require_roles, held),
        "approved in the roles that the release requires": (manifest.require_approval, approvals),
    }
    if allowed is not None and allowed.require_roles:  # a release without this line must still have the signatures
        asked["signed in the roles that the file of signers requires"] = (allowed.require_roles, held)
    elif allowed is not None and not manifest.require_roles:
        why = f"the release is {held.why(())}"
        gathered.check("signed by an allowed signer", bool(held.people), UNSIGNED_CODE, why)
    for name, (roles, who) in asked.items():
        if not roles or (who is approvals and manifest.withholds):
            continue
        said = " and ".join(roles)
        failure = f"the release must be {name.split()[0]} as {said}: give the file of allowed signers with --signers"
        failure = failure if allowed is None else f"the release is not {name.split()[0]} as {said}: {who.why(roles)}"
        gathered.check(name, not who.lacking(roles), UNSIGNED_CODE, failure)


def trust_date(allowed: AllowedSigners | None) -> date:
    """Return the day on which keys must be valid; any day without trusted keys."""
    return date.min if allowed is None else allowed.day


def refuse_recalled(bundle: Path) -> None:
    """Refuse a release with a signed notice of recall (RR133)."""
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    notice = public.parent / ATTESTATIONS_FOLDER / RECALLED
    if not notice.is_file() or not (public / MANIFEST_FILE).is_file():
        return
    try:
        why = _recall_reason(read_envelope(notice), public)
    except UnreadableError as error:
        why = f"its notice cannot be read: {error}"
    if why is not None:
        raise RequirementError(_check_recall(str(bundle), why))


def _check_recall(name: str, why: str) -> Problem:
    hint = "do not use it; --no-verify reads it all the same"
    return Problem("RR133", f"{name} was recalled: {why}", None, "a release that is in use", hint)


def _recall_reason(envelope: SignedEnvelope, public: Path) -> str | None:
    """Return the reason for a recall from a notice; None if the notice is for another release."""
    told = envelope.statement
    try:
        if (told["_type"], told["predicateType"]) != (STATEMENT, RECALL):
            return None
        (subject,) = told["subject"]
        if f"sha256:{subject['digest']['sha256']}" != file_digest(public / MANIFEST_FILE):
            return None
        predicate = told["predicate"]
        return f"{predicate['reason']} ({predicate['timeCreated']}, signed with {_key_names(envelope)})"
    except (KeyError, TypeError, ValueError):
        return None


def attestation_facts(bundle: Path) -> tuple[Fact, ...]:
    """Return the verifiers and signers of a release from the statements in its folder: day, level and key.

    Signing keys are as stated in the envelopes, unchecked: `verify_signatures` checks them for given keys.
    """
    found, public = [], bundle / "public"
    for path in sorted((bundle / ATTESTATIONS_FOLDER).glob(f"*{SUFFIX}")):
        with suppress(PolicyError, UnreadableError, KeyError, TypeError, ValueError):
            envelope = read_envelope(path)
            if not envelope.keyids:
                continue
            if path.name == RELEASE and _is_release_statement(envelope, public, read_release(public)):
                found.append(Fact(SIGNED, f"with {_key_names(envelope)}"))
            if path.name == APPROVAL_FILE and _is_policy_approval(envelope, read_release(public)):
                found.append(Fact(APPROVAL_SIGNED, f"with {_key_names(envelope)}"))
            if path.name not in {RELEASE, APPROVAL_FILE} and _is_verification_result(envelope, public):
                found.append(Fact(VERIFIED, _verification_text(envelope)))
    return tuple(found)


def _verification_text(envelope: SignedEnvelope) -> str:
    when = str(envelope.statement["predicate"]["timeCreated"]).partition("T")[0]
    return f"on {when} to the level {verified_level(envelope).word}, signed with {_key_names(envelope)}"


def verified_level(envelope: SignedEnvelope) -> VerificationLevel:
    """Return the verification level in an auditor's statement; the lowest if it states none."""
    predicate = envelope.statement.get("predicate")
    stated = predicate.get("properties") if isinstance(predicate, dict) else None
    properties = stated if isinstance(stated, list) else []
    held = (level for level in VerificationLevel if f"{PREFIX}_VERIFIED_{level.word.upper()}" in properties)
    return max(held, default=VerificationLevel.PUBLIC)


def _key_names(envelope: SignedEnvelope) -> str:
    keys = [f"{key[:16]}…" for key in envelope.keyids]
    return f"the key{'s' * (len(keys) > 1)} {', '.join(keys)}"


@dataclass(slots=True)
class _StatementFindings(Log):
    """The findings on the statements, and those of this release."""

    release: SignedEnvelope | None = None
    approval: SignedEnvelope | None = None
    results: dict[str, SignedEnvelope] = field(default_factory=dict)


def _read_statements(gathered: _StatementFindings, folder: Path, public: Path, manifest: Manifest) -> None:
    """Read every statement of the folder, and check it against the release."""
    for path in sorted(folder.iterdir()):
        name = f"{ATTESTATIONS_FOLDER}/{path.name}"
        known = path.name.endswith(SUFFIX) and not path.name.startswith(".")
        if not gathered.check(f"{name}: belongs", known, FOREIGN_STATEMENT, f"{name} is not a statement of a release"):
            continue
        try:
            envelope = read_envelope(path)
        except UnreadableError as error:
            gathered.check(f"{name}: readable", False, FOREIGN_STATEMENT, f"{name}: {error}")  # noqa: FBT003 it fails
            continue
        _check_statement(gathered, path.name, envelope, public, manifest)
        signed = bool(envelope.keyids)
        gathered.check(f"{name}: signed", signed, UNSIGNED_CODE, f"{name} has no signature: it was taken off")


def _check_statement(
    gathered: _StatementFindings, file: str, envelope: SignedEnvelope, public: Path, manifest: Manifest
) -> None:
    name = f"{ATTESTATIONS_FOLDER}/{file}"
    if file == RELEASE:
        same = _is_release_statement(envelope, public, manifest)
        failure = f"{name} is not the statement of this release: it was edited, or made for another one"
        if gathered.check(f"{name}: of this release", same, FOREIGN_STATEMENT, failure):
            gathered.release = envelope
    elif file == APPROVAL_FILE:
        same = _is_policy_approval(envelope, manifest)
        failure = f"{name} is not the approval of this release's policy and decisions"
        if gathered.check(f"{name}: of this release", same, FOREIGN_STATEMENT, failure):
            gathered.approval = envelope
    elif file == RECALLED:
        why = _recall_reason(envelope, public)
        failure = f"{name} is not a notice of this release"
        if gathered.check(f"{name}: of this release", why is not None, FOREIGN_STATEMENT, failure):
            gathered.check("in use: not recalled", False, "RR133", f"the release was recalled: {why}")  # noqa: FBT003 it fails
    else:
        same = _is_verification_result(envelope, public)
        failure = f"{name} is not a verification of this release"
        if gathered.check(f"{name}: of this release", same, FOREIGN_STATEMENT, failure):
            gathered.results[file] = envelope


def _is_release_statement(envelope: SignedEnvelope, public: Path, manifest: Manifest) -> bool:
    """Return whether an envelope's payload is the statement of this release, byte for byte."""
    audit = public.parent / "audit"
    try:
        withheld = manifest.withholds
        digests = (
            audit_digests(audit, withheld=withheld) if audit.is_dir() else claimed_audit_digests(envelope.statement)
        )
        expected = release_statement(manifest, file_digest(public / MANIFEST_FILE), digests)
        return canonical(expected) == envelope.payload
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return False


def _is_policy_approval(envelope: SignedEnvelope, manifest: Manifest) -> bool:
    """Return whether an envelope's payload is the approval of a release's policy, byte for byte."""
    policy = manifest.policy
    return envelope.payload == approval_statement(
        policy.name, policy.version, policy.digest, manifest.governance_digest
    )


def _is_verification_result(envelope: SignedEnvelope, public: Path) -> bool:
    """Return whether an envelope's payload is a verification of this release."""
    told = envelope.statement
    if (told.get("_type"), told.get("predicateType")) != (STATEMENT, RESULT):
        return False
    try:
        subjects: Mapping[str, str] = {s["name"]: s["digest"]["sha256"] for s in told["subject"]}
    except (KeyError, TypeError):
        return False
    files = {
        f"public/{MANIFEST_FILE}": public / MANIFEST_FILE,
        f"audit/{auditing.AUDIT_FILE}": public.parent / "audit" / auditing.AUDIT_FILE,
    }
    here = {name: path for name, path in files.items() if path.is_file()}
    right = all(file_digest(p) == f"sha256:{subjects[n]}" for n, p in here.items() if n in subjects)
    return right and f"public/{MANIFEST_FILE}" in subjects and subjects.keys() <= files.keys()


def _trusted_results(gathered: _StatementFindings, keys: Sequence[TrustedKey]) -> list[str]:
    named = []
    for name, result in gathered.results.items():
        by = next((trusted for trusted in keys if result.signed_by(trusted.key)), None)
        if by is not None:
            when = result.statement["predicate"].get("timeCreated", "")
            named.append(f"{ATTESTATIONS_FOLDER}/{name} is signed by {by}: verified on {when}")
    return named


def require_approval(policy: Policy, file: Path, into: Path, day: date) -> None:
    """Refuse a policy without a current approval; put the approval into the release that is made under it.

    If matrices are withheld, the approval is not put there: it could confirm a guess of the policy.

    Raises:
        RefusedError: RR417 if the policy requires an approval that is missing, is for another policy, or is not
            signed by the required people.
        PolicyError: RR2xx for the file of allowed signers.
    """
    place, required = approval_path(file), policy.release.require_approval
    if not os.path.lexists(place):
        if required:
            raise _not_approved_error(policy, f"is not approved: there is no {place}", file)
        return
    try:
        found = read_envelope(place)
    except UnreadableError as error:
        raise _not_approved_error(policy, f"has an approval that cannot be read: {error}", file) from error
    if found.payload != approval_statement(policy.name, policy.version, policy.digest(), policy.governance.digest()):
        raise _not_approved_error(policy, f"is not what was approved: {place} is of another policy or decision", file)
    _require_signatures(policy, file, found, day)
    if not policy.release.withholds:
        folder = into / ATTESTATIONS_FOLDER
        folder.mkdir()
        (folder / APPROVAL_FILE).write_bytes(found.written())


def _require_signatures(policy: Policy, file: Path, found: SignedEnvelope, day: date) -> None:
    settings = policy.release
    if settings.signers is None:
        return
    held = check_signers(found, read_signers(Path(policy.folder) / settings.signers, day).signers, day)
    if held.lacking(settings.require_approval):
        raise _not_approved_error(policy, f"is not approved: {held.why(settings.require_approval)}", file)


def _not_approved_error(policy: Policy, why: str, file: Path) -> RefusedError:
    hint = f"who approves it, in its present state, signs it: `rrpolicy sign {file} --key FILE`"
    return RefusedError(Problem("RR417", f"the policy '{policy.name}' {why}", policy.place("release"), hint=hint))
