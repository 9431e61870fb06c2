"""A policy file as a tree: every value with its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import tree_sitter_toml
from tree_sitter import Language, Parser

from rrpolicy.errors import Place, PolicyError, Problem
from rrpolicy.policy.folder.root import Root
from rrpolicy.safe_io.document import read_following_links

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax


KeyPath: TypeAlias = "tuple[str | int, ...]"

_KEYS = frozenset({"bare_key", "quoted_key", "dotted_key"})
_SKIPPED = frozenset({"comment", "ERROR"})


def toml_places(content: bytes, lines: Sequence[str], file: str) -> dict[KeyPath, tuple[Place, Place]]:
    """Return the place of each key and of its value.

    Returns path of keys and indices -> (place of the key, place of the value); an item of an array is its own key.
    """
    walker = _PositionWalker(content, lines, file)
    walker.document(Parser(Language(tree_sitter_toml.language())).parse(content).root_node)
    return walker.found


class _PositionWalker:
    def __init__(self, content: bytes, lines: Sequence[str], file: str) -> None:
        self.rows = content.split(b"\n")
        self.lines = lines
        self.file = file
        self.found: dict[KeyPath, tuple[Place, Place]] = {}
        self.last: dict[KeyPath, int] = {}
        self.achieved = (0, 0, 0)

    def document(self, root: Syntax) -> None:
        for node in root.named_children:
            if node.type == "pair":
                self.pair(node, ())
            elif node.type in {"table", "table_array_element"}:
                self.section(node)

    def section(self, node: Syntax) -> None:
        """Enter [a.b] or [[a.b]]; of an array of tables above, its last item is meant."""
        header = next((c for c in node.named_children if c.type in _KEYS), None)
        if header is None:  # pragma: no cover - the two parsers of TOML differ
            return
        names = self.names(header)
        path: KeyPath = ()
        for name in names[:-1]:
            path = self.inside((*path, name))
            self.note(path, header, header)
        path = (*path, names[-1])
        if node.type == "table_array_element":
            self.note(path, header, header)
            self.last[path] = self.last.get(path, -1) + 1
        path = self.inside(path)
        self.note(path, header, header)
        for child in node.named_children:
            if child.type == "pair":
                self.pair(child, path)

    def inside(self, path: KeyPath) -> KeyPath:
        return (*path, self.last[path]) if path in self.last else path

    def pair(self, node: Syntax, above: KeyPath) -> None:
        parts = [c for c in node.named_children if c.type not in _SKIPPED]
        if len(parts) < 2:  # noqa: PLR2004  # pragma: no cover - likewise
            return
        key, value = parts[0], parts[-1]
        names = self.names(key)
        for depth in range(1, len(names)):
            self.note((*above, *names[:depth]), key, key)
        path = (*above, *names)
        self.note(path, key, value)
        self.value(value, path)

    def value(self, node: Syntax, path: KeyPath) -> None:
        if node.type == "inline_table":
            for child in node.named_children:
                if child.type == "pair":  # pragma: no branch - likewise
                    self.pair(child, path)
        elif node.type == "array":
            for index, child in enumerate(c for c in node.named_children if c.type not in _SKIPPED):
                self.note((*path, index), child, child)
                self.value(child, (*path, index))

    def names(self, key: Syntax) -> list[str]:
        if key.type == "dotted_key":
            return [name for part in key.named_children if part.type in _KEYS for name in self.names(part)]
        spelled = (key.text or b"").decode()
        return list(tomllib.loads(f"{spelled} = 0")) if key.type == "quoted_key" else [spelled]

    def note(self, path: KeyPath, key: Syntax, value: Syntax) -> None:
        """Keep the first place: a header above may have opened the table already."""
        if path not in self.found:
            dotted = ".".join(map(str, path))
            self.found[path] = (self.place(key, dotted), self.place(value, dotted))

    def place(self, node: Syntax, dotted: str) -> Place:
        (row, start), (end_row, end) = node.start_point, node.end_point
        before = self.column(row, start)
        line = self.lines[row] if row < len(self.lines) else ""
        stop = before + len(self.rows[row][start:end].decode(errors="replace")) if end_row == row else len(line)
        return Place(self.file, row + 1, before + 1, dotted, line, max(1, stop - before))

    def column(self, row: int, byte: int) -> int:
        """Return the number of characters before a byte of a row, counted from the end of the last call."""
        at, counted, characters = self.achieved if self.achieved[0] == row and self.achieved[1] <= byte else (row, 0, 0)
        characters += len(self.rows[at][counted:byte].decode(errors="replace"))
        self.achieved = (row, byte, characters)
        return characters


LARGEST = 4 * 2**20
MAX_DEPTH = 32
"""The most nested tables and arrays, and parts of a dotted key."""
MOST_VALUES = 250_000
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_DEPTH}}}")
_DAY = re.compile(r"(?<![\w.\"'+-])\d{1,4}-\d{1,2}-\d{1,2}(?:[Tt ]\d[\d:.]*)?(?![\w-])")
_POLICY = re.compile(r"^[ \t]*schema[ \t]*=[ \t]*[0-9]", re.MULTILINE)

Contents: TypeAlias = "dict[str, Node] | list[Node] | object"


@dataclass(slots=True, eq=False)
class Node:
    """A value of the file.

    Attributes:
        value: a table as a dict of nodes, an array as a list of nodes, or a scalar (floats as Decimal).
        place: place of the value; for a table written with a header, the header.
        key: the place of its key; the same as `place` for an item of an array.
        wrong: a problem of it was reported, so nothing more is built on it.
    """

    value: Contents
    place: Place
    key: Place
    wrong: bool = False

    @property
    def table(self) -> dict[str, Node]:
        """Return the children of a table; {} if it is not a table."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """Return the items of an array; [] if it is not an array."""
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


FLOOR_ABSENT_TABLES = ("attributes", "mechanism")
"""Tables that a policy of rules only does not have; its [source], if any, has no `uri`."""


def is_policy(content: bytes) -> bool:
    """Return whether a file declares itself a policy: `schema = 1`."""
    return _POLICY.search(content.decode(errors="replace")) is not None


def is_floor(content: bytes) -> bool:
    """Return whether a policy contains rules only: no table, no columns, no mechanism; others extend it."""
    try:
        document = tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return False
    tables = [document.get(name, {}) for name in ("policy", "source")]
    if not all(isinstance(table, dict) for table in tables) or any(name in document for name in FLOOR_ABSENT_TABLES):
        return False
    policy, source = tables
    return is_policy(content) and "extends" not in policy and "uri" not in source


def policies_in_folder(folder: Path) -> tuple[Path, ...]:
    """Return the policies directly in a folder, by name; files of rules alone, which others extend, are left out."""
    found = []
    for file in sorted(folder.glob("*.toml")):
        with suppress(OSError):
            content = read_following_links(file, LARGEST)
            if is_policy(content) and not is_floor(content):
                found.append(file)
    return tuple(found)


def named_policy_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files that a caller names: of a folder, every policy in it."""
    return tuple(file for path in paths for file in (_folder_policies(path) if path.is_dir() else (path,)))


