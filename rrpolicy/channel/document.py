"""Reading descriptions of channels and axes that somebody else may have written: every field checked, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from rrpolicy.canonical import Json, Value
from rrpolicy.channel.table import Column

_PROBABILITY = re.compile(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")
_KINDS = {"category", "interval", "set", "group", "count", "carried"}


class MalformedError(ValueError):
    """A description that lacks a field, or holds something else in its place."""


class UnknownVersionError(ValueError):
    """A description of a known kind in a version that this program does not read."""


def expect(document: Mapping[str, Json], kind: str, version: int) -> None:
    """Check the kind and the version of a description.

    Raises:
        UnknownVersionError: if the version is another one.
        ValueError: if the kind is another one.
    """
    if document.get("kind") != kind:
        raise MalformedError(f"expected a description of kind {kind!r}, got {document.get('kind')!r}")
    found = document.get("version")
    if found != version or isinstance(found, bool):
        raise UnknownVersionError(f"version {found!r} of {kind!r} is unknown; this program reads version {version}")


def read_text(document: Mapping[str, Json], key: str) -> str:
    """Return a text field.

    Raises:
        ValueError: if it is missing, no text, or has a NUL character, which no engine can store.
    """
    value = document.get(key)
    if not isinstance(value, str) or "\0" in value:
        raise MalformedError(f"{key!r} must be text without NUL")
    return value


def read_list(document: Mapping[str, Json], key: str) -> list[Json]:
    """Return a list field.

    Raises:
        ValueError: if it is missing or no list.
    """
    value = document.get(key)
    if not isinstance(value, list):
        raise MalformedError(f"{key!r} must be a list")
    return value


def read_object(value: Json, what: str) -> Mapping[str, Json]:
    """Return an object.

    Raises:
        ValueError: if it is none.
    """
    if not isinstance(value, dict):
        raise MalformedError(f"{what} must be an object")
    return value


def read_labels(document: Mapping[str, Json], key: str) -> tuple[Value, ...]:
    """Return a list of categories.

    Raises:
        ValueError: if it is no list of texts without NUL, numbers and truth values.
    """
    labels: list[Value] = []
    for value in read_list(document, key):
        if not isinstance(value, (str, int, float, bool)) or (isinstance(value, str) and "\0" in value):
            raise MalformedError(f"{key!r} must hold categories")
        labels.append(value)
    return tuple(labels)


def read_probability(value: Json) -> Fraction:
    """Return an exact probability written as `4/5`.

    Raises:
        ValueError: if it is not written so, or lies outside [0, 1].
    """
    if not isinstance(value, str) or not _PROBABILITY.fullmatch(value):
        raise MalformedError('a probability must be a rational such as "4/5"')
    probability = Fraction(value)
    if probability > 1:
        raise MalformedError("a probability lies above 1")
    return probability


def read_column(value: Json) -> Column:
    """Read what `Column.to_json` wrote.

    Raises:
        ValueError: if a field is missing or of another type.
    """
    document = read_object(value, "a column")
    kind = read_text(document, "kind")
    reason = document.get("assume_unlinkable")
    if kind not in _KINDS:
        raise MalformedError(f"a column of kind {kind!r} is unknown")
    if reason is not None and not isinstance(reason, str):
        raise MalformedError("'assume_unlinkable' must be text")
    return Column(
        read_text(document, "name"),
        kind,  # type: ignore[arg-type]
        read_labels(document, "labels"),
        read_text(document, "type"),
        read_text(document, "attribute"),
        reason,
    )
