"""What every source must do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from rrpolicy.engine.arrays import as_numpy
from rrpolicy.policy.model import Policy
from rrpolicy.source.duckdb.encoding import NULL
from rrpolicy.source.protocol import MULTIPLICITY, Snapshot, Source
from rrpolicy.testing.demand import demand


def check_source(source: Source, uri: str, table: str | None, policy: Policy, scratch: Path) -> None:
    """Check that an engine keeps the promises of `Source` and `Snapshot`.

    Args:
        source: the engine.
        uri: of a table of at least two records that fits the policy.
        table: inside a database.
        policy: declares the domain of every categorical attribute.
        scratch: an empty folder.

    Raises:
        AssertionError: saying what is not as promised.
    """
    demand(bool(source.schemes), "a source names the schemes or endings that it opens")
    with source.open(uri, table, scratch) as snapshot:
        _check_snapshot(snapshot, policy)
        first = _rows(snapshot, policy)
    with source.open(uri, table, scratch) as snapshot:
        demand(_rows(snapshot, policy).equals(first), "opened again, the same table reads otherwise")


def _check_snapshot(snapshot: Snapshot, policy: Policy) -> None:
    columns = snapshot.columns()
    missing = [a.name for a in policy.attributes.values() if a.name not in columns]
    demand(not missing, f"columns() lacks {missing}")
    snapshot.unchanged()
    attributes = [a for a in policy.released if a.categorical]
    carried = [a.name for a in policy.released if not a.categorical]
    tally = snapshot.tally(attributes).read_all()
    demand(
        tally.schema.names == [*(a.name for a in attributes), MULTIPLICITY],
        "tally() returns a column a attribute, then n",
    )
    counts = as_numpy(tally.column(MULTIPLICITY))
    demand(bool(np.all(counts > 0)), "tally() returns an empty cell")
    demand(int(counts.sum()) == snapshot.records(), "tally() does not add up to records()")
    for attribute in attributes:
        codes = tally.column(attribute.name)
        demand(pa.types.is_int32(codes.type), f"tally() returns '{attribute.name}' in another type than int32")
        size = len(attribute.domain or ())
        inside = [NULL <= code < size for code in codes.to_pylist()]
        demand(all(inside), f"tally() returns a code of '{attribute.name}' that is neither a position nor -1, -2")
    rows = _rows(snapshot, policy)
    demand(rows.num_rows == snapshot.records(), "rows() returns more or fewer rows than records()")
    names = [a.name for a in attributes]
    if names:
        order = [(name, "ascending") for name in names]
        demand(rows.select(names).equals(rows.select(names).sort_by(order)), "rows() are not sorted by their codes")
        grouped = rows.group_by(names).aggregate([([], "count_all")]).sort_by(order)
        tallied = tally.group_by(names).aggregate([(MULTIPLICITY, "sum")]).sort_by(order)
        same = grouped.column("count_all").to_pylist() == tallied.column(f"{MULTIPLICITY}_sum").to_pylist()
        demand(same, "rows() and tally() disagree")
    demand(rows.schema.names == [*names, *carried], "rows() returns the codes, then the carried columns")


def _rows(snapshot: Snapshot, policy: Policy) -> pa.Table:
    attributes = [a for a in policy.released if a.categorical]
    carried = [a.name for a in policy.released if not a.categorical]
    return snapshot.rows(attributes, carried).read_all().combine_chunks()
