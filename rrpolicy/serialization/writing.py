"""Writing of dataclasses as documents.

Tuples become lists, fractions text such as "4/5", enums their values (those of whole numbers their names in lower
case), infinities "inf". A class with `to_json` is written by that method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum, IntEnum
from fractions import Fraction
from types import NoneType
from typing import Any

from rrpolicy.canonical_json import Json, json_number
from rrpolicy.serialization.fields import class_tags, field_key

_PLAIN_TYPES = frozenset({str, int, bool, NoneType})
_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Json]], ...] = (
    (IntEnum, lambda value: value.name.lower()),
    (Enum, lambda value: value.value),
    ((str, int, NoneType), lambda value: value),
    (float, json_number),
    (Fraction, str),
)


def plain(value: Any, *, public: bool = False) -> Json:
    """Return a value as plain data.

    Args:
        value: data, dataclasses and models of pydantic in any depth.
        public: omit fields for the audit alone.

    Raises:
        TypeError: if it contains another type.
    """
    if isinstance(value, (list, tuple)):
        return [v if type(v) in _PLAIN_TYPES else plain(v, public=public) for v in value]
    if isinstance(value, Mapping):
        return {str(key): plain(inner, public=public) for key, inner in value.items()}
    for kind, written in _WRITERS:
        if isinstance(value, kind):
            return written(value)
    own = (public and getattr(value, "to_public_json", None)) or getattr(value, "to_json", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    dump = getattr(value, "model_dump", None)
    return record(value, public=public) if dump is None else dump(mode="json")


def record(value: Any, *, public: bool = False) -> dict[str, Json]:
    """Return a dataclass as plain data, field by field; arguments as for `plain`.

    Raises:
        TypeError: if the value is no dataclass.
    """
    kind: Any = type(value)
    found: dict[str, Json] = {tag: getattr(value, tag) for tag in class_tags(kind)}
    for field in fields(value):
        key = field_key(field)
        if key is None or (public and field.metadata.get("audit")):
            continue
        held = getattr(value, field.name)
        if not (field.metadata.get("sparse") and held == field.default):
            found[key] = plain(held, public=public)
    return found
