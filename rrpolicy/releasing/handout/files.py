"""What public/ holds for analysts without rrpolicy: weight tables, a plain estimate.sql, and a README."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rrpolicy.estimate.opening import decoder_from_json
from rrpolicy.releasing.handout.readme import readme
from rrpolicy.releasing.handout.sql import estimate_sql
from rrpolicy.releasing.handout.weights import weight_tables


def public_files(document: Mapping[str, Any]) -> Mapping[str, bytes]:
    """Return the files that go beside the data, by path relative to public/; the same bytes for the same document.

    Args:
        document: release.json; its `files` and `digest` are not needed yet.

    Returns:
        estimate.sql, README.md, and weights/<column>.csv for every randomised column (one for coupled columns).
    """
    files = {"estimate.sql": estimate_sql(document).encode(), "README.md": readme(document).encode()}
    for decoder in document["decoders"]:
        for _, path, text in weight_tables(decoder_from_json(decoder), document["data"]["csv_formulas"]):
            if text:
                files[path] = text.encode()
    return files
