"""release.json read and checked before use: its schema, its digest, those of its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rrpolicy.canonical_json import Json, file_digest, record_digest
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.manifest.manifest import MANIFEST_FILE, Manifest
from rrpolicy.safe_io.document import UnreadableError, read_document
from rrpolicy.serialization import MalformedError, read


def read_release(folder: Path) -> Manifest:
    """Return the content of release.json in a public/ folder, every field checked.

    Raises:
        PolicyError: RR260 if there is no release.json, or it does not match its schema; RR261 if it has another schema.
    """
    try:
        document = read_document(folder / MANIFEST_FILE)
    except UnreadableError as error:
        raise no_release_error(folder, str(error)) from error
    if document.get("schema") != Manifest.schema:
        raise PolicyError(
            Problem(
                "RR261",
                f"the release's schema is {document.get('schema')!r}",
                expected=Manifest.schema,
                hint="it was written by another version of rrpolicy: update, or use the one named in release.json",
            )
        )
    try:
        return read(Manifest, document)
    except MalformedError as error:
        raise no_release_error(folder, f"in its {MANIFEST_FILE}, {error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise no_release_error(folder, f"its {MANIFEST_FILE} contradicts itself") from error


def check_seal(folder: Path, document: Mapping[str, Json], paths: Iterable[str], name: str = MANIFEST_FILE) -> None:
    """Check the digest of a record, and of the files to be read. It costs one read of each.

    Args:
        folder: folder of the record.
        document: the record.
        paths: paths of the files, relative to the folder.
        name: file name of the record.

    Raises:
        PolicyError: RR284 if one was changed.
    """
    if document.get("digest") != record_digest(document):
        raise _tampering_error(name, "its field 'digest' is not its own digest")
    files = document.get("files")
    for path in paths:
        listed = files.get(path) if isinstance(files, dict) else None
        if listed is None:
            raise _tampering_error(path, f"{name} does not list it")
        if file_digest(folder / path) != listed:
            raise _tampering_error(path, f"its bytes differ from the digest in {name}")


def no_release_error(folder: Path, why: str) -> PolicyError:
    """Return the error of a folder without a release."""
    return PolicyError(
        Problem(
            "RR260",
            f"{folder} is not a release: {why}",
            expected="a bundle written by `rrpolicy release`, or its public/ folder",
        )
    )


def _tampering_error(path: str, why: str) -> PolicyError:
    hint = "take the bundle again; `rrpolicy verify` shows everything that was changed; --no-verify reads it unverified"
    return PolicyError(Problem("RR284", f"{path} was changed after it was released: {why}", hint=hint))
