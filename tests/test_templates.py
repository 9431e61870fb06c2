"""Templates are compiled once, and never stale: what was compiled lies beside them, as Python's own does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from rrpolicy.escaping.templates import template_environment


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a package with one template; its environment is made anew by every call."""
    folder = tmp_path / "templated_here" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "page.txt").write_text("{{ 'a' | shout }} {{ name }}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def written(shout: Any = str.upper, **values: object) -> str:
        made = template_environment("templated_here", str)
        made.filters["shout"] = shout
        return made.get_template("page.txt").render(values)

    yield folder, written
    del sys.modules["templated_here"]


def compiled(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if "__pycache__" in path.parts and path.is_file()]


def test_a_template_is_compiled_once(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, written = package
    assert written(name="b") == "A b"
    assert len(compiled(folder)) == 1

    monkeypatch.delattr(Environment, "compile")
    assert written(name="<c>") == "A &lt;c&gt;"


def test_no_change_is_missed(package: Any) -> None:
    folder, written = package
    assert written(name="b") == "A b"
    assert written(str.title, name="b") == "A b"
    assert written(lambda text: text * 3, name="b") == "aaa b"  # nothing of a filter was kept
    (folder / "page.txt").write_text("{{ name }}!")
    assert written(name="b") == "b!"


@pytest.mark.parametrize("content", [b"", b"\n", b"nothing", b"\xff\n\x00", b"0\nabc"])
def test_what_is_cut_short_is_made_again(package: Any, content: bytes) -> None:
    folder, written = package
    written(name="b")
    (path,) = compiled(folder)
    digest, _ = path.read_bytes().split(b"\n", 1)
    for wrong in (content, digest + b"\n" + content):
        path.write_bytes(wrong)
        assert written(name="b") == "A b"


def test_nothing_is_written_where_python_may_write_nothing(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, written = package
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert written(name="b") == "A b"
    assert compiled(folder) == []
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (folder / "__pycache__").touch()  # no folder can be made there
    assert written(name="b") == "A b"
