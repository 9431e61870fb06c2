"""Reading a JSON document from an untrusted source: it has one meaning, and only fields of its schema.

The schemas are the package's, in `rrpolicy/schemas`. Only the keywords of JSON Schema that they use are understood; any
other is an error of the schema, never ignored.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any


def read_following_links(path: Path, most: int) -> bytes:
    """Return a file's bytes; never wait for a pipe, open a device, or read without end.

    Links are followed. `strerror` of the error has the reason in words.

    Raises:
        OSError: if it cannot be read, is no regular file, or is larger; `strerror` has the reason in words.
        ValueError: if it is no possible path.
    """
    _require_regular(os.stat(path).st_mode)  # noqa: PTH116 a path may hold NUL
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
        raise OSError(errno.EINVAL, "it is no regular file")


MOST_BYTES = 1 << 28
DEEPEST = 64
"""The most levels of nesting; a release needs fewer than 20."""
LARGEST = 1 << 127
"""Whole numbers are below this: no engine holds larger ones."""
SHOWN = 3
"""The most faults of a document that a message names."""
_NOTES = frozenset({"$schema", "$defs", "$id", "title", "description", "format", "default", "examples"})
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


class UnreadableError(ValueError):
    """A document that has no single meaning; the message names the file and no value."""


def read_document(path: Path, *, most: int = MOST_BYTES) -> dict[str, Any]:
    """Read a JSON object from a regular file: no duplicate keys, no NaN, no number out of reach, no symbolic link.

    Raises:
        UnreadableError: if it is none.
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
        UnreadableError: if it is none.
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
        raise UnreadableError(f"{name} does not hold a JSON object")
    return document


def read_regular(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file; never wait for a symbolic link, a device or a pipe.

    Raises:
        OSError: if it cannot be opened.
        UnreadableError: if it is none, or larger than `most` bytes.
    """
    with open(path, "rb", opener=_at_once) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise UnreadableError("it is not a regular file of a sensible size")
        return file.read()


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def faults(document: Any, schema: str, only: Sequence[str] | None = None) -> list[str]:
    """Return violations of a document's schema, in words that name the place and no value.

    `only` names the fields that will be read; None is the whole document, in which unknown fields are faults.
    """
    whole = _schema(schema)
    if only is not None:
        known = {key: whole["properties"][key] for key in only}
        whole = {"$defs": whole["$defs"], "type": "object", "properties": known, "required": only}
    return [f"{place or 'the document'} {why}" for place, why in _faults(document, whole, whole["$defs"], "")]


@cache
def _schema(name: str) -> Mapping[str, Any]:
    file = resources.files("rrpolicy").joinpath("schemas", name.replace("/", "-") + ".json")
    whole: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    for schema in _parts(whole):
        unknown = schema.keys() - _NOTES - _WORDS - _ELSEWHERE
        if unknown:
            raise AssertionError(f"{name} uses words that are not checked: {', '.join(sorted(unknown))}")
    return {"$defs": {}, **whole}


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all its subschemas."""
    yield schema
    inner = [*schema.get("$defs", {}).values(), *schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    others = (schema.get(word) for word in ("items", "additionalProperties"))
    for part in (*inner, *schema.get("prefixItems", ()), *(other for other in others if isinstance(other, dict))):
        yield from _parts(part)


def _faults(value: Any, schema: Mapping[str, Any], named: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    """Yield (place, why) of every violation of a schema."""
    if "$ref" in schema:
        yield from _faults(value, named[schema["$ref"].removeprefix("#/$defs/")], named, place)
        return
    if "anyOf" in schema:
        meant = [other for other in schema["anyOf"] if _may_be(value, other)] or schema["anyOf"]
        tried = [list(_faults(value, other, named, place)) for other in meant]
        if all(tried):
            # the alternative that got furthest is the most informative
            yield from max(tried, key=lambda found: max(len(where) for where, _ in found))
        return
    why = _wrong(value, schema)
    if why:
        yield place, why
    elif isinstance(value, dict):
        yield from _of_object(value, schema, named, place)
    elif isinstance(value, list):
        first: list[Mapping[str, Any]] = schema.get("prefixItems", [])
        for index, item in enumerate(value):
            inner = first[index] if index < len(first) else schema.get("items", {})
            yield from _faults(item, inner, named, f"{place}[{index}]")


def _may_be(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether an object has the constants that distinguish an alternative from others."""
    told = {key: inner["const"] for key, inner in schema.get("properties", {}).items() if "const" in inner}
    return not told or (isinstance(value, dict) and all(_equal(value.get(key), own) for key, own in told.items()))


def _wrong(value: Any, schema: Mapping[str, Any]) -> str:
    """Return the fault of a value itself; "" if there is none."""
    types = schema.get("type", _EVERY)
    types = [types] if isinstance(types, str) else types
    if not any(_is(value, name) for name in types):
        return f"must be of type {' or '.join(types)}"
    if "const" in schema or "enum" in schema or isinstance(value, float):  # which may be no number
        allowed = [schema["const"]] if "const" in schema else schema.get("enum", [value])
        if not any(_equal(value, other) for other in allowed):
            return "is none of the values that it may have"
    return _out_of_bounds(value, schema)


def _out_of_bounds(value: Any, schema: Mapping[str, Any]) -> str:
    """Return the bound or pattern that a value of the right type violates; "" if none."""
    if isinstance(value, str) and "pattern" in schema and ("\n" in value or not re.search(schema["pattern"], value)):
        return "is not written as it must be"
    if _is(value, "number") and value < schema.get("minimum", value):
        return f"must be at least {schema['minimum']}"
    if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return "has another number of entries than it must have"
    return ""


_EVERY = tuple(_TYPES)
_ELSEWHERE = frozenset({"$ref", "anyOf"})
_WORDS = frozenset(
    {"type", "const", "enum", "pattern", "minimum", "minItems", "maxItems", "properties", "required"}
    | {"additionalProperties", "items", "prefixItems"}
)


def _of_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], named: Mapping[str, Any], place: str
) -> Iterator[tuple[str, str]]:
    known: Mapping[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for key in schema.get("required", ()):
        if key not in value:
            yield place, f"lacks the field {key!r}"
    for key, item in value.items():
        inner = f"{place}.{key}" if place else key
        if key in known:
            yield from _faults(item, known[key], named, inner)
        elif others is False:
            yield place, f"has the unknown field {key!r}"
        elif isinstance(others, dict):
            yield from _faults(item, others, named, inner)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _equal(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _shallow(document: Any) -> None:
    """Refuse nesting so deep that reading it further could exhaust the stack, and text that is no Unicode."""
    level, depth = [document], 0
    while level:
        if depth > DEEPEST:
            raise UnreadableError("it is nested too deeply")
        inner = ((*v, *v.values()) if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level, depth = [item for values in inner for item in values], depth + 1
        for text in level:
            if isinstance(text, str) and not text.isascii():
                text.encode()  # half a surrogate pair cannot be


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise UnreadableError("a key stands twice")
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
