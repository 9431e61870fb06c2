"""Channels and axes from their JSON: only loaded kinds, each in the versions that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rrpolicy.canonical_json import Json
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.errors import DataError, MissingNameError, Problem, RefusedError
from rrpolicy.serialization import UnknownVersionError

T = TypeVar("T")


def channel_from_json(document: Json | Mapping[str, Json], kinds: Mapping[str, type[Channel | Axis]]) -> Channel:
    """Read a channel.

    `document` is the output of `Channel.to_json` or `to_public_json`. Raises RefusedError (RR404) if the kind or its
    version is unknown, DataError (RR334) if the description contradicts itself.
    """
    description, kind, found = _find_kind(document, kinds, "channel")
    if not issubclass(found, Channel):
        raise _inconsistency_error(kind, "it contains an axis in place of a channel")
    return _decode_kind(kind, lambda: found.from_json(description, kinds))


def axis_from_json(document: Json | Mapping[str, Json], kinds: Mapping[str, type[Channel | Axis]]) -> Axis:
    """Read an axis.

    Arguments and errors are those of `channel_from_json`.
    """
    description, kind, found = _find_kind(document, kinds, "axis")
    if not issubclass(found, Axis):
        raise _inconsistency_error(kind, "it contains a channel in place of an axis")
    return _decode_kind(kind, lambda: found.from_json(description))


def _find_kind(
    document: Json | Mapping[str, Json], kinds: Mapping[str, type[Channel | Axis]], what: str
) -> tuple[Mapping[str, Json], str, type[Channel | Axis]]:
    if not isinstance(document, Mapping) or not isinstance(kind := document.get("kind"), str):
        raise _inconsistency_error(what, "it has no kind")
    if kind not in kinds:
        raise MissingNameError(f"{what} kind", kind, ", ".join(sorted(kinds)))
    return document, kind, kinds[kind]


def _decode_kind(kind: str, from_json: Callable[[], T]) -> T:
    try:
        return from_json()
    except UnknownVersionError as error:
        raise RefusedError(
            Problem("RR404", str(error), hint="install the version of rrpolicy, or of the plugin, that wrote it")
        ) from error
    except ValueError as error:
        raise _inconsistency_error(kind, str(error)) from error


def _inconsistency_error(kind: str, why: str) -> DataError:
    hint = "it was changed after it was written; take the file from the release or the plan again"
    return DataError(Problem("RR334", f"the description of '{kind}' cannot be read: {why}", hint=hint))
