"""A caller's table: a uri, or a table in memory with the engine that reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from rrpolicy.policy.folder.root import counts_uri
from rrpolicy.source.memory.kinds import MEMORY_SCHEME, CountedTable, Table, table_kind

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Source


class InputTable(Struct, frozen=True):
    """A table named or passed by the caller.

    Attributes:
        uri: the uri that replaces the policy's; None if the policy's is used.
        engines: scheme -> engine of a table in memory; empty if the uri determines the engine.
    """

    uri: str | None = None
    engines: Mapping[str, Source] = field(default_factory=dict)


def input_table(table: Table | None, scheme: str = MEMORY_SCHEME) -> InputTable:
    """Return a caller's table.

    Two tables in one call have different schemes. None is the policy's table.
    """
    if table is None:
        return InputTable()
    if isinstance(table, CountedTable):
        counts = input_table(table.table, scheme)
        return InputTable(counts_uri(counts.uri or "", table.multiplicity), counts.engines)
    if isinstance(table, (str, os.PathLike)):
        return InputTable(os.fspath(table))
    from rrpolicy.source.memory.copied_records import MemorySource

    kind = table_kind(table)
    return InputTable(f"{scheme}:{kind}", {scheme: MemorySource(table, kind)})
