"""Dataclass fields in documents: each under a key, with the constants that identify their kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from functools import cache
from types import MappingProxyType
from typing import Any

TAGS = ("schema", "kind", "form", "rule", "version")
"""Class constants that are written."""
UNWRITTEN: Mapping[str, Any] = MappingProxyType({"key": None})
"""Metadata of a field that is not in documents: it has a default, or is given when one is read."""
SPARSE: Mapping[str, Any] = MappingProxyType({"sparse": True})
"""Metadata of a field that is in documents only if it differs from the default."""
AUDIT: Mapping[str, Any] = MappingProxyType({"audit": True})
"""Metadata of a field that is not in published documents."""


def document_key(key: str) -> Mapping[str, Any]:
    """Return the metadata of a field with another name in documents."""
    return {"key": key}


def field_key(field: Field[Any]) -> str | None:
    """Return a field's key in documents; None if documents do not contain it."""
    key: str | None = field.metadata.get("key", field.name)
    return key


@cache
def class_tags(kind: Any) -> tuple[str, ...]:
    """Return the constants of a class that are written, except names of fields."""
    own = {field.name for field in fields(kind)}
    return tuple(tag for tag in TAGS if tag not in own and isinstance(getattr(kind, tag, None), (str, int)))
