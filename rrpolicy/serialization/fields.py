"""What of a dataclass stands in its document: its fields, each under a key, and the constants that tell its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from functools import cache
from types import MappingProxyType
from typing import Any

TAGS = ("schema", "kind", "form", "rule", "version")
"""Class constants that are written."""
UNWRITTEN: Mapping[str, Any] = MappingProxyType({"key": None})
"""Metadata of a field that documents do not hold: it has a default, or is given when one is read."""
SPARSE: Mapping[str, Any] = MappingProxyType({"sparse": True})
"""Metadata of a field that documents hold only where it is not the default."""
AUDIT: Mapping[str, Any] = MappingProxyType({"audit": True})
"""Metadata of a field that what is published does not hold."""


def document_key(key: str) -> Mapping[str, Any]:
    """Return the metadata of a field that stands under another name in documents."""
    return {"key": key}


def field_key(field: Field[Any]) -> str | None:
    """Return the key that a field stands under; None if documents do not hold it."""
    key: str | None = field.metadata.get("key", field.name)
    return key


@cache
def class_tags(kind: Any) -> tuple[str, ...]:
    """Return the constants of a class that are written; a field of such a name is a field."""
    own = {field.name for field in fields(kind)}
    return tuple(tag for tag in TAGS if tag not in own and isinstance(getattr(kind, tag, None), (str, int)))
