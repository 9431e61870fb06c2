"""Draws of a channel in memory, the law that they must follow, and releases drawn from a seed and read back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from rrpolicy.bundle.execute import draw_to_folder
from rrpolicy.bundle.manifest import build_manifest
from rrpolicy.bundle.tables.lazy_tables import LazyReleasedTables, open_data_tables
from rrpolicy.canonical_json import Value, category_text
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Channel
from rrpolicy.channels.decoders import Cell, IdentityDecoder, MatrixDecoder, RetentionDecoder, label_cells
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.values import read_codes
from rrpolicy.errors import RRPolicyError
from rrpolicy.estimate.opening import release_of
from rrpolicy.estimate.release import Release
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.numbers import fixed_number
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.plan import Plan, make_plan, software
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Policy
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing.assertions import demand

if TYPE_CHECKING:
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Array, Ints
    from rrpolicy.source.protocol import Original


ListedDecoder: TypeAlias = IdentityDecoder | RetentionDecoder | MatrixDecoder
"""The decoders that determine the expected number of records released with each value."""
DRAWS = 100
ERRORS = 8
"""Standard errors that a mean may be off."""
FEW = 30 / DRAWS
"""Number of records that a mean may be off in addition: such rare events may not have occurred yet."""


class RowCollector:
    """A sink that counts distinct rows."""

    def __init__(self) -> None:
        self.parts: dict[str, list[pa.Table]] = {}

    def write(
        self, table: str, batch: pa.RecordBatch, n: Ints | None = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        """Store a batch with its multiplicities."""
        del in_order, sorted_by
        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        times = pa.array(np.ones(batch.num_rows, np.int64) if n is None else n, pa.int64())
        demand(all(pc.greater(times, 0).to_pylist()), "draw() returns a row that does not exist")
        self.parts.setdefault(table, []).append(pa.table([*plain, times], names=[*batch.schema.names, MULTIPLICITY]))

    def rows(self, table: str) -> pa.Table:
        """Return distinct rows in order, with their counts."""
        everything = pa.concat_tables(self.parts[table])
        names = [name for name in everything.schema.names if name != MULTIPLICITY]
        if any(pa.types.is_nested(everything.schema.field(name).type) for name in names):
            return everything
        grouped = everything.group_by(names).aggregate([(MULTIPLICITY, "sum")]).rename_columns([*names, MULTIPLICITY])
        return grouped.sort_by([(name, "ascending") for name in names])


def draw_tables(channel: Channel, original: Original, seed: int) -> dict[str, pa.Table]:
    """Return the released tables of one draw: distinct rows in order, with their counts."""
    sink = RowCollector()
    channel.draw(original, Streams.for_tests(seed), sink)
    names = {table.name for table in channel.tables()}
    demand(set(sink.parts) == names, f"drawn were {sorted(sink.parts)}, declared {sorted(names)}")
    return {name: sink.rows(name) for name in names}


def check_law(channel: Channel, original: Original) -> None:
    """Compare the mean counts of many draws with the expectations of the channel's decoders.

    A correct channel fails with a probability below 1e-6 if records are drawn independently or without replacement, or
    if joint changes are frequent enough to occur in `DRAWS` draws.

    The channel is fixed for the table.
    """
    listed = [decoder for decoder in channel.decoders() if isinstance(decoder, ListedDecoder)]
    laws = [
        _ExpectedCounts(decoder, channel, original)
        for decoder in listed
        if isinstance(decoder, MatrixDecoder) or decoder.labels
    ]
    if not laws:
        return
    for seed in range(DRAWS if any(law.decoder.drawn for law in laws) else 1):
        tables = draw_tables(channel, original, seed)
        for law in laws:
            law.see(tables)
    for law in laws:
        law.check()


def _cell_text(cell: Cell) -> tuple[str, ...]:
    return tuple(map(category_text, cell))


def _decoder_cells(decoder: ListedDecoder) -> tuple[Sequence[Cell], Sequence[Cell]]:
    match decoder:
        case MatrixDecoder(released=released, original=original):
            return released, original
        case RetentionDecoder(labels=own):
            return own, own
        case IdentityDecoder(labels=labels):
            return label_cells(labels), label_cells(labels)


class _ExpectedCounts:
    """Released counts expected by a decoder, with those that were drawn."""

    def __init__(self, decoder: ListedDecoder, channel: Channel, original: Original) -> None:
        self.decoder = decoder
        self.table, self.columns = _decoder_table(decoder, channel)
        self.seen: list[Array] = []
        told, undone = _decoder_cells(decoder)
        self.cells = [_cell_text(cell) for cell in told]
        self.places = {cell: u for u, cell in enumerate(self.cells)}
        codes = {_cell_text(cell): v for v, cell in enumerate(undone)}
        true = original.counts(*decoder.attributes)
        domains: list[tuple[Value, ...]] = [original.policy.attributes[a].domain or () for a in decoder.attributes]
        occurring = [
            codes[_cell_text(tuple(d[c] for d, c in zip(domains, row, strict=True)))] for row in true.codes.tolist()
        ]
        if isinstance(decoder, IdentityDecoder):
            entries = np.eye(len(told))[:, occurring]
        else:
            entries = np.array([[float(row[v]) for v in occurring] for row in decoder.matrix()])
        self.expected = entries @ true.n
        self.certain = np.all((entries == 0) | (entries == 1), axis=1)

    def see(self, tables: Mapping[str, pa.Table]) -> None:
        rows = tables[self.table]
        codes = [read_codes(column, rows.column(column.name).combine_chunks()) for column in self.columns]
        released = product(*(column.labels for column in self.columns))
        places = np.array([self.places.get(_cell_text(cell), -1) for cell in released])
        flat = places[np.ravel_multi_index(tuple(codes), [len(column.labels) for column in self.columns])]
        demand(bool(np.all(flat >= 0)), f"draw() releases a value of {self} that its decoder does not know")
        n = rows.column(MULTIPLICITY).to_numpy()
        self.seen.append(np.bincount(flat, weights=n, minlength=len(self.cells)).astype(np.float64))

    def check(self) -> None:
        """Compare every mean with its expectation, and certain counts with their exact values."""
        seen = np.array(self.seen)
        for cell, counts, expected, certain in zip(self.cells, seen.T, self.expected, self.certain, strict=True):
            mean = float(counts.mean())
            error = float(counts.std(ddof=1)) / math.sqrt(len(counts)) if len(counts) > 1 else 0.0
            fits = all(counts == expected) if certain else abs(mean - expected) <= ERRORS * error + FEW
            demand(
                bool(fits),
                f"draw() releases {fixed_number(mean, 1)} records with {self} = {', '.join(cell)}, on average over "
                f"{len(counts)} draws, and the decoder yields {fixed_number(expected, 1)}: "
                "draw() does not use its matrix",
            )

    def __str__(self) -> str:
        return ", ".join(f"'{column.name}'" for column in self.columns)


def _decoder_table(decoder: ListedDecoder, channel: Channel) -> tuple[str, tuple[Column, ...]]:
    for table in channel.tables():
        columns = {column.name: column for column in table.columns}
        if columns.keys() >= set(decoder.columns):
            return table.name, tuple(columns[name] for name in decoder.columns)
    raise AssertionError(f"the columns {list(decoder.columns)} of a decoder are not in one table")


def plan_kit_release(policy: OpenedPolicy, original: Original, channel: Channel | None = None) -> Plan:
    """Return the plan of a table."""
    if channel is None:
        try:
            return make_plan(policy.policy, policy.registry, original)
        except RRPolicyError as error:
            raise AssertionError(f"nothing is planned; give `tables` for which it can be: {error}") from error
    settled, made = channel.settle(original), software(policy.registry)
    return Plan(original.policy, policy.policy.digest(), settled, original.records, made)


def identity_channel(policy: Policy) -> Product | None:
    """Return the channel that releases the columns unmodified; None if some have no domain."""
    released = policy.released
    if any(a.domain is None for a in released):
        return None
    axes = [Identity.of(a.name, a.domain or (), a.release_as or a.name) for a in released]
    return Product(tuple(axes), (), tuple(a.release_as or a.name for a in released))


class KitRelease(Struct, frozen=True):
    """A release in a temporary folder.

    Attributes:
        folder: public/, with the data files.
    """

    folder: Path
    manifest: Manifest
    release: Release
    scratch: Path
    policy: OpenedPolicy

    @contextmanager
    def written(self) -> Iterator[LazyReleasedTables]:
        """Open the data files for assessors."""
        files = (self.folder, self.manifest.data, self.manifest.tables, self.scratch)
        with open_data_tables(*files, self.policy.registry.formats) as found:
            yield found


_Key: TypeAlias = tuple[str, int, int]
_SHARED: ContextVar[tuple[ExitStack, dict[_Key, tuple[Original, KitRelease]]] | None] = ContextVar(
    "shared", default=None
)


@contextmanager
def shared_releases() -> Iterator[None]:
    """Share draws of the same plan, table and seed among several checks inside; all are deleted afterwards."""
    with ExitStack() as stack:
        token = _SHARED.set((stack, {}))
        stack.callback(_SHARED.reset, token)
        yield


@contextmanager
def draw_release(plan: Plan, policy: OpenedPolicy, original: Original, seed: int) -> Iterator[KitRelease]:
    """Draw a release once."""
    shared = _SHARED.get()
    if shared is None:
        with _draw_fresh(plan, policy, original, seed) as made:
            yield made
        return
    stack, found = shared
    key = (plan.digest(), id(original), seed)
    if key not in found:  # with the table, so that its id is not reused
        found[key] = (original, stack.enter_context(_draw_fresh(plan, policy, original, seed)))
    yield found[key][1]


@contextmanager
def _draw_fresh(plan: Plan, policy: OpenedPolicy, original: Original, seed: int) -> Iterator[KitRelease]:
    with TemporaryDirectory() as made:
        folder, scratch = Path(made) / "public", Path(made) / "scratch"
        for each in (folder, scratch):
            each.mkdir(mode=0o700)
        registry = policy.registry
        files = draw_to_folder(plan, original, Streams.for_tests(seed), folder, scratch, registry.formats)
        told = build_manifest(plan, Assessment((), ()), files, test=True)
        release = release_of(folder, told, registry.formats, registry.estimators)
        yield KitRelease(folder, told, release, scratch, policy)
