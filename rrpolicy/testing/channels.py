"""Checks of a channel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rrpolicy.canonical_json import Json, canonical
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.channels.decoders import Decoder
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.self_check import channel_contradictions
from rrpolicy.errors import RRPolicyError
from rrpolicy.finding import Finding, Verdict
from rrpolicy.formats.column_types import arrow_schema
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Policy
from rrpolicy.report import Section
from rrpolicy.serialization import plain, read
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing.assertions import convert_to_assertion, demand
from rrpolicy.testing.axes import check_axis
from rrpolicy.testing.draws import check_law, draw_tables
from rrpolicy.testing.memory import RECORDS, TableInMemory, similar_tables

if TYPE_CHECKING:
    from rrpolicy.channels.table import TableSpec
    from rrpolicy.source.protocol import Original

FORMS = tuple(kind.__name__ for kind in Decoder.__args__)


@convert_to_assertion("the arguments of the channel")
def check_channel(channel: Channel, policy: OpenedPolicy, tables: Sequence[Original] = ()) -> Channel:
    """Check that a channel equals its descriptions, and is drawn and tested as it guarantees.

    Unless it draws as every product does, from axes that are checked separately, the mean counts of 100 draws are
    compared with each decoder of the matrix, retention or identity form. A correct channel fails with a probability
    below 1e-6, unless it changes many records together, and so rarely that 100 draws need not show it.

    Args:
        channel: planned by a mechanism.
        policy: the policy that it was planned for, with the plugins of its kind and of its axes.
        tables: tables to draw from, with equal numbers of records; by default two are made up. A product is also
            drawn from a table of identical records, which shows whether it draws at all.

    Returns:
        the channel, fixed for the first table.

    Raises:
        AssertionError: with the violated requirement.
    """
    whole = similar_tables(policy.policy, *tables)
    made = (whole[0], TableInMemory.random(policy.policy, RECORDS, 3, uneven=1.0)) if not tables else ()
    tables = (*tables, *made, *(whole[-1:] if isinstance(channel, Product) else ()))
    for axis in getattr(channel, "axes", ()):
        check_axis(axis)
    _check_documents(channel, policy)
    _check_names(channel, policy.policy)
    _check_decoders(channel, policy.policy)
    settled = _check_settle(channel, tables)
    told = settled.discloses()
    demand(isinstance(told, tuple) and all(isinstance(i, str) for i in told), "discloses() is not a tuple of ids")
    for original in tables:
        _check_draw(settled, original)
    for original in tables if type(settled).draw is not Product.draw else ():  # products follow the laws of their axes
        check_law(settled, original)
    for seen in (None, tables[0]):
        sections = settled.sections(tables[0].records, seen)
        demand(all(isinstance(s, Section) for s in sections), "sections() returns something else than sections")
    return settled


def json_round_trip(what: str, document: Json) -> Any:
    """Return a document after writing it to a file and reading it."""
    try:
        return json.loads(canonical(document))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{what} is not JSON: {error}") from error


def channel_round_trip(channel: Channel) -> Any:
    """Return the output of `to_json` after writing it to a file and reading it."""
    try:
        document = channel.to_json()
    except (TypeError, ValueError, AttributeError) as error:
        raise AssertionError(f"to_json() fails: {error}; numbers are int and Fraction, not numpy's") from error
    return json_round_trip("to_json()", document)


def _check_documents(channel: Channel, policy: OpenedPolicy) -> None:
    kinds = policy.registry.kinds
    for part in (channel, *getattr(channel, "axes", ())):
        offered = part.kind in kinds and kinds[part.kind] is type(part)
        demand(offered, f"no plugin of the policy offers the kind '{part.kind}' of {type(part).__name__}")
    document, public = channel_round_trip(channel), json_round_trip("to_public_json()", channel.to_public_json())
    whole = _read(document, kinds, "to_json()")
    demand(channel_round_trip(whole) == document, "the channel reads back as another one")
    shown = _read(public, kinds, "to_public_json()")
    demand(
        json_round_trip("to_public_json()", shown.to_public_json()) == public, "the public description reads otherwise"
    )
    for name, same in (
        ("tables()", shown.tables() == channel.tables() == whole.tables()),
        ("decoders()", shown.decoders() == channel.decoders() == whole.decoders()),
    ):
        demand(same, f"{name} differs once the channel was written down and read")
    try:
        type(channel).from_json({**document, "version": channel.version + 1_000_000}, kinds)
    except (ValueError, RRPolicyError):
        return
    raise AssertionError("from_json() takes a version that it cannot know")


def _read(document: Any, kinds: Mapping[str, type[Channel | Axis]], written: str) -> Channel:
    try:
        return channel_from_json(document, kinds)
    except (RRPolicyError, TypeError, KeyError) as error:
        raise AssertionError(f"what {written} wrote cannot be read: {error}") from error


def _check_names(channel: Channel, policy: Policy) -> None:
    for contradiction in channel_contradictions(channel, policy.released):
        raise AssertionError(contradiction)
    order = [a.name for a in policy.released]
    told: set[str] = set()
    names = [table.name for table in channel.tables()]
    demand(bool(names) and len(set(names)) == len(names), "tables() returns tables of different names, one at least")
    for table in channel.tables():
        columns = [column.name for column in table.columns]
        demand(len(set(columns)) == len(columns), f"columns of '{table.name}' share a name: {columns}")
        demand(set(table.sort) <= set(columns), f"'{table.name}' is sorted by columns that it does not have")
        attributes = [column.attribute for column in table.columns if column.attribute]
        told |= set(attributes)
        placed = [order.index(a) for a in attributes]
        demand(placed == sorted(placed), f"'{table.name}' does not keep the policy's order: {attributes}")
    demand(told == set(order), f"released are {sorted(told)}, the policy releases {sorted(order)}")


def _check_decoders(channel: Channel, policy: Policy) -> None:
    undone: list[str] = []
    for decoder in channel.decoders():
        demand(type(decoder).__name__ in FORMS, f"{type(decoder).__name__} is not one of the six decoders")
        written = json_round_trip("a decoder", plain(decoder))
        try:
            demand(read(type(decoder), written) == decoder, "a decoder reads back as another one")
        except ValueError as error:
            raise AssertionError(f"a decoder cannot be read back: {error}") from error
        undone += decoder.attributes
    twice = sorted({a for a in undone if undone.count(a) > 1})
    demand(not twice, f"two decoders undo {twice}")
    without = [a.name for a in policy.released if a.categorical and a.name not in undone]
    demand(not without, f"no decoder undoes {without}")


def _check_settle(channel: Channel, tables: Sequence[Original]) -> Channel:
    demand(len({t.records for t in tables}) == 1, "`tables` have different numbers of records")
    settled = channel.settle(tables[0])
    demand(type(settled) is type(channel), "settle() returns a channel of another class")
    demand(
        channel_round_trip(settled.settle(tables[0])) == channel_round_trip(settled),
        "a settled channel settles otherwise",
    )
    for other in tables[1:]:
        if other.types == tables[0].types:
            same = channel_round_trip(channel.settle(other)) == channel_round_trip(settled)
            demand(same, "settle() reads the table: it differs between two of as many records and the same types")
    return settled


def _check_draw(channel: Channel, original: Original) -> None:
    first, again = draw_tables(channel, original, 7), draw_tables(channel, original, 7)
    for spec in channel.tables():
        _check_rows(spec, first[spec.name])
        demand(first[spec.name].equals(again[spec.name]), "two draws from the same bits differ")
        if spec.name == "data":
            n = sum(first["data"].column(MULTIPLICITY).to_pylist())
            demand(n == original.records, f"draw() releases {n} records of {original.records}")
    demand(
        _conformance_finding(channel, original, first).verdict is Verdict.SATISFIED, "conforms() refuses what was drawn"
    )
    for what, wrong in _tampered_releases(first):
        try:
            verdict = channel.conforms(original, _batch_readers(wrong)).verdict
        except (RRPolicyError, ValueError):
            continue
        demand(verdict is not Verdict.SATISFIED, f"conforms() finds nothing wrong where {what}")


def _conformance_finding(channel: Channel, original: Original, drawn: Mapping[str, pa.Table]) -> Finding:
    with convert_to_assertion("conforms() of what was drawn"):
        return channel.conforms(original, _batch_readers(drawn))


def _batch_readers(drawn: Mapping[str, pa.Table]) -> dict[str, pa.RecordBatchReader]:
    return {name: rows.to_reader() for name, rows in drawn.items()}


def _check_rows(spec: TableSpec, rows: pa.Table) -> None:
    names = [column.name for column in spec.columns]
    demand(set(rows.schema.names) == {*names, MULTIPLICITY}, f"'{spec.name}' is drawn with other columns than declared")
    for column, field in zip(spec.columns, arrow_schema(spec), strict=True):
        try:
            rows.column(column.name).cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise AssertionError(f"'{column.name}' is declared as {field.type}: {error}") from error
        if column.kind in {"category", "interval"}:
            strange = set(rows.column(column.name).to_pylist()) - set(column.spelled)
            demand(not strange, f"draw() releases values of '{column.name}' outside its labels: {sorted(strange)[:3]}")


def _tampered_releases(drawn: Mapping[str, pa.Table]) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Yield impossible releases: one with a record removed, and one with identical records."""
    for name, rows in drawn.items():
        n = rows.column(MULTIPLICITY).to_pylist()
        if sum(n) > 1:
            yield f"a record of '{name}' is missing", {**drawn, name: _with_multiplicities(rows, [n[0] - 1, *n[1:]])}
        if len(n) > 5:  # noqa: PLR2004 so many different rows are not all equal by chance
            yield (
                f"all records of '{name}' are equal",
                {**drawn, name: _with_multiplicities(rows, [sum(n), *[0] * (len(n) - 1)])},
            )


def _with_multiplicities(rows: pa.Table, n: Sequence[int]) -> pa.Table:
    place = rows.schema.get_field_index(MULTIPLICITY)
    return rows.set_column(place, MULTIPLICITY, pa.array(n, pa.int64())).filter(pa.array([k > 0 for k in n]))