def _folder_policies(folder: Path) -> tuple[Path, ...]:
    found = policies_in_folder(folder)
    if not found:
        message = f"the folder {folder} contains no policy"
        raise PolicyError(Problem("RR200", message, expected="a policy file, or a folder that contains some"))
    return found


def read_document(path: Path, shown: str, root: Root | None = None) -> Node:
    """Read a TOML file. Lines of it are quoted only if it declares itself a policy: `schema = 1`.

    It must be under `root` and a policy if another policy names it; else OutsideError is raised. Raises PolicyError:
    RR200 if it cannot be read, RR201 for its encoding, RR202, RR203 and RR209 for its TOML, RR287 for its depth or
    size.
    """
    content = _file_content(path, shown, root)
    text = _decode_utf8(content, shown)
    if not text.strip():
        hint = "`rrpolicy init TABLE` drafts a policy from a table"
        raise PolicyError(Problem("RR209", f"{shown} is empty", Place(shown, 1, 1), "a policy", hint))
    policy = _POLICY.search(text) is not None
    if root is not None and not policy:
        raise PolicyError(Problem("RR200", f"{shown} is not a policy", expected="a policy file, with `schema = 1`"))
    lines = [line.removesuffix("\r") if policy else "" for line in text.split("\n")]
    deep = _DEEP.search(text)
    if deep is not None:
        at = text.count("\n", 0, deep.start()) + 1
        raise PolicyError(_too_deep_problem(Place(shown, at, deep.start() - text.rfind("\n", 0, deep.start()))))
    if text.count(",") + text.count("=") > 2 * MOST_VALUES:
        raise PolicyError(_too_many_values(shown))
    try:
        values = tomllib.loads(text, parse_float=Decimal)
        level: list[object] = [values]
        held = 0
        for _ in range(MAX_DEPTH):
            level = [
                v
                for one in level
                if isinstance(one, (dict, list))
                for v in (one.values() if isinstance(one, dict) else one)
            ]
            held += len(level)
            if held > MOST_VALUES:
                raise PolicyError(_too_many_values(shown))
        if level:
            raise PolicyError(_too_deep_problem(Place(shown, 1, 1)))
        return _build_node(values, (), toml_places(content, lines, shown), Place(shown, 1, 1))
    except RecursionError as error:
        raise PolicyError(_too_deep_problem(Place(shown, 1, 1))) from error
    except ValueError as error:
        raise PolicyError(_syntax_problem(error, lines, shown)) from error


