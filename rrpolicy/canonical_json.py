"""Canonical form of documents: JSON with exact rationals, its canonical bytes, and digests."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Meta

from rrpolicy.escaping.printable import escape_invisible

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
    """A JSON document. No NaN and no infinity: infinity is the string "inf"."""
else:
    Json = Any  # a recursive type is not evaluated at run time

Digest: TypeAlias = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$", max_length=71)]
"""`sha256:` and 64 hexadecimal digits."""
Day: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date"})]
"""A day as ISO 8601 has it."""

Value: TypeAlias = str | int | float | bool
"""A category in policies and releases."""


def category_text(value: Value) -> str:
    """Return a category as text, as in an engine and for people."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same_category(value: Value, other: Value) -> bool:
    """Return whether two categories are equal: text is not a number, true is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def canonical(document: Json) -> bytes:
    """Return the canonical bytes of a document: sorted keys, no spaces, UTF-8.

    Raises:
        ValueError: if the document contains NaN or an infinity.
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def pretty(document: Json) -> bytes:
    """Return the bytes of a document for files: readable, in the order given, with a final newline.

    Invisible characters are escaped, so that a document cannot control the terminal that shows it.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return escape_invisible(text, lambda c: c if c == "\n" else json.dumps(c)[1:-1]).encode()


def digest(content: bytes) -> str:
    """Return `sha256:` and the hexadecimal SHA-256 of the content."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def record_digest(document: Mapping[str, Json]) -> str:
    """Return the digest of a record's canonical form without its key `digest`."""
    return digest(canonical({key: value for key, value in document.items() if key != "digest"}))


def file_digest(path: Path) -> str:
    """Return the digest of a file's bytes."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def json_number(value: float) -> Json:
    """Return a number for JSON: infinities become "inf" and "-inf"."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def exact(value: Fraction) -> str:
    """Return a rational as text: `4/5`, `1`."""
    return str(value)
