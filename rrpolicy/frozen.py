"""Frozen objects, of `msgspec.Struct` or of dataclasses: copies with other values, and the names of fields."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from msgspec import Struct, structs

T = TypeVar("T")


def replace(value: T, /, **changes: Any) -> T:
    """Return a copy with other values of some fields: `copy.replace` of Python 3.13."""
    copied: Any = value
    made: T = (structs if isinstance(value, Struct) else dataclasses).replace(copied, **changes)
    return made


def has_fields(kind: object) -> bool:
    """Return whether an object is such a class."""
    return isinstance(kind, type) and (issubclass(kind, Struct) or dataclasses.is_dataclass(kind))


def field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of a class's fields, in order."""
    return kind.__struct_fields__ if issubclass(kind, Struct) else tuple(f.name for f in dataclasses.fields(kind))
