"""Reading what somebody else may have written: folders without surprises, documents without ambiguities."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rrpolicy.canonical import Json, pretty
from rrpolicy.release.manifest import file_digest, own_digest
from rrpolicy.release.verification import Log

MOST_BYTES = 1 << 28
TOLERANCE = 1e-9
"""Relative; recomputed doubles may differ in their last digits between machines."""


class UnreadableError(ValueError):
    """A document that cannot be trusted to say one thing."""


def read_record(path: Path) -> dict[str, Any]:
    """Read a JSON object from a regular file: no duplicate keys, no NaN, no symbolic link.

    Raises:
        UnreadableError: if it is none; the message names the file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
                raise UnreadableError(f"{path.name} is not a regular file of a sensible size")
            document = json.loads(file.read().decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"{path.name} cannot be read as JSON") from error
    if not isinstance(document, dict):
        raise UnreadableError(f"{path.name} does not hold a JSON object")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise UnreadableError("a key stands twice")
    return document


def _no_constant(name: str) -> Any:
    raise UnreadableError(f"{name} is not JSON")


def check_record(log: Log, path: Path, document: dict[str, Any], schema: str, keys: Sequence[str]) -> bool:
    """Check a record's schema, keys, own digest and bytes; later checks rely on the first two."""
    name = path.name
    found = document.get("schema")
    if not log.check(f"{name}: schema", found == schema, "RR110", f"{name} is of schema {found!r}, not {schema}"):
        return False
    odd = sorted(set(document) ^ set(keys))
    whole = log.check(f"{name}: fields", not odd, "RR110", f"{name} lacks or adds the fields {', '.join(odd)}")
    agrees = document.get("digest") == own_digest(document)
    log.check(f"{name}: own digest", agrees, "RR114", f"{name} was changed: its field 'digest' is not its own digest")
    spelled = path.read_bytes() == pretty(document)
    log.check(f"{name}: bytes", spelled, "RR114", f"{name} was changed: its bytes are not those that were written")
    return whole


def check_files(log: Log, folder: Path, document: Mapping[str, Any], record: str, expected: set[str]) -> None:
    """Check that a folder holds exactly the expected files, and each the bytes that the record states."""
    files, odd = scan(folder)
    place = folder.name
    for path, why in odd:
        log.check(f"{place}/{path}", False, "RR113", f"{place}/{path} {why}")  # noqa: FBT003 it fails
    listed = document["files"]
    if not isinstance(listed, dict):
        raise UnreadableError(f"the field 'files' of {record} is not an object")
    for path in sorted(expected - set(listed)):
        log.check(f"{place}/{path}", False, "RR112", f"{record} does not list {place}/{path}, which a release has")  # noqa: FBT003
    for path in sorted((set(listed) | files) - {record}):
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


def scan(folder: Path) -> tuple[set[str], list[tuple[str, str]]]:
    """Return the regular files below a folder, and (path, why) of what is anything else."""
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


def same(found: Any, expected: Any) -> bool:
    """Return whether two documents say the same, doubles up to their last digits."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in expected)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, bool) or isinstance(expected, bool) or found is None or expected is None:
        return found is expected
    if isinstance(found, (int, float)) and isinstance(expected, (int, float)):
        return abs(found - expected) <= TOLERANCE * max(abs(found), abs(expected))
    return type(found) is type(expected) and bool(found == expected)


def differences(found: Mapping[str, Any], expected: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Return the keys under which two documents differ."""
    return [key for key in keys if not same(found.get(key), expected.get(key))]
