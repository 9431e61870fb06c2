"""Signatures of a release, held against the release and the keys that a verifier trusts. All of it fails closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

from rrpolicy.bundle import audit as auditing
from rrpolicy.canonical import canonical, file_digest
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.frozen import frozen
from rrpolicy.manifest.manifest import NAME, Manifest
from rrpolicy.manifest.sealed import read_release
from rrpolicy.report_blocks import Fact
from rrpolicy.safe_io.document import UnreadableError
from rrpolicy.signing.envelope import Signed, all_signed, read_envelope
from rrpolicy.signing.signers import Signer, Standing, standing
from rrpolicy.signing.signing import RECALLED, RELEASE, SUFFIX
from rrpolicy.signing.signing_keys import Trusted
from rrpolicy.signing.statement import RECALL, STATEMENT, approval, audit_digests, stated_digests, statement
from rrpolicy.signing.verification import PREFIX, RESULT
from rrpolicy.verification.outcome import UNSIGNED, Check, Level, Verification
from rrpolicy.verification.verify import APPROVED, ATTESTATIONS

OTHER = "RR137"
VERIFIED, SIGNED, APPROVAL_SIGNED = "Verified", "Signed", "Policy approved"
"""Names of the facts that statements add to the audit page."""


@frozen
class Allowed:
    """The allowed signers, as of a day.

    Attributes:
        signers: from their file.
        day: as of which their keys are trusted.
    """

    signers: tuple[Signer, ...]
    day: date


def signed(
    bundle: Path,
    found: Verification,
    keys: Sequence[Trusted],
    auditors: Sequence[Trusted] = (),
    allowed: Allowed | None = None,
    *,
    unsigned: bool = False,
) -> Verification:
    """Return a verification with what the signatures add to it.

    Args:
        bundle: the folder, or public/ alone, whose statements then lie beside it.
        found: of the bundle.
        keys: that must have signed the release, each of them.
        auditors: keys that must have signed a verification of it, each of them.
        allowed: who may sign in the roles that the release requires; None if no file of them was given.
        unsigned: the release was just made: the signatures that it requires are not asked for, and undecided.
    """
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    folder = (bundle if public != bundle else bundle.parent) / ATTESTATIONS
    try:
        manifest = read_release(public)
    except PolicyError:
        return found  # it says so itself
    gathered = _Gathered()
    if folder.is_dir() and (public != bundle or keys or auditors or allowed):
        _look(gathered, folder, public, manifest)
    needed = manifest.require_signatures
    by = () if gathered.release is None else all_signed(gathered.release, [trusted.key for trusted in keys])
    for trusted in keys:
        failure = f"the release is not signed by the key {trusted}"
        gathered.check(f"signed by {trusted}", trusted.key.keyid in by, UNSIGNED, failure)
    for trusted in auditors:
        failure = f"no verification of the release is signed by the key {trusted}"
        least = trusted.least
        failure += "" if least is Level.PUBLIC else f" to the level {least.word}"
        audited = any(r.signed_by(trusted.key) and level_of(r) >= least for r in gathered.results.values())
        gathered.check(f"verified by {trusted}", audited, UNSIGNED, failure)
    held = standing(gathered.release, () if allowed is None else allowed.signers, day_of(allowed))
    if needed and not unsigned:
        count = max(len(by), len(held.people))
        failure = (
            f"the release must be signed by {needed} keys that the verifier names with --signed-by or --signers; "
            f"{count} of {needed} are"
        )
        gathered.check("signatures that the release requires", count >= needed, UNSIGNED, failure)
    if not unsigned:
        _roles(gathered, manifest, held, allowed)
    asked = bool(needed or manifest.require_roles or manifest.require_approval)
    unnamed = gathered.release is not None and not keys and allowed is None
    undecided = ("who signed the release (--signed-by)",) if unnamed or (asked and unsigned) else ()
    return replace(
        found,
        checks=(*found.checks, *gathered.checks),
        problems=(*found.problems, *gathered.problems),
        undecided=(*found.undecided, *undecided),
        notes=(
            *found.notes,
            *(f"the release is signed by {trusted}" for trusted in _first(keys) if trusted.key.keyid in by),
            *(f"the release is signed by {name}, as {', '.join(roles)}" for name, roles in held.people.items()),
            *held.distrusted,
            *_told(gathered, (*keys, *auditors)),
        ),
    )


def _roles(gathered: _Gathered, manifest: Manifest, held: Standing, allowed: Allowed | None) -> None:
    """Check that the people whom the release asks for signed it, and approved its policy."""
    signers = () if allowed is None else allowed.signers
    approvals = standing(gathered.approval, signers, day_of(allowed))
    asked = {
        "signed in the roles that the release requires": (manifest.require_roles, held),
        "approved in the roles that the release requires": (manifest.require_approval, approvals),
    }
    if allowed is not None and not manifest.require_roles:  # who takes that line out of a release cannot sign it
        why = f"the release is {held.why(())}"
        gathered.check("signed by an allowed signer", bool(held.people), UNSIGNED, why)
    for name, (roles, who) in asked.items():
        if not roles or (who is approvals and manifest.withholds):
            continue
        said = " and ".join(roles)
        failure = f"the release must be {name.split()[0]} as {said}: name the file of allowed signers with --signers"
        failure = failure if allowed is None else f"the release is not {name.split()[0]} as {said}: {who.why(roles)}"
        gathered.check(name, not who.lacking(roles), UNSIGNED, failure)


def day_of(allowed: Allowed | None) -> date:
    """Return the day as of which keys are trusted; any day where nobody's are."""
    return date.min if allowed is None else allowed.day


