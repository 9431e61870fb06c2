"""Reading of documents into dataclasses: every field is checked by its type, and no field is ignored.

Only output of `rrpolicy.serialization.writing` is read: a field with a default may be missing, an unknown one is
refused, and every fraction is in lowest terms, so that one value has one document. A class with `from_json` is read by
that method.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from rrpolicy.serialization.fields import class_tags, field_key
from rrpolicy.serialization.writing import plain

T = TypeVar("T")
Reader: TypeAlias = Callable[[Any], Any]

_FRACTION = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")
_KNOWN = {"Json": object, "Value": str | int | float | bool}
"""Aliases that are defined as text."""


class MalformedError(ValueError):
    """A document that lacks a field, or has another value in its place.

    Attributes:
        why: the problem, without the place and without a value.
        place: keys, and positions in lists.
    """

    def __init__(self, why: str, *place: str | int) -> None:
        dotted = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
        super().__init__(f"'{dotted}' {why}" if place else f"it {why}")
        self.why, self.place = why, place

    def inside(self, part: str | int) -> MalformedError:
        """Return the error with its place in the enclosing document."""
        return MalformedError(self.why, part, *self.place)


class UnknownVersionError(ValueError):
    """A description of a known kind in an unsupported version."""


def read(kind: type[T], document: Any, given: Mapping[str, Any] = MappingProxyType({})) -> T:
    """Read the output of `record`.

    Args:
        kind: the dataclass.
        document: plain data.
        given: fields that are already known; the document may contain them, and they are ignored there.

    Raises:
        UnknownVersionError: if the document has another version.
        MalformedError: if a field is missing, unknown or of another type.
        ValueError: if the fields contradict one another.
    """
    if not isinstance(document, Mapping):
        raise MalformedError("must be an object")
    known: Any = kind
    _check_tags(known, document)
    readers, found = _field_readers(known), dict(given)
    unknown = document.keys() - readers.keys() - set(class_tags(known))
    if unknown:
        raise MalformedError("is unknown", min(map(str, unknown)))
    for key, (name, reader, needed) in readers.items():
        if name in given:
            continue
        if key not in document:
            if needed:
                raise MalformedError("is missing", key)
            continue
        try:
            found[name] = reader(document[key])
        except MalformedError as error:
            raise error.inside(key) from None
    return kind(**found)


def _check_tags(kind: Any, document: Mapping[str, Any]) -> None:
    """Check the constants that identify the kind.

    Raises:
        UnknownVersionError: if the document has another version.
        MalformedError: if the document has another kind.
    """
    for tag in class_tags(kind):
        own, found = getattr(kind, tag), document.get(tag)
        if type(found) is type(own) and found == own:
            continue
        if tag == "version":
            raise UnknownVersionError(
                f"version {found!r} of {kind.kind!r} is unknown; this program reads version {own}"
            )
        raise MalformedError(f"must be {own!r}", tag)


@cache
def _field_readers(kind: Any) -> Mapping[str, tuple[str, Reader, bool]]:
    """Return key -> (field, its reader, whether it is required)."""
    hints = get_type_hints(kind, localns=_KNOWN)
    found: dict[str, tuple[str, Reader, bool]] = {}
    for field in fields(kind):
        key = field_key(field)
        if key is not None and field.init:
            needed = field.default is MISSING and field.default_factory is MISSING
            found[key] = (field.name, _reader_for(hints[field.name]), needed)
    return found


@cache
def _reader_for(kind: Any) -> Reader:
    """Return the reader of a type's values; values of any other type are passed in `given`."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if get_origin(kind) is not None:
        return _container_reader(get_origin(kind), get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_read_literal, {(str, plain(member)): member for member in kind})
    if is_dataclass(kind):
        own: Any = kind
        return getattr(kind, "from_json", partial(read, own))
    return partial(_unsupported_type, kind)


def _container_reader(origin: Any, args: tuple[Any, ...]) -> Reader:
    if origin is Literal:
        return partial(_read_literal, {(type(a), a): a for a in args})
    if origin in {Union, UnionType}:
        return _union_reader([a for a in args if a is not NoneType], none=NoneType in args)
    if origin is tuple and args[-1] is Ellipsis:
        return partial(_read_list, _reader_for(args[0]))
    return (
        partial(_read_tuple, tuple(map(_reader_for, args)))
        if origin is tuple
        else partial(_read_mapping, _reader_for(args[1]))
    )


def _unsupported_type(kind: Any, value: Any) -> Any:
    raise TypeError(f"documents hold no {kind!r}: {type(value).__name__}")


def _union_reader(kinds: list[Any], *, none: bool) -> Reader:
    """Return the reader of a union: dataclasses are distinguished by their first tag, other values by type."""
    if len(kinds) == 1:
        inner = _reader_for(kinds[0])
    elif all(map(is_dataclass, kinds)):
        tag = class_tags(kinds[0])[0]
        inner = partial(_read_tagged, tag, {getattr(kind, tag): _reader_for(kind) for kind in kinds})
    else:
        inner = partial(_read_typed, {kind: _reader_for(kind) for kind in kinds})
    return (lambda value: None if value is None else inner(value)) if none else inner


def _read_tagged(tag: str, known: Mapping[str, Reader], value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise MalformedError("must be an object")
    found = value.get(tag)
    if not isinstance(found, str) or found not in known:
        raise MalformedError(f"must be {' or '.join(known)}", tag)
    return known[found](value)


def _read_typed(known: Mapping[type[Any], Reader], value: Any) -> Any:
    if type(value) not in known:
        raise MalformedError(f"must be {' or '.join(_NAMES[kind] for kind in known)}")
    return known[type(value)](value)


def _read_literal(known: Mapping[tuple[type, Any], Any], value: Any) -> Any:
    if not isinstance(value, (str, int)) or (type(value), value) not in known:
        raise MalformedError(f"must be {' or '.join(str(told) for _, told in known)}")
    return known[type(value), value]


def _read_list(inner: Reader, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise MalformedError("must be a list")
    found = []
    for index, item in enumerate(value):
        try:
            found.append(inner(item))
        except MalformedError as error:
            raise error.inside(index) from None
    return tuple(found)


def _read_tuple(inner: tuple[Reader, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) != len(inner):
        raise MalformedError(f"must be a list of {len(inner)}")
    return tuple(reader(item) for reader, item in zip(inner, value, strict=True))


def _read_mapping(inner: Reader, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedError("must be an object")
    found = {}
    for key, item in value.items():
        try:
            found[key] = inner(item)
        except MalformedError as error:
            raise error.inside(key) from None
    return found


def _read_text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:  # no engine can store NUL
        raise MalformedError("must be text without NUL")
    return value


def _read_number(value: Any) -> float:
    if type(value) in {int, float}:
        return value  # type: ignore[no-any-return]
    if not isinstance(value, str) or value not in {"inf", "-inf"}:
        raise MalformedError("must be a number")
    return float(value)


def _read_fraction(value: Any) -> Fraction:
    if not isinstance(value, str) or not _FRACTION.fullmatch(value):
        raise MalformedError('must be a rational such as "4/5"')
    found = Fraction(value)
    if str(found) != value:  # every document has one form
        raise MalformedError("must be in lowest terms")
    return found


def _read_exact_type(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise MalformedError(f"must be {_NAMES[kind]}")
    return value


_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_SCALARS: Mapping[Any, Reader] = {
    object: lambda value: value,
    Any: lambda value: value,
    str: _read_text,
    int: partial(_read_exact_type, int),
    bool: partial(_read_exact_type, bool),
    float: _read_number,
    Fraction: _read_fraction,
}
