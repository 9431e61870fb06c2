"""The map and the house: every place that the documents name is there, and every room is on the map."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rrpolicy"
MAP = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
MOST, MOST_AT_THE_TOP = 16, 20
"""Modules of a room; a module of the package itself is a room of one file."""


def rooms():
    return sorted(f.parent.relative_to(PACKAGE) for f in PACKAGE.rglob("__init__.py") if f.parent != PACKAGE)


@pytest.mark.parametrize("document", ["docs/explanation/architecture.md", "CONTRIBUTING.md"])
def test_every_place_that_is_named_is_there(document):
    text = (ROOT / document).read_text()
    named = re.findall(r"`((?:rrpolicy|[a-z_]+)/[\w/.-]*)`", text)

    assert len(named) > 10
    for place in named:
        assert (ROOT / place).exists() or (PACKAGE / place).exists(), place


def test_every_room_is_on_the_map():
    tree = MAP[MAP.index("    rrpolicy/") :]

    for room in rooms():
        if room.parts[-1] != "example":
            assert f"{room.name}/" in tree, room


def test_no_room_is_crowded():
    for room in [Path(), *rooms()]:
        most = MOST if room.parts else MOST_AT_THE_TOP
        modules = [f for f in (PACKAGE / room).glob("*.py") if f.name != "__init__.py"]
        assert len(modules) <= most, room


def test_no_two_classes_have_one_name():
    names = Counter(
        node.name
        for room in ("rrpolicy", "plugins", "reports")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    )

    assert [name for name, times in names.items() if times > 1] == []
