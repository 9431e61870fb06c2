"""Reading a JSON document from an untrusted source: it has one meaning. Its class states its fields."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from pathlib import Path
from typing import Any


def read_following_links(path: Path, most: int) -> bytes:
    """Return a file's bytes; never wait for a pipe, open a device, or read without end.

    Links are followed. `strerror` of the error has the reason in words.

    Raises:
        OSError: if it cannot be read, is not a regular file, or is larger; `strerror` has the reason in words.
        ValueError: if it is not a possible path.
    """
    _require_regular(os.stat(path).st_mode)  # noqa: PTH116 a path may contain NUL
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        _require_regular(os.fstat(descriptor).st_mode)
        content = file.read(most + 1) or b""
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB" if most >> 20 else "it is too large")
    return content


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


MOST_BYTES = 1 << 28
DEEPEST = 64
"""The most levels of nesting; a release needs fewer than 20."""
LARGEST = 1 << 127
"""Whole numbers are below this: no engine has larger ones."""


class UnreadableError(ValueError):
    """A document that has no single meaning; the message names the file and no value."""


def read_document(path: Path, *, most: int = MOST_BYTES) -> dict[str, Any]:
    """Read a JSON object from a regular file: no duplicate keys, no NaN, no number out of reach, no symbolic link.

    Raises:
        UnreadableError: if it is not such an object.
    """
    try:
        content = read_regular(path, most=most)
    except OSError as error:
        raise UnreadableError(f"{path.name} cannot be read: {(error.strerror or 'no such file').lower()}") from error
    except UnreadableError as error:
        raise UnreadableError(f"{path.name} cannot be read as JSON: {error}") from error
    return read_object(content, path.name)


def read_object(content: bytes, name: str) -> dict[str, Any]:
    """Read a JSON object, as `read_document` does.

    Raises:
        UnreadableError: if it is not such an object.
    """
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
        _shallow(document)
    except UnreadableError as error:
        raise UnreadableError(f"{name} cannot be read as JSON: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{name} cannot be read as JSON") from error
    if not isinstance(document, dict):
        raise UnreadableError(f"{name} does not contain a JSON object")
    return document


def read_regular(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file; never wait for a symbolic link, a device or a pipe.

    Raises:
        OSError: if it cannot be opened.
        UnreadableError: if it is not a regular file, or larger than `most` bytes.
    """
    with open(path, "rb", opener=_at_once) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise UnreadableError("it is not a regular file of a sensible size")
        return file.read()


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _shallow(document: Any) -> None:
    """Refuse nesting that could exhaust the stack, and text that is not Unicode or contains NUL."""
    level, depth = [document], 0
    while level:
        if depth > DEEPEST:
            raise UnreadableError("it is nested too deeply")
        inner = ((*v, *v.values()) if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level, depth = [item for values in inner for item in values], depth + 1
        for text in level:
            if isinstance(text, str) and "\0" in text:
                raise UnreadableError("it contains NUL, which no engine can store")
            if isinstance(text, str) and not text.isascii():
                text.encode()  # half a surrogate pair cannot be


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise UnreadableError("a key appears twice")
    return document


def _no_constant(name: str) -> Any:
    raise UnreadableError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise UnreadableError("a number is out of reach")
    return value


def _whole(text: str) -> int:
    value = int(text)
    if abs(value) >= LARGEST:
        raise UnreadableError("a number is out of reach")
    return value
