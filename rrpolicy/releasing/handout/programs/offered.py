"""The programs that a file can be written for, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError, Problem

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

PROGRAMS = {
    "r": ("reader", "written"),
    "stata": ("stata", "written"),
    "spss": ("spss", "written"),
    "duckdb": ("macros", "written"),
    **{name: ("plain_sql", name) for name in ("postgres", "sqlite", "ansi")},
}
"""Name of a program -> the module of this room that writes its file, and the function."""


def export(release: Release, program: str) -> str:
    """Return the file by which a program reads a release.

    Args:
        release: opened.
        program: one of `PROGRAMS`.

    Raises:
        PolicyError: RR278 for another program; RR512, RR513 for a release that the program cannot read.
    """
    if program not in PROGRAMS:
        raise PolicyError(Problem("RR278", f"no such program: {program!r}", expected=f"one of {', '.join(PROGRAMS)}"))
    module, function = PROGRAMS[program]
    text: str = getattr(import_module(f"rrpolicy.releasing.handout.programs.{module}"), function)(release)
    return text
