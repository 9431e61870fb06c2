"""The reader for R: one file of base R, the same for every release."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rrpolicy.formats.format import Format
    from rrpolicy.manifest.manifest import Manifest


def written(manifest: Manifest, form: Format) -> str:
    """Return the reader; it reads release.json itself."""
    del manifest, form
    return files("rrpolicy.releasing.handout").joinpath("templates", "rrpolicy.R").read_text("utf-8")
