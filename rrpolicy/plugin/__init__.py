"""The names that plugins import: stable, each loaded at its first use.

`__init__.pyi` in the same folder lists them, for people, type checkers and this module. `rrpolicy.plugin.solve` has
the names for mechanisms that search their parameters as the core's own do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def _stub_exports(file: str, known: dict[str, Any]) -> tuple[list[str], Callable[[str], object]]:
    """Return the names that the stub of a module lists, and a function that loads and stores each of them.

    Args:
        file: file of the module.
        known: its globals.
    """
    lines = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
    modules = {name.name: str(line.module) for line in lines if isinstance(line, ast.ImportFrom) for name in line.names}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {known['__name__']!r} has no attribute {name!r}")
        known[name] = getattr(import_module(modules[name]), name)
        return known[name]

    return sorted(modules), load


__all__, __getattr__ = _stub_exports(__file__, globals())


def __dir__() -> list[str]:
    return __all__
