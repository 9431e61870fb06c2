"""Reading untrusted records: folders without surprises, documents without ambiguities."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from rrpolicy.canonical_json import Json, canonical, file_digest, pretty, record_digest
from rrpolicy.declarations import REVIEW_KEY, Governance
from rrpolicy.formats.format import UnlikeSpecError
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.planning.waivers import unwaived_gates
from rrpolicy.policy.model import Policy
from rrpolicy.safe_io.document import UnreadableError, read_document, read_regular
from rrpolicy.safe_io.tempdirs import is_disk_full
from rrpolicy.serialization import faults, plain
from rrpolicy.verification.outcome import JudgementPoint, Log
from rrpolicy.wording import MET, WAIVED

TOLERANCE = 1e-9
"""Relative; recomputed doubles may differ in their last digits between machines."""


def read_checked_record(log: Log, path: Path, kind: type[Any]) -> dict[str, Any] | None:
    """Read a record of a class; check its schema, every field at any depth, and its bytes; None if it is unreliable."""
    document, name, schema = read_document(path), path.name, kind.schema
    found = document.get("schema")
    if not log.check(f"{name}: schema", found == schema, "RR110", f"{name} is of schema {found!r}, not {schema}"):
        return None
    wrong = faults(document, kind)
    told = f"{name} is not as its schema requires: {wrong}"
    if not log.check(f"{name}: every field is known", not wrong, "RR110", told):
        return None
    spelled = read_regular(path) == pretty(document)
    log.check(f"{name}: bytes", spelled, "RR114", f"{name} was changed: its bytes are not those that were written")
    return document


def read_sealed_record(log: Log, path: Path, kind: type[Any]) -> dict[str, Any] | None:
    """Read a record with its own digest, as `read_checked_record` does, and check that digest."""
    document, name = read_checked_record(log, path, kind), path.name
    if document is not None:
        agrees = document["digest"] == record_digest(document)
        failure = f"{name} was changed: its field 'digest' is not its own digest"
        log.check(f"{name}: own digest", agrees, "RR114", failure)
    return document


def check_files(  # noqa: PLR0917 each is another thing
    log: Log, folder: Path, listed: Mapping[str, str], record: str, expected: set[str], absent: Collection[str] = ()
) -> None:
    """Check that a folder contains exactly the expected files, and each the bytes that the record states.

    `listed` maps paths to digests, as the record states; files of `absent` may be missing.
    """
    files, odd = scan_folder(folder)
    place = folder.name
    for path, why in odd:
        log.check(f"{place}/{path}", False, "RR113", f"{place}/{path} {why}")  # noqa: FBT003 it fails
    for path in sorted(expected - set(listed)):
        log.check(f"{place}/{path}", False, "RR112", f"{record} does not list {place}/{path}, which a release has")  # noqa: FBT003
    for path in sorted((set(listed) | files) - {record} - (set(absent) - files)):
        _check_file(log, folder, path, listed.get(path), present=path in files, known=path in expected)


def _check_file(log: Log, folder: Path, path: str, stated: Json, *, present: bool, known: bool) -> None:
    name = f"{folder.name}/{path}"
    if not present:
        log.check(name, False, "RR112", f"{name} is missing")  # noqa: FBT003 it fails
    elif not known or stated is None:
        log.check(name, False, "RR113", f"{name} does not belong to the release")  # noqa: FBT003 it fails
    else:
        agrees = file_digest(folder / path) == stated
        log.check(name, agrees, "RR111", f"{name} was changed: its bytes are not those that were written")


def scan_folder(folder: Path) -> tuple[set[str], list[tuple[str, str]]]:
    """Return the regular files below a folder, and (path, why) of all other entries."""
    files: set[str] = set()
    odd: list[tuple[str, str]] = []
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        entries = sorted(os.scandir(here), key=lambda e: e.name)
        if not entries and here != folder:
            odd.append((here.relative_to(folder).as_posix(), "is an empty folder"))
        for entry in entries:
            path = Path(entry.path)
            name = path.relative_to(folder).as_posix()
            mode = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(mode.st_mode):
                waiting.append(path)
            elif not stat.S_ISREG(mode.st_mode):
                odd.append((name, "is a symbolic link" if entry.is_symlink() else "is not a regular file"))
            else:
                files.add(name)
                if mode.st_nlink != 1:
                    odd.append((name, "has a second name (hard link), under which it can be changed"))
    return files, odd


def documents_identical(found: Json, expected: Json) -> bool:
    """Return whether two documents are equal to the last character: 1 differs from 1.0 and true."""
    return canonical(found) == canonical(expected)


def documents_equivalent(found: Any, expected: Any, tolerance: float = TOLERANCE) -> bool:
    """Return whether two documents are equivalent: doubles may differ in their last digits."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        return found.keys() == expected.keys() and all(
            documents_equivalent(found[k], expected[k], tolerance) for k in expected
        )
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(
            documents_equivalent(f, e, tolerance) for f, e in zip(found, expected, strict=True)
        )
    if isinstance(found, bool) or isinstance(expected, bool) or found is None or expected is None:
        return found is expected
    if isinstance(found, (int, float)) and isinstance(expected, (int, float)):
        return abs(found - expected) <= tolerance * max(abs(found), abs(expected))
    return type(found) is type(expected) and bool(found == expected)


