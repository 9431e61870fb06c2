"""A policy file as a tree: every value beside the place where it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from rrpolicy.errors import Place, PolicyError, Problem
from rrpolicy.policy.places import Path as KeyPath
from rrpolicy.policy.places import places_of

LARGEST = 16 * 2**20

Contents: TypeAlias = "dict[str, Node] | list[Node] | object"


@dataclass(slots=True, eq=False)
class Node:
    """A value of the file.

    Attributes:
        value: a table as a dict of nodes, an array as a list of nodes, or a scalar (floats as Decimal).
        place: where the value stands; of a table written with a header, the header.
        key: where the key that names it stands; the same as `place` for an item of an array.
        wrong: a problem of it was reported, so nothing more is to be built on it.
    """

    value: Contents
    place: Place
    key: Place
    wrong: bool = False

    @property
    def table(self) -> dict[str, Node]:
        """Return the children of a table; nothing if it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """Return the items of an array; nothing if it is none."""
        return self.value if isinstance(self.value, list) else []

    def get(self, *keys: str) -> Node | None:
        """Return the node under nested keys, or None."""
        node: Node | None = self
        for key in keys:
            node = node.table.get(key) if node is not None else None
        return node

    def plain(self) -> Any:
        """Return the value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def walk(self, key: str = "") -> Iterator[tuple[str, Node]]:
        """Yield every node below with its dotted key; items of arrays by their index."""
        children = self.table.items() if isinstance(self.value, dict) else enumerate(self.items)
        for part, node in children:
            below = f"{key}.{part}" if key else str(part)
            yield below, node
            yield from node.walk(below)


def read_document(path: Path, shown: str) -> Node:
    """Read a TOML file.

    Args:
        path: the file.
        shown: its name as places tell it.

    Raises:
        PolicyError: RR200 if it cannot be read, RR201 if it is not UTF-8 or begins with a byte order mark, RR202 if
            it is not TOML, RR203 if a key stands twice, RR209 if it is empty.
    """
    content = _content(path, shown)
    text = _decoded(content, shown)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not text.strip():
        hint = "`rrpolicy init TABLE` drafts a policy from a table"
        raise PolicyError(Problem("RR209", f"{shown} is empty", Place(shown, 1, 1), "a policy", hint))
    try:
        values = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise PolicyError(_syntax(error, lines, shown)) from error
    return _node(values, (), places_of(content, lines, shown), Place(shown, 1, 1))


def _content(path: Path, shown: str) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise PolicyError(
                Problem("RR200", f"{shown} is larger than any policy", Place(shown, 1, 1), "16 MiB at most")
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a possible path"
        raise PolicyError(
            Problem("RR200", f"{shown} cannot be read: {reason.lower()}", expected="a policy file in TOML")
        ) from error


def _decoded(content: bytes, shown: str) -> str:
    expected, hint = "UTF-8 without a byte order mark", "save the file as UTF-8 without a byte order mark"
    if content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        message = f"{shown} begins with a byte order mark"
        raise PolicyError(Problem("RR201", message, Place(shown, 1, 1), expected, hint))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
        message = f"{shown} is not UTF-8 from here on"
        raise PolicyError(Problem("RR201", message, Place(shown, line, column), expected, hint)) from error


def _syntax(error: Exception, lines: list[str], shown: str) -> Problem:
    if isinstance(error, RecursionError):
        return Problem("RR202", "arrays or tables are nested too deeply", Place(shown, 1, 1, "", lines[0]))
    message = str(error)
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    line, column = (int(found[1]), int(found[2])) if found else (len(lines), len(lines[-1]) + 1)
    reason = re.sub(r" \(at [^()]*\)$", "", message)
    place = Place(shown, line, column, "", lines[line - 1] if line <= len(lines) else "")
    if re.search("overwrite a value|declare .* twice|already defined|mutate immutable", reason, re.IGNORECASE):
        hint = "keep one of the two; a table's keys stand together under one header"
        return Problem("RR203", f"a key stands twice: {reason}", place, "each key once", hint)
    hint = "text stands in quotes, arrays in [ ], inline tables in { } on one line"
    return Problem("RR202", f"not TOML: {reason}", place, hint=hint)


def _node(value: object, path: KeyPath, places: Mapping[KeyPath, tuple[Place, Place]], above: Place) -> Node:
    key, place = places.get(path, (above, above))
    if isinstance(value, dict):
        return Node({k: _node(v, (*path, k), places, place) for k, v in value.items()}, place, key)
    if isinstance(value, list):
        return Node([_node(v, (*path, i), places, place) for i, v in enumerate(value)], place, key)
    return Node(value, place, key)
