"""Tables of distinct rows with counts, as uris: `counts:n:people.parquet` means that n is the count of each row.

Only the uri states it. It is no part of a policy's digest: a release is the same from records and from their counts.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

SCHEME = "counts"


def counts_uri(uri: str, multiplicity: str) -> str:
    """Return the uri of a table of counts."""
    return f"{SCHEME}:{quote(multiplicity, safe=' ')}:{uri}"


def split_counts_uri(uri: str) -> tuple[str | None, str]:
    """Return the column that holds the count of each row, None for a table of records, and the table's own uri."""
    scheme, _, rest = uri.partition(":")
    column, colon, own = rest.partition(":")
    return (unquote(column), own) if scheme == SCHEME and column and colon else (None, uri)
