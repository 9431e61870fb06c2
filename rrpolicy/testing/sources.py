"""Checks of a source."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pyarrow as pa

from rrpolicy.errors import DataError, RefusedError, RRPolicyError
from rrpolicy.frozen import replace
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Attribute, Policy, Reading
from rrpolicy.source.memory.copied_records import encoded
from rrpolicy.source.opening import engine_for_uri
from rrpolicy.source.protocol import MULTIPLICITY, Snapshot, Source
from rrpolicy.testing.assertions import convert_to_assertion, demand

Rows: TypeAlias = pa.Table | Sequence[Mapping[str, Any]]
RECORDS = 2_501
LATE = 2_048
"""Records with nothing in the last column: reading one block, or guessing by the first rows, sees no value of it."""
STRAY = ("no category of any domain", 'Ö, "quoted"\nnext line')
MANY = 10_000


@convert_to_assertion("the arguments of the source")
def check_source(
    source: Source,
    policy: OpenedPolicy,
    make: Callable[[pa.Table], str] | str,
    rows: Rows | None = None,
    *,
    table: str = "",
) -> None:
    """Check that an engine opens a table unchanged, and detects changes to it.

        def make(rows):
            path = tmp_path / "people.sqlite"
            ...  # writes the rows into a fresh file, always the same one
            return f"sqlite:{path}"

        check_source(SQLite(), policy, make, table="people")

    Args:
        source: the engine.
        policy: the policy whose attributes are read, every domain declared or observed; its treatment of missing
            values applies.
        make: writes rows where the source reads them, always at the same place, and returns the uri; or the uri of an
            existing table, which then is not changed.
        rows: rows of the table, with the types that the source should report; by default made-up rows with all cases
            of the policy: nulls, codes of missing values, values outside of a domain, edges.
        table: inside a database.

    Raises:
        AssertionError: with the violated requirement.
    """
    demand(bool(source.schemes), "a source lists the schemes or endings that it opens")
    demand(rows is not None or callable(make), "`rows` contain the rows of the table")
    whole = _table(rows) if rows is not None else make_rows(policy.policy)
    uri = make(whole) if callable(make) else make
    read = _SourceReader(source, table or None, policy.policy)
    with read.snapshot(uri) as found, read.expected(whole) as expected:
        _compare(found, expected, policy.policy)
        first = read.rows(found)
    with read.snapshot(uri) as found:
        demand(read.rows(found).equals(first), "opened again, the same table reads otherwise")
    _check_addresses(read, uri, first)
    if callable(make):
        _check_changed(read, make, whole, uri)


def _table(rows: Rows) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([dict(row) for row in rows])


def make_rows(policy: Policy) -> pa.Table:
    """Return records with all cases of a policy, unordered; values of the last column begin late."""
    columns = {}
    for place, attribute in enumerate(policy.attributes.values()):
        values = _values(attribute, policy.reading)
        step = next(s for s in (5, 7, 11, 13) if math.gcd(s, len(values)) == 1)
        columns[attribute.name] = pa.array(
            [values[(i * step + i // (3 + place)) % len(values)] for i in range(RECORDS)]
        )
    last = next(reversed(columns))
    columns[last] = pa.concat_arrays([pa.nulls(LATE, columns[last].type), columns[last][LATE:]])
    return pa.table(columns)


def _values(attribute: Attribute, reading: Reading) -> list[Any]:
    """Return the possible values of a column: of its domain, outside of it, missing, and null."""
    kept = {attribute.nulls, attribute.outside}
    values: list[Any] = [v for v in attribute.domain or () if v not in kept]
    if attribute.bins is not None:
        values = _edge_values(attribute.bins.edges)
    elif attribute.observed:
        values = ["b", "a", "c"]
    elif not values:
        values = [3, 1, 2] if not attribute.role.dropped else [f"p{i}" for i in range(60)]
    kinds = {type(v) for v in values}
    if kinds == {str}:
        values += [v for v in (*STRAY, f" {values[0]}", values[0].swapcase()) if v not in (attribute.domain or values)]
    elif kinds <= {int, float} and attribute.categorical:
        values.append(max(values) + 7)
    values += [code for code in reading.codes(attribute.name) if type(code) in kinds and code not in values]
    return [*values, None]


def _edge_values(edges: Sequence[float | str]) -> list[Any]:
    if any(isinstance(e, str) for e in edges):
        read = (
            dt.date.fromisoformat if all(len(str(e)) == len("2020-01-01") for e in edges) else dt.datetime.fromisoformat
        )
        moments = [read(e) for e in edges if isinstance(e, str)]
        return [*moments, *(m - dt.timedelta(days=1) for m in moments)]
    finite = [float(e) for e in edges if math.isfinite(float(e))]
    between = [(a + b) / 2 for a, b in pairwise(finite)]
    return [*finite, *between, finite[0] - 1, finite[-1] + 0.5]


class _SourceReader:
    """A source that reads tables of one policy."""

    def __init__(self, source: Source, table: str | None, policy: Policy) -> None:
        self.source, self.table, self.policy = source, table, policy
        self.coded = [a for a in policy.released if a.categorical]
        self.carried = [a.name for a in policy.released if not a.categorical]

    @contextmanager
    def snapshot(self, uri: str) -> Iterator[Snapshot]:
        with TemporaryDirectory() as scratch:
            opened = self.source.open(uri, self.table, Path(scratch), self.policy.reading)
            with opened as snapshot:
                yield snapshot

    @contextmanager
    def expected(self, rows: pa.Table) -> Iterator[Snapshot]:
        """Open the rows, encoded by rrpolicy."""
        with TemporaryDirectory() as scratch, encoded(rows, "rows", Path(scratch), self.policy.reading) as snapshot:
            yield snapshot

    def rows(self, snapshot: Snapshot) -> pa.Table:
        coded = [_attribute_with_domain(a, snapshot) for a in self.coded]
        return snapshot.rows(coded, self.carried).read_all().combine_chunks()


def _attribute_with_domain(attribute: Attribute, snapshot: Snapshot) -> Attribute:
    if attribute.domain is not None:
        return attribute
    return replace(attribute, domain=tuple(v for v in snapshot.distinct(attribute, MANY) if v is not None))


def _compare(found: Snapshot, expected: Snapshot, policy: Policy) -> None:
    told, right = dict(found.columns()), dict(expected.columns())
    demand(list(told) == list(right), f"columns() are {list(told)}, and the table has {list(right)}")
    for name, kind in right.items():
        demand(told[name] == kind, f"columns() returns that '{name}' is {told[name]}, and it is {kind}")
    demand(found.records() == expected.records(), f"records() is {found.records()}, and there are {expected.records()}")
    found.unchanged()
    for attribute in policy.released:
        _compare_column(found, expected, attribute)
    coded = [_attribute_with_domain(a, expected) for a in policy.released if a.categorical]
    carried = [a.name for a in policy.released if not a.categorical]
    turned = [replace(a, domain=(a.domain or ())[::-1]) for a in coded if a.bins is None]
    for attributes, columns in (
        (coded, carried),
        (coded[::-1], carried[::-1]),
        (turned, []),
        *(([a], []) for a in coded),
        *(([], [name]) for name in carried),
    ):
        if attributes or columns:
            _compare_rows(found, expected, attributes, columns)
    unit = policy.unit
    if unit is not None and hasattr(found, "units"):
        same = found.units(unit) == expected.units(unit)
        demand(same, f"units('{unit}') is {found.units(unit)}, not {expected.units(unit)}")


def _compare_column(found: Snapshot, expected: Snapshot, attribute: Attribute) -> None:
    kind, right = _released_type(found, attribute), _released_type(expected, attribute)
    demand(kind == right, f"released_type() of '{attribute.name}' is {kind}, not {right}")
    values, known = found.distinct(attribute, MANY), expected.distinct(attribute, MANY)
    name = f"distinct() of '{attribute.name}'"
    demand(len({repr(v) for v in values}) == len(values), f"{name} contains a value twice")
    demand({repr(v) for v in values} == {repr(v) for v in known}, f"{name} is {values}, not {known}")
    demand(list(map(repr, values)) == list(map(repr, known)), f"{name} is not sorted: {values}, not {known}")
    few = found.distinct(attribute, 1)
    demand(len(few) == min(2, len(known)), f"{name}, at most 1, returns {len(few)} values, not one more")


def _released_type(snapshot: Snapshot, attribute: Attribute) -> str:
    try:
        return snapshot.released_type(attribute)
    except DataError as error:
        return error.problems[0].code


def _compare_rows(found: Snapshot, expected: Snapshot, attributes: Sequence[Attribute], carried: Sequence[str]) -> None:
    names = [*(a.name for a in attributes), *carried]
    try:
        right, tallied = expected.rows(attributes, carried).read_all(), expected.tally(attributes, carried).read_all()
    except DataError as error:
        raise AssertionError(f"the rows do not fit the policy: {error}") from error
    rows, tally = found.rows(attributes, carried).read_all(), found.tally(attributes, carried).read_all()
    for what, told, columns in (("rows()", rows, names), ("tally()", tally, [*names, MULTIPLICITY])):
        demand(told.schema.names == columns, f"{what} returns the columns {told.schema.names}, not {columns}")
        for attribute in attributes:
            kind = told.schema.field(attribute.name).type
            demand(pa.types.is_int32(kind), f"{what} returns '{attribute.name}' as {kind}, not int32")
    demand(rows.num_rows == right.num_rows, f"rows() returns {rows.num_rows} rows of {right.num_rows}")
    demand(sum(tally.column(MULTIPLICITY).to_pylist()) == right.num_rows, "tally() does not add up to records()")
    for what, told, true in (("rows()", rows, right), ("tally()", tally, tallied)):
        for attribute in attributes:
            _compare_codes(what, attribute, told.column(attribute.name), true.column(attribute.name))
        read, wanted = (list(zip(*t.to_pydict().values(), strict=True)) for t in (told, true))
        demand(
            sorted(map(repr, read)) == sorted(map(repr, wanted)),
            f"{what} of {names} contains other rows than the table",
        )
        demand(read == wanted, f"{what} of {names} is not sorted")


def _compare_codes(what: str, attribute: Attribute, told: pa.ChunkedArray, true: pa.ChunkedArray) -> None:
    """Refuse a category with more or fewer records than in the table."""
    if what != "rows()":
        return
    names = {-1: "outside the domain", -2: "null", **dict(enumerate(map(repr, attribute.domain or ())))}
    for code in sorted({*told.to_pylist(), *true.to_pylist()}, key=str):
        found, right = (some.to_pylist().count(code) for some in (told, true))
        said = names.get(code, f"the code {code}")
        demand(
            found == right, f"{what} has {found} records of '{attribute.name}' that are {said}, and there are {right}"
        )


def _check_addresses(read: _SourceReader, uri: str, first: pa.Table) -> None:
    """Open the table by a relative path, and a table that does not exist."""
    sources = dict.fromkeys(read.source.schemes, read.source)
    try:
        _, resolved = engine_for_uri(uri, sources, Path.cwd())
    except DataError as error:
        raise AssertionError(f"`schemes` does not open its own uri '{uri}': {error}") from error
    demand(resolved == uri or not Path(uri).is_absolute(), f"'{uri}' is resolved to '{resolved}'")
    found = re.fullmatch(r"((?:[A-Za-z][A-Za-z0-9+.-]+:)?)(/[^/].*)", uri)
    if found and getattr(read.source, "paths", True):
        scheme, path = found[1], Path(found[2])
        _, resolved = engine_for_uri(scheme + path.name, sources, path.parent)
        with read.snapshot(resolved) as snapshot:
            demand(read.rows(snapshot).equals(first), "by a relative path, it opens another table")
    _check_absent(read, uri + "-which-is-not-there", "a table that is not there is opened")
    if read.table:
        other = _SourceReader(read.source, read.table + "_which_is_not_there", read.policy)
        _check_absent(other, uri, "`table` is passed over: under another name the same rows are read", first)


def _check_absent(read: _SourceReader, uri: str, opened: str, first: pa.Table | None = None) -> None:
    """Open a table that does not exist: it is refused, or at least not read as another table's rows."""
    try:
        with convert_to_assertion("opening a table that is not there, not DataError,", RRPolicyError):  # noqa: SIM117 one error is expected
            with read.snapshot(uri) as snapshot:
                demand(first is not None and not read.rows(snapshot).equals(first), opened)
    except RRPolicyError:
        return


def _check_changed(read: _SourceReader, make: Callable[[pa.Table], str], whole: pa.Table, uri: str) -> None:
    fewer = whole.slice(1)
    with read.snapshot(uri) as snapshot:
        before = read.rows(snapshot)
        demand(make(fewer) == uri, "`make` writes always at the same place, and returns the same uri")
        noticed = _refusal_code(lambda: read.rows(snapshot))
        if noticed is None:
            demand(read.rows(snapshot).equals(before), "the table changed, and it reads the new one (RR410)")
        else:
            demand(noticed == "RR410", f"the table changed, and it refuses to read it by {noticed}, not by RR410")
            demand(
                _refusal_code(snapshot.unchanged) == "RR410",
                "the table changed, and unchanged() does not report it (RR410)",
            )
    with read.snapshot(uri) as snapshot, read.expected(fewer) as expected:
        same = read.rows(snapshot).equals(read.rows(expected))
        demand(same, "the table changed, and opened again it reads as it was")
    make(whole)


def _refusal_code(ask: Callable[[], object]) -> str | None:
    try:
        with convert_to_assertion("reading a table that changed", RefusedError):
            ask()
    except RefusedError as error:
        return error.problems[0].code
    return None