def refuse_recalled(bundle: Path) -> None:
    """Refuse a release beside whose signatures a notice says that it is not to be used.

    Args:
        bundle: the folder, or public/ alone.

    Raises:
        RequirementError: RR133.
    """
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    notice = public.parent / ATTESTATIONS / RECALLED
    if not notice.is_file() or not (public / NAME).is_file():
        return
    try:
        why = _recalled(read_envelope(notice), public)
    except UnreadableError as error:
        why = f"its notice cannot be read: {error}"
    if why is not None:
        raise RequirementError(_recall(str(bundle), why))


def _recall(name: str, why: str) -> Problem:
    hint = "do not use it; --no-verify reads it all the same"
    return Problem("RR133", f"{name} was recalled: {why}", None, "a release that is in use", hint)


def _recalled(envelope: Signed, public: Path) -> str | None:
    """Return why a release was recalled, as a notice has it; None if the notice is of another one."""
    told = envelope.statement
    try:
        if (told["_type"], told["predicateType"]) != (STATEMENT, RECALL):
            return None
        (subject,) = told["subject"]
        if f"sha256:{subject['digest']['sha256']}" != file_digest(public / NAME):
            return None
        predicate = told["predicate"]
        return f"{predicate['reason']} ({predicate['timeCreated']}, signed with {_keys(envelope)})"
    except (KeyError, TypeError, ValueError):
        return None


def attested(bundle: Path) -> tuple[Fact, ...]:
    """Return who verified and who signed a release, as the statements in its folder have it: day, level and key.

    That a key signed them is as the envelopes state it: `signed` checks it, for who names the key.

    Args:
        bundle: the folder of the release.
    """
    found, public = [], bundle / "public"
    for path in sorted((bundle / ATTESTATIONS).glob(f"*{SUFFIX}")):
        with suppress(PolicyError, UnreadableError, KeyError, TypeError, ValueError):
            envelope = read_envelope(path)
            if not envelope.keyids:
                continue
            if path.name == RELEASE and _release(envelope, public, read_release(public)):
                found.append(Fact(SIGNED, f"with {_keys(envelope)}"))
            if path.name == APPROVED and _approval(envelope, read_release(public)):
                found.append(Fact(APPROVAL_SIGNED, f"with {_keys(envelope)}"))
            if path.name not in {RELEASE, APPROVED} and _result(envelope, public):
                found.append(Fact(VERIFIED, _verified(envelope)))
    return tuple(found)


def _verified(envelope: Signed) -> str:
    when = str(envelope.statement["predicate"]["timeCreated"]).partition("T")[0]
    return f"on {when} to the level {level_of(envelope).word}, signed with {_keys(envelope)}"


def level_of(envelope: Signed) -> Level:
    """Return the level to which an auditor's statement says that a release was verified; the least if it does not."""
    predicate = envelope.statement.get("predicate")
    stated = predicate.get("properties") if isinstance(predicate, dict) else None
    properties = stated if isinstance(stated, list) else []
    held = (level for level in Level if f"{PREFIX}_VERIFIED_{level.word.upper()}" in properties)
    return max(held, default=Level.PUBLIC)


def _keys(envelope: Signed) -> str:
    """Return the keys of an envelope as it states them."""
    keys = [f"{key[:16]}…" for key in envelope.keyids]
    return f"the key{'s' * (len(keys) > 1)} {', '.join(keys)}"


