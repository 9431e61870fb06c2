"""Finished candidates cached in a file, so that an interrupted comparison can continue.

Each line is a document: the first identifies the file, every further one is a candidate under a key of all inputs of
its numbers. Any change gives another key: such a candidate is planned again.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.errors import PolicyError, Problem, write_error
from rrpolicy.governance.compare.comparison import CandidateResult
from rrpolicy.planning.keys import source_tag
from rrpolicy.serialization import plain, read

SCHEMA = "rrpolicy.candidates/1"
MAX_CHECKPOINT_BYTES = 2**30
"""Maximum size of a file in bytes."""


class ComparisonCheckpoint:
    """The finished candidates of a file; confidential, readable only by its owner."""

    def __init__(self, path: Path, secret: bytes, rows: dict[str, Any], end: int) -> None:
        self._path, self._secret, self._rows, self._end = path, secret, rows, end

    @classmethod
    def open(cls, path: Path) -> ComparisonCheckpoint:
        """Open a file, or create one."""
        try:
            try:
                made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return cls._read(path)
            secret = secrets.token_bytes(32)
            with os.fdopen(made, "wb") as file:
                file.write(_document_line({"schema": SCHEMA, "confidential": True, "secret": secret.hex()}))
                return cls(path, secret, {}, file.tell())
        except OSError as error:
            raise write_error(str(path), error) from error

    @classmethod
    def _read(cls, path: Path) -> ComparisonCheckpoint:
        """Read the content; an incomplete last line is ignored and overwritten."""
        content = path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_CHECKPOINT_BYTES else b""
        whole = content[: content.rfind(b"\n") + 1]
        try:
            head, *lines = map(json.loads, whole.splitlines())
            known = head["schema"] == SCHEMA
            secret, rows = bytes.fromhex(head["secret"]), {line["key"]: line["row"] for line in lines}
        except (ValueError, KeyError, TypeError) as error:
            raise _not_a_checkpoint(path) from error
        if not known:
            raise _not_a_checkpoint(path)
        return cls(path, secret, rows, len(whole))

    def key(self, content: bytes, *follows_from: Json) -> str:
        """Return the key of a candidate in the cache.

        `content` is the fingerprint of the table, empty without one; `follows_from` are all other inputs.
        """
        return digest(canonical([source_tag(self._secret, content), *follows_from]))

    def get(self, key: str) -> CandidateResult | None:
        """Return a candidate; None if it is not cached, or in an unknown form."""
        if key in self._rows:
            with suppress(ValueError, KeyError, TypeError):
                return read(CandidateResult, self._rows[key])
        return None

    def put(self, key: str, row: CandidateResult) -> None:
        """Add a candidate."""
        line = _document_line({"key": key, "row": plain(row)})
        try:
            with self._path.open("r+b") as file:
                file.truncate(self._end)
                file.seek(self._end)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise write_error(str(self._path), error) from error
        self._end += len(line)


def _not_a_checkpoint(path: Path) -> PolicyError:
    hint = "give another file; it is created if missing"
    return PolicyError(Problem("RR560", f"{path} contains no candidates of a comparison", hint=hint))


def _document_line(document: Json) -> bytes:
    return canonical(document) + b"\n"
