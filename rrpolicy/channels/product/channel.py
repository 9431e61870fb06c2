"""The product channel: attributes are randomised independently, axis by axis; columns without domain are carried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from rrpolicy.canonical_json import Json
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.channels.decoders import Decoder, IdentityDecoder
from rrpolicy.channels.table import Column, TableSpec, attribute_column, carried_first
from rrpolicy.frozen import replace
from rrpolicy.serialization import MalformedError, read

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.base import Sink
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.finding import Finding
    from rrpolicy.policy.model import Attribute
    from rrpolicy.report import Section
    from rrpolicy.source.protocol import Original

_FEW_CELLS = 1 << 16
_MANY_CELLS = 1 << 23
"""The most cells of the cell path, which has every released cell in memory: about 160 bytes each at its peak."""


@runtime_checkable
class _DescribableAxis(Protocol):
    def with_columns(self, columns: Sequence[Column]) -> Axis: ...


def _with_engine_types(axis: Axis, types: Mapping[str, str]) -> Axis:
    """Return the axis with the engine types of its released labels, if its columns can be described."""
    from rrpolicy.channels.values import with_engine_types

    return axis.with_columns(with_engine_types(axis.columns(), types)) if isinstance(axis, _DescribableAxis) else axis


def _with_column_descriptions(axis: Axis, attributes: Mapping[str, Attribute]) -> Axis:
    """Return an axis with its columns described as in the policy."""
    if not isinstance(axis, _DescribableAxis):
        return axis
    stated = [(column, attributes[column.attribute]) for column in axis.columns()]
    return axis.with_columns([_describe_column(column, attribute) for column, attribute in stated])


def _describe_column(column: Column, attribute: Attribute) -> Column:
    kind = "interval" if attribute.bins is not None and column.kind == "category" else column.kind
    name, reason = attribute.release_as or attribute.name, attribute.assume_unlinkable
    return replace(column, name=name, kind=kind, assume_unlinkable=reason)


def _carried_column(attribute: Attribute) -> Axis:
    from rrpolicy.channels.axes.identity import Identity

    if attribute.domain is None:
        raise ValueError(f"the domain of '{attribute.name}' is not known")
    return Identity.of(attribute.name, attribute.domain)


@dataclass(frozen=True, slots=True)
class Product(Channel):
    """P = P_1 (x) … (x) P_m over the axes, the identity over the carried columns.

    Attributes:
        axes: every categorical attribute that is released is on exactly one; those not randomised on an Identity axis.
        carried: released columns without a domain.
        order: the released columns' names, in file order.
        sampler: `cells` splits counts, `records/2` draws blocks of records; the same distribution. `series` draws each
            record by the lasting numbers of its person.
    """

    kind: ClassVar[str] = "product"
    version: ClassVar[int] = 1

    audit_only: ClassVar[tuple[str, ...]] = ("sampler",)

    axes: tuple[Axis, ...]
    carried: tuple[Column, ...]
    order: tuple[str, ...]
    sampler: Literal["cells", "records/2", "series"] = "cells"

    def __post_init__(self) -> None:
        columns = [c.name for axis in self.axes for c in axis.columns()] + [c.name for c in self.carried]
        attributes = [a for axis in self.axes for a in axis.attributes]
        if sorted(columns) != sorted(self.order) or len(set(columns)) != len(columns):
            raise ValueError("`order` must name every released column once")
        if len(set(attributes)) != len(attributes):
            raise ValueError("an attribute is on two axes")

    @classmethod
    def of(cls, attributes: Sequence[Attribute], axes: Iterable[Axis]) -> Product:
        """Build the channel over a policy's released attributes, in their order.

        Args:
            attributes: the released ones, domains known.
            axes: axes of the randomised attributes; their columns get the policy's released names. Every other
                attribute with categories is released on an Identity axis, and one without is carried.

        Raises:
            ValueError: if a domain is unknown.
        """
        own = {name: axis for axis in axes for name in axis.attributes}
        stated = {a.name: a for a in attributes}
        built, carried = [], []
        for a in attributes:
            if not a.categorical:
                carried.append(attribute_column(a))
            elif a.name not in own or own[a.name].attributes[0] == a.name:
                built.append(_with_column_descriptions(own.get(a.name) or _carried_column(a), stated))
        columns = [*(c for axis in built for c in axis.columns()), *carried]
        order = tuple(c.name for a in attributes for c in columns if c.attribute == a.name)
        return cls(tuple(built), tuple(carried), order)

    def locate(self, name: str) -> tuple[int, int]:
        """Return (slot, place) of a released column: the axis and the place on it; carried columns come last."""
        for slot, axis in enumerate(self.axes):
            for place, column in enumerate(axis.columns()):
                if column.name == name:
                    return slot, place
        return len(self.axes) + [c.name for c in self.carried].index(name), 0

    @property
    def sort(self) -> tuple[str, ...]:
        """Return the released columns in the order that rows are sorted by; see `carried_first`."""
        return self.tables()[0].sort

    def tables(self) -> tuple[TableSpec, ...]:
        """Return the one table `data`, sorted by all its columns, carried ones first."""
        named = {c.name: c for axis in self.axes for c in axis.columns()} | {c.name: c for c in self.carried}
        columns = tuple(named[name] for name in self.order)
        return (TableSpec("data", columns, carried_first(columns)),)

    def decoders(self) -> tuple[Decoder, ...]:
        """Return the axes' decoders, then an identity without labels for every carried column."""
        carried = (IdentityDecoder((c.attribute,), c.name, ()) for c in self.carried)
        return (*(axis.decoder() for axis in self.axes), *carried)

    @property
    def countable(self) -> bool:
        """Return whether all axes release positions of labels, so that released cells can be counted."""
        return all(c.kind in {"category", "interval"} for axis in self.axes for c in axis.columns())

    def settle(self, original: Original) -> Product:
        """Choose the sampler's path and fill in engine types: the original's, or those of labels that do not fit it.

        The path is a function of public facts, so that two tables that differ in one record take the same: cells, if
        there cannot be many distinct original rows (65,536, or half the records) and their possible released cells fit
        in memory (2^23). Otherwise it is records, out of core. A series is drawn person by person.
        """
        carried = tuple(replace(c, type=original.types.get(c.attribute, c.type)) for c in self.carried)
        axes = tuple(_with_engine_types(axis, original.types) for axis in self.axes)
        sampler = self._path(original.records) if original.policy.release.series is None else "series"
        return replace(self, axes=axes, carried=carried, sampler=sampler)

    def described(self) -> Product:
        """Return the channel with the engine types of the labels themselves, if there is no table."""
        return replace(self, axes=tuple(_with_engine_types(axis, {}) for axis in self.axes))

    def _path(self, records: int) -> Literal["cells", "records/2", "series"]:
        columns = [c for axis in self.axes for c in axis.columns()]
        if not self.countable:
            return "records/2"
        # A carried column may have as many values as there are records.
        cells, released = (
            records if self.carried else min(math.prod(sizes), records)
            for sizes in ([axis.original_size for axis in self.axes], [len(c.labels) for c in columns])
        )
        few = cells <= max(_FEW_CELLS, records // 2) and released <= _MANY_CELLS
        return "cells" if few else "records/2"

    def draw(self, original: Original, streams: Streams, sink: Sink) -> None:
        """Draw once, by the path that `settle` chose."""
        from rrpolicy.channels.product.draw import draw_cells, draw_records, draw_with_persistent_noise

        {"cells": draw_cells, "records/2": draw_records, "series": draw_with_persistent_noise}[self.sampler](
            self, original, streams, sink
        )

    def conforms(self, original: Original, released: Mapping[str, pa.RecordBatchReader]) -> Finding:
        """Test the released counts against their expectations given the original.

        See `rrpolicy.channels.product.goodness_of_fit`.
        """
        from rrpolicy.channels.product.goodness_of_fit import check_fit

        return check_fit(self, original, released["data"])

    def discloses(self) -> tuple[str, ...]:
        """Return the ids that the axes disclose."""
        return tuple(dict.fromkeys(item for axis in self.axes for item in axis.discloses()))

    def sections(self, records: int, original: Original | None) -> tuple[Section, ...]:
        """Return the axes' sections, and that of the classes that recoded axes make together."""
        from rrpolicy.channels.product.report_section import recode_sections

        own = tuple(section for axis in self.axes for section in axis.sections(records))
        return (*own, *recode_sections(self, original))

    @classmethod
    def from_json(cls, document: Mapping[str, Json], kinds: Mapping[str, type[Channel | Axis]]) -> Product:
        """Read the channel from the output of `to_json` or `to_public_json`.

        Args:
            document: the description.
            kinds: axis kind -> class.

        Raises:
            ValueError: if the version is unknown, or the document is not of this kind or contains unknown axes.
        """
        from rrpolicy.channels.json_decoding import axis_from_json

        axes = document.get("axes")
        if not isinstance(axes, list):
            raise MalformedError("must be a list", "axes")
        return read(cls, document, {"axes": tuple(axis_from_json(axis, kinds) for axis in axes)})