class _Gathered:
    """Gathers what is found of the statements."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.problems: list[Problem] = []
        self.release: Signed | None = None
        self.approval: Signed | None = None
        self.results: dict[str, Signed] = {}

    def check(self, name: str, passed: bool, code: str, failure: str) -> bool:
        self.checks.append(Check(name, Level.PUBLIC, passed, "" if passed else failure))
        if not passed:
            self.problems.append(Problem(code, failure))
        return passed


def _look(gathered: _Gathered, folder: Path, public: Path, manifest: Manifest) -> None:
    """Read every statement of the folder, and hold it against the release."""
    for path in sorted(folder.iterdir()):
        name = f"{ATTESTATIONS}/{path.name}"
        known = path.name.endswith(SUFFIX) and not path.name.startswith(".")
        if not gathered.check(f"{name}: belongs", known, OTHER, f"{name} is no statement of a release"):
            continue
        try:
            envelope = read_envelope(path)
        except UnreadableError as error:
            gathered.check(f"{name}: readable", False, OTHER, f"{name}: {error}")  # noqa: FBT003 it fails
            continue
        _hold(gathered, path.name, envelope, public, manifest)
        signed = bool(envelope.keyids)
        gathered.check(f"{name}: signed", signed, UNSIGNED, f"{name} has no signature: it was taken off")


def _hold(gathered: _Gathered, file: str, envelope: Signed, public: Path, manifest: Manifest) -> None:
    """Hold one statement against the release."""
    name = f"{ATTESTATIONS}/{file}"
    if file == RELEASE:
        same = _release(envelope, public, manifest)
        failure = f"{name} is not the statement of this release: it was edited, or made for another one"
        if gathered.check(f"{name}: of this release", same, OTHER, failure):
            gathered.release = envelope
    elif file == APPROVED:
        same = _approval(envelope, manifest)
        failure = f"{name} is not the approval of this release's policy and decisions"
        if gathered.check(f"{name}: of this release", same, OTHER, failure):
            gathered.approval = envelope
    elif file == RECALLED:
        why = _recalled(envelope, public)
        failure = f"{name} is no notice of this release"
        if gathered.check(f"{name}: of this release", why is not None, OTHER, failure):
            gathered.check("in use: not recalled", False, "RR133", f"the release was recalled: {why}")  # noqa: FBT003 it fails
    else:
        same = _result(envelope, public)
        failure = f"{name} is no verification of this release"
        if gathered.check(f"{name}: of this release", same, OTHER, failure):
            gathered.results[file] = envelope


def _release(envelope: Signed, public: Path, manifest: Manifest) -> bool:
    """Return whether an envelope's payload is the statement of this release, byte for byte."""
    audit = public.parent / "audit"
    try:
        withheld = manifest.withholds
        digests = audit_digests(audit, withheld=withheld) if audit.is_dir() else stated_digests(envelope.statement)
        expected = statement(manifest, file_digest(public / NAME), digests)
        return canonical(expected) == envelope.payload
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return False


def _approval(envelope: Signed, manifest: Manifest) -> bool:
    """Return whether an envelope's payload is the approval of a release's policy, byte for byte."""
    policy = manifest.policy
    return envelope.payload == approval(policy.name, policy.version, policy.digest, manifest.governance_digest)


def _result(envelope: Signed, public: Path) -> bool:
    """Return whether an envelope's payload is a verification of this release."""
    told = envelope.statement
    if (told.get("_type"), told.get("predicateType")) != (STATEMENT, RESULT):
        return False
    try:
        subjects: Mapping[str, str] = {s["name"]: s["digest"]["sha256"] for s in told["subject"]}
    except (KeyError, TypeError):
        return False
    files = {f"public/{NAME}": public / NAME, f"audit/{auditing.NAME}": public.parent / "audit" / auditing.NAME}
    here = {name: path for name, path in files.items() if path.is_file()}
    right = all(file_digest(p) == f"sha256:{subjects[n]}" for n, p in here.items() if n in subjects)
    return right and f"public/{NAME}" in subjects and subjects.keys() <= files.keys()


def _first(keys: Sequence[Trusted]) -> Iterable[Trusted]:
    """Return each key once, by the first name that it is given."""
    return {trusted.key.keyid: trusted for trusted in reversed(keys)}.values()


def _told(gathered: _Gathered, keys: Sequence[Trusted]) -> list[str]:
    """Return which results carry a signature of a key that is trusted here."""
    named = []
    for name, result in gathered.results.items():
        by = next((trusted for trusted in keys if result.signed_by(trusted.key)), None)
        if by is not None:
            when = result.statement["predicate"].get("timeCreated", "")
            named.append(f"{ATTESTATIONS}/{name} is signed by {by}: verified on {when}")
    return named
