"""The reader for R: one file of base R, the same for every release."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


def r_program(release: Release) -> str:
    """Return the reader; it reads release.json when run."""
    del release
    return files("rrpolicy.exports").joinpath("templates", "rrpolicy.R").read_text("utf-8")