def manifest_differences(found: Manifest, expected: Manifest, fields: Sequence[str]) -> list[str]:
    """Return the fields in which two manifests differ."""
    return [
        name for name in fields if not documents_equivalent(plain(getattr(found, name)), plain(getattr(expected, name)))
    ]


@contextmanager
def log_unreadable(log: Log) -> Iterator[None]:
    """Log unreadable parts while checks run, and end the checks there."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, OSError) as error:
        if is_disk_full(error):
            raise
        log.check("readable", False, "RR110", _unreadable_text(error))  # noqa: FBT003 it fails


def _unreadable_text(error: Exception) -> str:
    """Return the name of the unreadable part; never a value of the data."""
    if isinstance(error, (UnlikeSpecError, UnreadableError)):
        return str(error)
    if isinstance(error, OSError):
        return f"{Path(error.filename).name if error.filename else 'a file'} cannot be read: {error.strerror}"
    return f"a field of a record is not what it must be ({type(error).__name__})"


DIGEST = "governance_digest"
_CLOCKS = timedelta(days=1)
"""The day of a release is in its writer's time zone, and the record's time in UTC."""


def check_declarations(log: Log, manifest: Manifest, file: str, today: date) -> None:
    """Check that decisions in release.json are consistent; note date-related problems, which fail no check."""
    governance = manifest.governance
    agree = governance.digest() == manifest.governance_digest
    failure = f"the field '{DIGEST}' of release.json is not the digest of its field 'governance'"
    log.check(DIGEST, agree, "RR118", failure)
    let_be = unwaived_gates(manifest.utility, governance)
    failure = f"release.json states utility limits that are neither {MET} nor {WAIVED}: {', '.join(let_be)}"
    log.check(f"utility limits: {MET} or {WAIVED}", not let_be, "RR118", failure)
    if governance.to_json() != Governance().to_json():
        log.claim(file, "what people declared and decided", "governance")
    review = governance.context.review
    if review is not None and today > review:
        message = f"the policy was to be reviewed by {review}; nothing is released under it since"
        log.points.append(JudgementPoint(REVIEW_KEY, message))
    log.points += [JudgementPoint(w.finding, f"the policy lets be: {w.finding}", w) for w in governance.waivers]


def check_waivers_at_release(log: Log, manifest: Manifest, record: Mapping[str, Any]) -> None:
    """Check that no waiver had expired, and no review was due, when the release was made, by the record's time."""
    day = datetime.fromisoformat(record["time"]).date() - _CLOCKS
    governance = manifest.governance
    gone = [waiver.finding for waiver in governance.waivers if waiver.expired(day)]
    failure = f"when the release was made, these waivers had expired: {', '.join(gone)}"
    log.check("waivers when it was released", not gone, "RR122", failure)
    review = governance.context.review
    put_off = any(waiver.finding == REVIEW_KEY for waiver in governance.waivers)
    failure = f"when the release was made, the policy's review of {review} was due"
    log.check("review when it was released", review is None or day <= review or put_off, "RR122", failure)


def check_policy_declarations(log: Log, manifest: Manifest, policy: Policy, file: str) -> None:
    """Check that the policy as written has the declarations in release.json."""
    agree = policy.governance.digest() == manifest.governance_digest
    failure = "audit/policy.toml does not contain the declarations and decisions in release.json"
    if log.again("policy.toml: what it declares", agree, "RR122", failure):
        log.confirm(file, "governance")
        places = {waiver.finding: waiver.place for waiver in policy.governance.waivers}
        due = policy.place("context.review_by")
        log.points[:] = [replace(p, place=due if p.waiver is None else places[p.waiver.finding]) for p in log.points]
