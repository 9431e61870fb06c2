"""A page for every code: its meaning, the remedy, an example."""

from __future__ import annotations

import importlib.resources


def codes() -> tuple[str, ...]:
    """Return every code that has a page, in order."""
    names = (entry.name for entry in importlib.resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in names if name.startswith("RR") and name.endswith(".md")))


def page(code: str) -> str:
    """Return the page of a code, in Markdown.

    Raises:
        FileNotFoundError: if the code has no page.
    """
    return importlib.resources.files(__name__).joinpath(f"{code}.md").read_text("utf-8").strip()
