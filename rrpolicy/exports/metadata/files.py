"""The descriptions of a release in public/, for tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rrpolicy.canonical_json import pretty
from rrpolicy.exports.metadata import croissant, datapackage, dpv
from rrpolicy.formats.format import CORE_FORMATS, Formats
from rrpolicy.manifest.manifest import Manifest


def metadata_files(manifest: Manifest, public: Path, formats: Formats = CORE_FORMATS) -> Mapping[str, bytes]:
    """Return the descriptions, by path in public/; the same bytes for the same manifest and data.

    The manifest needs no `files` and no `digest` yet.
    """
    return {
        datapackage.NAME: pretty(datapackage.datapackage(manifest, public, formats)),
        croissant.NAME: pretty(croissant.croissant(manifest, public, formats)),
        dpv.NAME: pretty(dpv.dpv(manifest)),
    }
