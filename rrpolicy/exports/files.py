"""Files in public/ for analysts without rrpolicy: weight tables, a plain estimate.sql, a README, and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rrpolicy.canonical_json import pretty
from rrpolicy.exports.jinja_environment import export_environment
from rrpolicy.exports.metadata import croissant, datapackage, dpv
from rrpolicy.exports.template_context import template_context
from rrpolicy.formats.format import CORE_FORMATS, Formats
from rrpolicy.manifest.manifest import Manifest


def public_files(manifest: Manifest, formats: Formats = CORE_FORMATS) -> Mapping[str, bytes]:
    """Return the files to add to the data, by path relative to public/; the same bytes for the same manifest.

    estimate.sql runs unmodified in DuckDB (`duckdb -init estimate.sql` in public/). It defines the view `release`, a
    table of weights for every randomised axis, and views with the corrected one-way tables and one two-way table, each
    with both standard errors and the interval of this table. For anatomy groups, both tables and their join; if
    matrices are withheld, the released tables.

    The manifest needs no `files` and no `digest` yet.
    """
    filled = template_context(manifest, formats[manifest.data.format])
    named = {"estimate.sql": f"{filled['kind']}.sql", "README.md": f"{filled['kind']}.md"}
    written = {path: export_environment().get_template(name).render(filled) for path, name in named.items()}
    written |= {file.path: file.text for file in filled["weights"]}
    return {path: text.encode() for path, text in written.items()}


def metadata_files(manifest: Manifest, public: Path, formats: Formats = CORE_FORMATS) -> Mapping[str, bytes]:
    """Return the descriptions, by path in public/; the same bytes for the same manifest and data.

    The manifest needs no `files` and no `digest` yet.
    """
    return {
        datapackage.NAME: pretty(datapackage.datapackage(manifest, public, formats)),
        croissant.NAME: pretty(croissant.croissant(manifest, public, formats)),
        dpv.NAME: pretty(dpv.dpv(manifest)),
    }
