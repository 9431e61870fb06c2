"""Signing: a release by its steward, the same statement by its approver, and a verification by its auditor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem, RefusedError, RequirementError, write_error
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.safe_io.document import UnreadableError
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix
from rrpolicy.signing.envelope import SignedEnvelope, add_signature, new_envelope, read_envelope
from rrpolicy.signing.statement import (
    APPROVAL,
    approval_statement,
    bundle_statement,
    recall_statement,
    verification_statement,
)
from rrpolicy.verification.outcome import Verification
from rrpolicy.verification.verify import APPROVAL_FILE, ATTESTATIONS_FOLDER, verify

if TYPE_CHECKING:
    from datetime import datetime

    from securesystemslib.signer import CryptoSigner

    from rrpolicy.policy.model import Policy

RELEASE = "release.dsse.json"
RECALLED = "recall.dsse.json"
SUFFIX = ".dsse.json"


class Signature(Struct, frozen=True):
    """A written signature.

    Attributes:
        file: the envelope.
        keyid: id of the key.
        others: ids of the keys that had signed the same statement before.
        required: number of keys that must sign, from the release.
    """

    file: Path
    keyid: str
    others: tuple[str, ...] = ()
    required: int = 0


def sign(bundle: Path, signer: CryptoSigner, *, plugins: tuple[str, ...] = ()) -> Signature:
    """Sign a release, or add a signature to an existing one.

    The bundle's statement is signed, after a verification without the table; verify with the table first for a higher
    level.

    Raises:
        RequirementError: RR110 to RR137 if the bundle does not verify; nothing is signed.
        PolicyError: RR260 if it is not a bundle with audit/.
        RefusedError: RR431 if this key has signed it, or its statement is on another subject; RR407, RR408.
    """
    if not (bundle / "audit").is_dir():
        message = f"{bundle} has no audit/, and what is signed covers it"
        raise PolicyError(Problem("RR260", message, expected="the bundle that `rrpolicy release` wrote"))
    verify(bundle, plugins=plugins).require()
    payload = bundle_statement(bundle)
    with _lock_statements(bundle) as folder:
        file = folder / RELEASE
        before = _read(file) if os.path.lexists(file) else new_envelope(payload)
        if before.payload != payload:
            raise _signing_error(
                f"{file} is the statement of something else", "move it away, and find out who put it there"
            )
        keyid = signer.public_key.keyid
        if keyid in before.keyids:
            raise _signing_error(f"this key has signed {bundle} already", "sign with another key, or keep it unchanged")
        others = before.keyids
        _replace_file(file, add_signature(before, signer).written())
    return Signature(file, keyid, others, read_release(bundle / "public").require_signatures)


def sign_verification(bundle: Path, found: Verification, signer: CryptoSigner, now: datetime) -> Signature:
    """Sign a verification that passed.

    Raises:
        RequirementError: if the release is not verified; nothing is signed.
        RefusedError: RR431 if this key already signed one at this level; RR407, RR408 if it cannot be written.
    """
    if not found.passed:
        raise RequirementError(found.problems)
    payload = verification_statement(bundle, found, now)
    keyid = signer.public_key.keyid
    with _lock_statements(bundle) as folder:
        file = folder / f"verification-{keyid[:16]}-{found.level.word}{SUFFIX}"
        if os.path.lexists(file):
            raise _signing_error(
                f"this key has signed a verification at level {found.level.word} already: {file}", "keep it"
            )
        _replace_file(file, add_signature(new_envelope(payload), signer).written())
    return Signature(file, keyid)


def approval_path(policy: Path) -> Path:
    """Return the path of the approvals of a policy's file."""
    return policy.with_name(f"{policy.stem}.{APPROVAL_FILE}")


def sign_policy(policy: Policy, file: Path, signer: CryptoSigner) -> Signature:
    """Approve a policy, or add a signature to an approval; an approval of an earlier version is replaced.

    Raises:
        RefusedError: RR431 if this key has approved it, or the path contains another file; RR407, RR408.
    """
    payload = approval_statement(policy.name, policy.version, policy.digest(), policy.governance.digest())
    place, keyid = approval_path(file), signer.public_key.keyid
    with lock_for_signing(file.parent):
        before = _read(place) if os.path.lexists(place) else new_envelope(payload)
        if before.statement.get("predicateType") != APPROVAL:
            raise _signing_error(
                f"{place} is not an approval of a policy", "move it away, and find out who put it there"
            )
        before = before if before.payload == payload else new_envelope(payload)
        if keyid in before.keyids:
            raise _signing_error(f"this key has approved {file} already", "keep it unchanged")
        others = before.keyids
        _replace_file(place, add_signature(before, signer).written())
    return Signature(place, keyid, others)


def sign_recall(bundle: Path, reason: str, signer: CryptoSigner, now: datetime) -> Signature:
    """Add to the signatures of a release a signed notice that it must no longer be used.

    Raises:
        PolicyError: RR250 if the reason is empty; RR260 if there is no release.
        RefusedError: RR431 if it was recalled already; RR407, RR408.
    """
    if not reason.strip():
        raise PolicyError(Problem("RR250", "the reason is empty", expected="why the release is recalled"))
    read_release(bundle / "public")
    payload = recall_statement(bundle, reason, now.isoformat(timespec="seconds"))
    with _lock_statements(bundle) as folder:
        file = folder / RECALLED
        if os.path.lexists(file):
            raise _signing_error(f"{bundle} was recalled already: {file}", "keep it unchanged")
        _replace_file(file, add_signature(new_envelope(payload), signer).written())
    return Signature(file, signer.public_key.keyid)


@contextmanager
def _lock_statements(bundle: Path) -> Iterator[Path]:
    """Yield the folder of the statements, locked so that two concurrent signers do not lose a signature."""
    folder = bundle / ATTESTATIONS_FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise write_error(str(folder), error) from error
    with lock_for_signing(folder):
        yield folder


@contextmanager
def lock_for_signing(folder: Path) -> Iterator[None]:
    """Lock a folder against other signers."""
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise write_error(str(folder), error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(file: Path) -> SignedEnvelope:
    try:
        return read_envelope(file)
    except UnreadableError as error:
        raise _signing_error(f"{file}: {error}", "move it away, and find out who put it there") from error


def _replace_file(file: Path, content: bytes) -> None:
    """Write a file whole, in place of an earlier one: a signature is added, no signature is lost."""
    made = file.with_name(f".{file.name}.{random_suffix()}")
    try:
        with cleanup_on_exit(made):
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as written:  # noqa: PTH123
                written.write(content)
                written.flush()
                os.fsync(written.fileno())
            made.replace(file)
    except OSError as error:
        raise write_error(str(file), error) from error


def _signing_error(message: str, hint: str) -> RefusedError:
    return RefusedError(Problem("RR431", message, hint=hint))
