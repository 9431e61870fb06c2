"""Archive of a release in one file, without its rows, for verification in five years.

A zip file: any system opens it. It contains the bundle except the data files, the ledger, the file of allowed signers,
and, in archive.json, the digest of every file, those of the data files, and the versions of everything installed.
"""

from __future__ import annotations

import importlib.metadata
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from rrpolicy.canonical_json import Json, digest, file_digest, pretty
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.governance.ledger.ledger_file import read_ledger
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.safe_io.atomic_write import write_new
from rrpolicy.safe_io.document import UnreadableError, read_object
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.verification.records import scan_folder
from rrpolicy.verification.verify import verify

SCHEMA = "rrpolicy.archive/1"
INDEX, BUNDLE, LEDGER, SIGNERS = "archive.json", "bundle", "ledger.jsonl", "signers.toml"
_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, ValueError, TypeError, RuntimeError)
"""Errors of reading a file that is not a zip file, was changed, or is encrypted."""
_FOLDERS = ("public", "audit", "attestations")
_LARGEST = 1 << 30
"""Maximum size of an archive's content in bytes."""
_MOST = 10_000
"""Maximum number of files of an archive."""


class Archive(Struct, frozen=True):
    """An open archive.

    Attributes:
        bundle: the folder with public/ and audit/, without the data files.
        ledger: the archived ledger; None without one.
        signers: the archived file of allowed signers; None without one.
    """

    bundle: Path
    ledger: Path | None
    signers: Path | None


def archive(bundle: Path, out: Path, ledger: Path | None = None, signers: Path | None = None) -> Mapping[str, Json]:
    """Write the archive of a release that verifies.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify; nothing is written.
        PolicyError: RR260 if it is not a bundle with audit/.
        RefusedError: RR411 if the file exists, RR407 or RR408 if it cannot be written; RR440, RR443 for the ledger.
    """
    if not (bundle / "audit").is_dir():
        message = f"{bundle} has no audit/, and who verifies later needs it"
        raise PolicyError(Problem("RR260", message, expected="the bundle that `rrpolicy release` wrote"))
    verify(bundle).require()
    manifest = read_release(bundle / "public")
    rows = {name for table in manifest.data.tables.values() for name in table.files}
    files = {f"{BUNDLE}/{name}": path for name, path in _files(bundle) if name not in {f"public/{row}" for row in rows}}
    if ledger is not None:
        read_ledger(ledger)
        files[LEDGER] = ledger
    if signers is not None:
        files[SIGNERS] = signers
    index: dict[str, Json] = {
        "schema": SCHEMA,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "release": manifest.digest,
        "files": {name: file_digest(path) for name, path in sorted(files.items())},
        "rows": {f"public/{name}": manifest.files[name] for name in sorted(rows)},
        "environment": _environment(),
    }
    write_new(out.parent, {out.name: lambda path: _write(path, files, index)})
    return index


def _files(bundle: Path) -> Iterator[tuple[str, Path]]:
    for folder in _FOLDERS:
        if (bundle / folder).is_dir():
            for name in scan_folder(bundle / folder)[0]:
                yield f"{folder}/{name}", bundle / folder / name


def _environment() -> dict[str, Json]:
    """Return the installed distributions: `pip install NAME==VERSION` for each restores them."""
    found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions() if d.metadata["Name"]}
    packages: dict[str, Json] = dict(sorted(found.items(), key=lambda item: item[0].lower()))
    return {"python": platform.python_version(), "system": platform.system(), "packages": packages}


def _write(path: Path, files: Mapping[str, Path], index: Mapping[str, Json]) -> None:
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as made:
        made.writestr(INDEX, pretty(dict(index)))
        for name, file in sorted(files.items()):
            made.writestr(name, file.read_bytes())


def is_archive(path: Path) -> bool:
    """Return whether a path is a zip file."""
    return path.is_file() and zipfile.is_zipfile(path)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive into a temporary folder; every file is checked against its digest.

    Raises:
        PolicyError: RR260 if it is not an archive, RR284 if a file differs from the archived one.
    """
    with scratch_folder() as spilled:
        folder = spilled.folder / "archive"
        folder.mkdir()
        try:
            with zipfile.ZipFile(path) as file:
                _unpack(file, folder)
        except _DAMAGED as error:
            raise _not_an_archive(path, str(error)) from error
        beside = {name: folder / name if (folder / name).is_file() else None for name in (LEDGER, SIGNERS)}
        yield Archive(folder / BUNDLE, beside[LEDGER], beside[SIGNERS])


def _unpack(file: zipfile.ZipFile, folder: Path) -> None:
    """Write the files that archive.json lists, and refuse any other.

    Raises:
        ValueError: if it is not an archive.
        PolicyError: RR284 if a file differs from the archived one.
    """
    listed = file.infolist()
    if len(listed) > _MOST or sum(info.file_size for info in listed) > _LARGEST:
        raise ValueError("it contains too many files")
    try:
        index: Mapping[str, Any] = read_object(file.read(INDEX), INDEX)
    except UnreadableError as error:
        raise ValueError(str(error)) from error
    if index.get("schema") != SCHEMA:
        raise ValueError(f"{INDEX} is of schema {index.get('schema')!r}")
    names = [info.filename for info in listed if info.filename != INDEX]
    if sorted(names) != sorted(index["files"]):
        raise ValueError(f"it does not contain the files that {INDEX} lists, each once")
    for name in names:
        parts = PurePosixPath(name).parts
        known = name in {LEDGER, SIGNERS} or parts[:1] == (BUNDLE,)
        if not known or ".." in parts or name.startswith("/") or "\\" in name:
            raise ValueError(f"it contains '{name}'")
        content = file.read(name)
        if digest(content) != index["files"][name]:
            message = f"{name} is not the file that was archived"
            raise PolicyError(Problem("RR284", message, expected=f"the digest that {INDEX} states"))
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _not_an_archive(path: Path, why: str) -> PolicyError:
    expected = "what `rrpolicy export archive` wrote"
    return PolicyError(Problem("RR260", f"{path} is not an archive of a release: {why}", expected=expected))
