"""release.json read and checked before anything is believed of it: its schema, its own digest, those of its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rrpolicy.canonical import file_digest, own_digest
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.untrusted.document import SHOWN, UnreadableError, faults, read_document

SCHEMA = "rrpolicy.release/1"
NAME = "release.json"
READ = ("records", "decoders", "tables", "data")


def read_release(folder: Path) -> Mapping[str, Any]:
    """Return the release.json of a public/ folder, with the fields that estimates are made from checked.

    Raises:
        PolicyError: RR260 if there is none, or they are not what its schema asks; RR261 if its schema is another one.
    """
    try:
        document = read_document(folder / NAME)
    except UnreadableError as error:
        raise no_release(folder, str(error)) from error
    if document.get("schema") != SCHEMA:
        raise PolicyError(
            Problem(
                "RR261",
                f"the release's schema is {document.get('schema')!r}",
                expected=SCHEMA,
                hint="it was written by another version of rrpolicy: update, or use the one named in release.json",
            )
        )
    wrong = faults(document, SCHEMA, READ)
    if wrong:
        raise no_release(folder, f"in its {NAME}, {'; '.join(wrong[:SHOWN])}")
    return document


def check_seal(folder: Path, document: Mapping[str, Any], paths: Iterable[str], name: str = NAME) -> None:
    """Check the digest of a record, and of the files that are about to be read. It costs one read of each.

    Args:
        folder: of the record.
        document: the record.
        paths: of the files, relative to the folder.
        name: of the record.

    Raises:
        PolicyError: RR284 if one is not what was written.
    """
    if document.get("digest") != own_digest(document):
        raise _changed(name, "its field 'digest' is not its own digest")
    files = document.get("files")
    for path in paths:
        listed = files.get(path) if isinstance(files, dict) else None
        if listed is None:
            raise _changed(path, f"{name} does not list it")
        if file_digest(folder / path) != listed:
            raise _changed(path, f"its bytes are not those that {name} names")


def no_release(folder: Path, why: str) -> PolicyError:
    """Return the error of a folder that holds no release."""
    return PolicyError(
        Problem(
            "RR260",
            f"{folder} is not a release: {why}",
            expected="a bundle written by `rrpolicy release`, or its public/ folder",
        )
    )


def _changed(path: str, why: str) -> PolicyError:
    hint = "take the bundle again; `rrpolicy verify` tells everything that was changed; --no-verify reads it as it is"
    return PolicyError(Problem("RR284", f"{path} was changed after it was released: {why}", hint=hint))
