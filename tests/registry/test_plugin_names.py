"""What plugins import: few names, each of them there, all that their signatures name, none lost between versions."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import pytest

import rrpolicy

HERE = Path(__file__).parent
ROOT = Path(rrpolicy.__file__).parents[1]
MODULES = {
    "rrpolicy.plugin": 90,
    "rrpolicy.plugin.engines": 16,
    "rrpolicy.plugin.solve": 32,
    "rrpolicy.plugin.text": 16,
    "rrpolicy.plugin.types": 92,
}
"""How many names each may have."""
ANALYSTS = {("rrpolicy.estimate.release", "Release")}
"""What analysts are handed as well: docs/tutorials/analyst.md speaks of what it names."""
Name = tuple[str, str]


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_there(name):
    module = import_module(name)

    assert len(module.__all__) <= MODULES[name]
    assert dir(module) == module.__all__
    for listed in module.__all__:
        assert getattr(module, listed) is not None
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'nothing'"):
        _ = module.nothing


def test_no_name_stands_in_two():
    listed = [set(import_module(name).__all__) for name in MODULES]
    assert sum(map(len, listed)) == len(set.union(*listed))


def test_every_type_that_a_public_signature_names_is_exported():
    listed = {name for module in MODULES for name in stub(module)}
    lacking = {
        f"{home}.{name}: named by {user}"
        for module, user in sorted(listed - ANALYSTS)
        for home, name in named(module, user)
        if (home, name) not in listed and not isinstance(getattr(import_module(home), name, None), TypeVar)
    }

    assert not lacking


def test_the_check_of_signatures_finds_what_is_not_exported():
    assert ("rrpolicy.estimate.results.table", "Crosstab") in set(named("rrpolicy.estimate.release", "Release"))
    assert ("rrpolicy.channels.base", "Sink") in set(named("rrpolicy.channels.base", "Channel"))


def test_no_name_of_a_version_went_away():
    """`names/` holds what each version offered; that of the version that is being made is written anew by hand."""
    for kept in sorted((HERE / "names").glob("*.json")):
        for module, names in json.loads(kept.read_text()).items():
            missing = [name for name in names if not hasattr(import_module(module), name)]
            assert not missing, f"{module} of {kept.stem} had {missing}: deprecate them for a version first"
    now = {name: import_module(name).__all__ for name in (*MODULES, "rrpolicy.testing")}
    current = json.loads((HERE / "names" / f"{rrpolicy.__version__}.json").read_text())
    assert {module: sorted(names) for module, names in now.items()} == current


def test_nothing_heavy_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, rrpolicy.plugin, rrpolicy.plugin.engines, rrpolicy.plugin.solve, rrpolicy.plugin.text, rrpolicy.plugin.types\n"
        "assert not {'numpy', 'duckdb', 'pydantic', 'rrpolicy.policy.model'} & set(sys.modules)\n"
        "from rrpolicy.plugin import Attribute\n"
        "assert 'rrpolicy.policy.model' in sys.modules and 'numpy' not in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(Path(import_module(module).__file__ or "").read_text())


def stub(module: str) -> set[Name]:
    """Return the names that a stub lists, with where each stands."""
    body = ast.parse(Path(import_module(module).__file__ or "").with_suffix(".pyi").read_text()).body
    return {(str(line.module), n.name) for line in body if isinstance(line, ast.ImportFrom) for n in line.names}


@cache
def known(module: str) -> dict[str, Name]:
    """Return what names of rrpolicy mean in a module: what it imports, for types as well, and what it defines."""
    means: dict[str, Name] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rrpolicy"):
            means |= {n.asname or n.name: (str(node.module), n.name) for n in node.names}
    for node in tree(module).body:
        match node:
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                means[name] = (module, name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                means[name] = (module, name)
    return means


def named(module: str, user: str) -> Iterator[Name]:
    """Yield what the signature of a function, or the fields, bases and public methods of a class, name of rrpolicy."""
    for node in tree(module).body:
        match node:
            case ast.FunctionDef(name=name) if name == user:
                shown: list[ast.expr | None] = list(signature(node))
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if name == user:
                shown = [value]
            case ast.ClassDef(name=name) if name == user:
                fields = [
                    n for n in node.body if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_")
                ]
                methods = [
                    n
                    for n in node.body
                    if isinstance(n, ast.FunctionDef) and (n.name == "__init__" or n.name[0] != "_")
                ]
                shown = [*node.bases, *(f.annotation for f in fields), *(a for m in methods for a in signature(m))]
            case _:
                continue
        for expression in shown:
            for word in words(expression):
                if word in known(module) and not word.startswith("_"):
                    yield known(module)[word]


def signature(function: ast.FunctionDef) -> Iterator[ast.expr | None]:
    given = function.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        yield argument and argument.annotation
    yield function.returns


def words(expression: ast.expr | None) -> Iterator[str]:
    """Yield the names in an annotation, those in quotes as well."""
    for node in ast.walk(expression) if expression is not None else ():
        match node:
            case ast.Name(id=word):
                yield word
            case ast.Constant(value=str(text)):
                with suppress(SyntaxError):  # of an alias or annotation in quotes, not of a description beside it
                    yield from words(ast.parse(text, mode="eval").body)
