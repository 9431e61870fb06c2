"""Where every key and value of a TOML file stands; tomllib gives the values and no places."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import tree_sitter_toml
from tree_sitter import Language, Parser

from rrpolicy.errors import Place

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

KeyPath: TypeAlias = "tuple[str | int, ...]"

_KEYS = frozenset({"bare_key", "quoted_key", "dotted_key"})
_SKIPPED = frozenset({"comment", "ERROR"})


def toml_places(content: bytes, lines: Sequence[str], file: str) -> dict[KeyPath, tuple[Place, Place]]:
    """Return the place of each key and of its value.

    Args:
        content: the file; valid TOML in UTF-8.
        lines: the same as text, without line ends.
        file: the name that places tell.

    Returns:
        path of keys and indices -> (place of the key, place of the value); an item of an array is its own key.
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
        if header is None:
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
        if len(parts) < 2:  # noqa: PLR2004
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
                if child.type == "pair":
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
        """Return the characters before a byte of a row, counted on from where the last call ended."""
        at, counted, characters = self.achieved if self.achieved[0] == row and self.achieved[1] <= byte else (row, 0, 0)
        characters += len(self.rows[at][counted:byte].decode(errors="replace"))
        self.achieved = (row, byte, characters)
        return characters
