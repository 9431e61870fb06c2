"""The programs that files can be written for, by name."""

from __future__ import annotations

from importlib.resources import files
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.numbers import plain_number

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


PROGRAMS = {
    "r": "program_export:r_program",
    "stata": "stata:stata_program",
    "spss": "spss:spss_program",
    "duckdb": "macros:duckdb_program",
    "postgres": "databases:postgres",
    "sqlite": "databases:sqlite",
    "ansi": "databases:ansi",
}
"""Name of a program -> the module of this room, and its function, that writes its file."""


def export(release: Release, program: str) -> str:
    """Return the file with which a program reads a release.

    Raises:
        PolicyError: RR278 for another program; RR512, RR513 for a release that the program cannot read.
    """
    if program not in PROGRAMS:
        raise PolicyError(Problem("RR278", f"no such program: {program!r}", expected=f"one of {', '.join(PROGRAMS)}"))
    text: str = resolve_name(f"rrpolicy.exports.programs.{PROGRAMS[program]}")(release)
    return text


def r_program(release: Release) -> str:
    """Return the reader; it reads release.json when run."""
    del release
    text = files("rrpolicy.exports").joinpath("templates", "rrpolicy.R").read_text("utf-8")
    return text.replace("@level@", plain_number(LEVEL))
