"""The public functions, and what they return: mkdocstrings reads their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import rrpolicy
from rrpolicy.estimate.release import Release

OPENING = """\
# Python

`import rrpolicy` offers what stands here, and nothing else is promised ([how to use it](../how-to/python.md)). What plugins import is in
[the reference of plugins](plugins.md).
"""


def functions_page() -> str:
    """Return the page, a directive of mkdocstrings for each name."""
    offered = [getattr(rrpolicy, name) for name in rrpolicy.__all__ if not name.startswith("_")]
    groups: dict[str, list[type | Callable[..., object]]] = {
        "Functions": [thing for thing in offered if inspect.isfunction(thing)],
        "A release that is open": [Release],
        "Errors": [thing for thing in offered if inspect.isclass(thing)],
    }
    parts = [OPENING]
    for title, things in groups.items():
        parts.append(f"## {title}\n")
        parts += [f"::: {thing.__module__}.{thing.__qualname__}\n" for thing in things]
    return "\n".join(parts)
