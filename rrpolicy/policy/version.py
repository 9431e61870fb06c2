"""The order of semantic versions."""

from __future__ import annotations

import re


def precedence(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[int, int, str], ...]]:
    """Return what semantic versions are ordered by: numbers, then releases above their pre-releases, part by part."""
    core, _, early = re.sub(r"\+.*", "", version).partition("-")
    parts = ((0, int(p), "") if p.isdigit() else (1, 0, p) for p in early.split(".") if p)
    return tuple(map(int, core.split("."))), not early, tuple(parts)