def _file_content(path: Path, shown: str, root: Root | None) -> bytes:
    try:
        return read_following_links(path, LARGEST) if root is None else root.read(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a possible path"
        raise PolicyError(
            Problem("RR200", f"{shown} cannot be read: {reason.lower()}", expected="a policy file in TOML")
        ) from error


def _too_many_values(shown: str) -> Problem:
    hint = "group categories in a view of the table, and list the groups"
    message = f"{shown} contains more than {MOST_VALUES:,} values"
    return Problem("RR287", message, Place(shown, 1, 1), "a policy that people can read", hint)


def _too_deep_problem(place: Place) -> Problem:
    return Problem(
        "RR287", "keys, arrays or tables are nested too deeply", place, f"at most {MAX_DEPTH} within one another"
    )


def _decode_utf8(content: bytes, shown: str) -> str:
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
        message = f"{shown} is not UTF-8 from here"
        raise PolicyError(Problem("RR201", message, Place(shown, line, column), expected, hint)) from error


def _syntax_problem(error: Exception, lines: list[str], shown: str) -> Problem:
    message = str(error)
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    line, column = (int(found[1]), int(found[2])) if found else (len(lines), len(lines[-1]) + 1)
    reason = re.sub(r" \(at [^()]*\)$", "", message)
    place = Place(shown, line, column, "", lines[line - 1] if line <= len(lines) else "")
    if re.search("overwrite a value|declare .* twice|already defined|mutate immutable", reason, re.IGNORECASE):
        hint = "keep one of the two; write a table's keys under one header"
        return Problem("RR203", f"a key appears twice: {reason}", place, "each key once", hint)
    day = _invalid_date_text(place)
    if day is not None:
        expected = "a day that the calendar has, as YYYY-MM-DD, such as 2027-01-31"
        hint = "four digits of the year, two of the month, two of the day; no quotes"
        return Problem("RR202", f"{day} is not a calendar date", place, expected, hint)
    key = re.match(r"""\s*([^\s"'=\[\]{}#][^"=\[\]{}#]*?)\s*=""", place.text)
    if key is not None and not re.fullmatch(r"[A-Za-z0-9_.-]+", key[1]):
        hint = f'a key with other characters than A to z, digits, - and _ needs quotes: "{key[1]}" = …'
        return Problem("RR202", f"not TOML: {reason}", place, hint=hint)
    hint = "text is in quotes, arrays in [ ], inline tables in { } on one line"
    return Problem("RR202", f"not TOML: {reason}", place, hint=hint)


def _invalid_date_text(place: Place) -> str | None:
    for found in _DAY.finditer(place.text):
        if found.start() < place.column <= found.end() + 1:
            with suppress(ValueError):
                datetime.fromisoformat(found[0])
                return None
            return found[0]
    return None


def _build_node(value: object, path: KeyPath, places: Mapping[KeyPath, tuple[Place, Place]], above: Place) -> Node:
    key, place = places.get(path, (above, above))
    if isinstance(value, dict):
        return Node({k: _build_node(v, (*path, k), places, place) for k, v in value.items()}, place, key)
    if isinstance(value, list):
        return Node([_build_node(v, (*path, i), places, place) for i, v in enumerate(value)], place, key)
    return Node(value, place, key)
