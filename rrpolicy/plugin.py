"""The one module that plugins import: the concepts under stable names, each loaded when it is first asked for.

`plugin.pyi` beside it is the list of them, for people, type checkers and this module.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

_LISTED = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_MODULES = {name.name: str(line.module) for line in _LISTED if isinstance(line, ast.ImportFrom) for name in line.names}

__all__ = sorted(_MODULES)  # noqa: PLE0605 - the stub's names


def __getattr__(name: str) -> object:
    """Load a concept and keep it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
