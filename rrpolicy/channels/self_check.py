"""A channel's statements about itself, compared with the policy and with its own matrices.

An axis describes its randomisation in several ways: columns of a matrix, a decoder, two ratios, names and labels.
Assessors, decoders and reports each rely on one of them. A statement of an axis that can be recomputed here is not
taken on trust.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

from rrpolicy.canonical_json import Value, same_category
from rrpolicy.channels.axes.matrix import Matrix, full_column_rank
from rrpolicy.channels.base import Axis, Channel, Transition
from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    Cell,
    Decoder,
    IdentityDecoder,
    MatrixDecoder,
    RetentionDecoder,
    Rows,
    WithheldDecoder,
    label_cells,
)
from rrpolicy.channels.probability import largest_ratio, log_at_most, smallest_cross_ratio
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.channels.undisclosed_channel import UndisclosedChannel
from rrpolicy.finding import Measure
from rrpolicy.plugin_errors.distributions import GROUP
from rrpolicy.plugin_errors.type_checks import check_return_type, check_type

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

LISTED = 250_000
"""The most entries of a matrix that is listed; ratios of larger ones are taken from the axis' author."""
RANKED = 40_000
"""The most entries of a matrix whose rank is computed; for a larger one, invertibility is taken from the decoder."""
ROUNDING = Fraction(1, 10**12)
"""The rounding permitted in a plugin's logarithm, as a share of it."""
SINGULAR = "its matrix cannot be undone, as its columns are linearly dependent: no count could be estimated"
CHANNEL: Mapping[str, Any] = {
    "tables": tuple[TableSpec, ...],
    "decoders": tuple[Decoder, ...],
    "discloses": tuple[str, ...],
}
AXIS: Mapping[str, Any] = {
    "attributes": tuple[str, ...],
    "original_size": int,
    "columns": tuple[Column, ...],
    "decoder": Decoder,
    "max_ratio": Fraction | None,
    "log_ratio": Measure,
    "min_cross_ratio": Fraction,
    "discloses": tuple[str, ...],
}
"""Types of the members of a channel and of an axis, or of their results."""


class StatedAttribute(Protocol):
    """An attribute as stated by a policy or a manifest."""

    @property
    def name(self) -> str:
        """Return its name in the original."""
        ...

    @property
    def release_as(self) -> str | None:
        """Return its released name; None for the same."""
        ...

    @property
    def domain(self) -> Sequence[Value] | None:
        """Return its categories; None if it has no list of them."""
        ...


def channel_contradictions(channel: Channel, attributes: Sequence[StatedAttribute]) -> Iterator[str]:
    """Yield contradictions of a channel with the policy, or with itself."""
    check_protocols(channel)
    stated = {attribute.name: attribute for attribute in attributes}
    released = [column for table in channel.tables() for column in table.columns]
    for column in (column for column in released if column.attribute):
        if column.attribute not in stated:
            yield f"'{column.name}' is released of '{column.attribute}', which the policy does not release"
            continue
        name = stated[column.attribute].release_as or column.attribute
        if column.name != name:
            yield f"'{column.attribute}' is released as '{column.name}', and the policy declares '{name}'"
    axes: tuple[Axis, ...] = getattr(channel, "axes", ())
    empty = {axis.attributes for axis in axes if isinstance(axis, Matrix) and axis.invariant and is_built_in(axis)}
    own = {axis.attributes for axis in axes if is_built_in(axis)}
    for decoder in channel.decoders():
        names = {column.name for column in released if column.attribute in decoder.attributes}
        if set(decoder.columns) != names:
            names_read, names_released = (_quoted_names(sorted(columns)) for columns in (decoder.columns, names))
            what = f"the decoder reads {names_read}, and released is {names_released}"
            yield f"{_quoted_names(decoder.attributes)}: {what}"
        if isinstance(decoder, WithheldDecoder) and not isinstance(channel, UndisclosedChannel):
            yield f"{_quoted_names(decoder.attributes)}: its decoder is withheld, which the policy alone decides"
        partly = decoder.attributes in empty or isinstance(decoder, WithheldDecoder)
        yield from _category_mismatches(decoder, stated, partly=partly)
        if _is_singular(decoder, told=decoder.attributes in own):
            yield f"{_quoted_names(decoder.attributes)}: {SINGULAR}"
    for axis in axes:
        if not is_built_in(axis):
            yield from axis_contradictions(axis)


def check_protocols(channel: Channel) -> None:
    """Check the results of a channel and its axes against their protocols, unless they are built in."""
    axes: tuple[Axis, ...] = getattr(channel, "axes", ())
    spoken: list[tuple[Channel | Axis, Mapping[str, Any]]] = [(channel, CHANNEL), *((axis, AXIS) for axis in axes)]
    for one, returns in spoken:
        for name, kind in () if is_built_in(one) else returns.items():
            value = getattr(one, name)
            if callable(value):
                check_return_type(kind, value)()
            else:
                check_type(value, kind, one, name)


def finalised_channel(channel: Channel, original: Original) -> Channel:
    """Return a channel as it will be drawn."""
    return check_return_type(Channel, channel.settle)(original)


def axis_contradictions(axis: Axis) -> Iterator[str]:
    """Yield contradictions of an axis with its own matrix, if that can be listed: in its decoder, or in its ratios."""
    if not isinstance(axis, Transition) or not _has_listed_values(axis):
        return
    name = _quoted_names(axis.attributes)
    columns = [axis.column(code) for code in range(axis.original_size)]
    for code, column in enumerate(columns):
        inside = all(0 <= u < axis.released_size and p >= 0 for u, p in column.items())
        if not inside or sum(column.values(), Fraction(0)) != 1:
            yield f"{name}: column {code} of the matrix is not a distribution over the released values"
            return
    rows = tuple(tuple(column.get(u, Fraction(0)) for column in columns) for u in range(axis.released_size))
    undone = _decoder_matrix(axis)
    if undone is not None and undone != rows:
        yield f"{name}: the decoder undoes another matrix than that which is drawn from"
    largest, claimed = largest_ratio(rows), axis.max_ratio()
    if claimed is not None and (largest is None or claimed < largest):
        yield f"{name}: its matrix has a larger ratio of probabilities than declared (max_ratio)"
    elif claimed is not None and _is_understated(axis.log_ratio().value, claimed):
        yield f"{name}: the declared epsilon (log_ratio) is smaller than its largest ratio implies (max_ratio)"
    if axis.min_cross_ratio() > smallest_cross_ratio(rows):
        yield f"{name}: its matrix has a smaller cross ratio than declared (min_cross_ratio)"


def _is_understated(epsilon: float, ratio: Fraction) -> bool:
    """Return whether the logarithm of a ratio exceeds its stated value; exactly, as doubles round a small one."""
    if math.isinf(epsilon):
        return epsilon < 0
    return math.isnan(epsilon) or not log_at_most(ratio, Fraction(epsilon) * (1 + ROUNDING))


def unverified_components(channel: Channel) -> tuple[Channel | Axis, ...]:
    """Return third-party parts that cannot be recomputed.

    That is a channel, which has no columns to compare its draws and decoders with, and axes whose matrix cannot be
    listed, or is too large.
    """
    axes: tuple[Axis, ...] = getattr(channel, "axes", ())
    whole = () if is_built_in(channel) else (channel,)
    return (*whole, *(axis for axis in axes if not is_built_in(axis) and not _has_listed_values(axis)))


def is_built_in(axis: Axis | Channel) -> bool:
    """Return whether an axis or a channel is rrpolicy's; a class derived from one of those may behave differently."""
    return type(axis).__module__.partition(".")[0] == GROUP


def _category_mismatches(decoder: Decoder, stated: Mapping[str, StatedAttribute], *, partly: bool) -> Iterator[str]:
    """Yield results of a decoder that are not the categories of the policy, in its order.

    If `partly`, categories that are known to be empty may be left out.
    """
    for attributes, undone in _decoded_attributes(decoder):
        domains = [stated[name].domain for name in attributes if name in stated]
        known = [tuple(domain) for domain in domains if domain is not None]
        if len(known) < len(attributes):
            if undone:
                yield f"{_quoted_names(attributes)}: categories are estimated of what has none in the policy"
            continue
        if math.prod(map(len, known)) != len(undone) and not partly:
            yield f"{_quoted_names(attributes)}: other categories are estimated than the policy's"
        elif not _is_ordered_subset(undone, product(*known)):
            yield f"{_quoted_names(attributes)}: categories are estimated in another order than the policy's, or others"


def _is_singular(decoder: Decoder, *, told: bool) -> bool:
    """Return whether a matrix is singular.

    The decoder is trusted if `told`, because the axis is built in; only matrices are tested.
    """
    if not isinstance(decoder, (RetentionDecoder, MatrixDecoder)) or not decoder.unbiased:
        return isinstance(decoder, (RetentionDecoder, MatrixDecoder))
    listed = isinstance(decoder, MatrixDecoder) and len(decoder.released) * len(decoder.original) <= RANKED
    return listed and not told and not full_column_rank(decoder.matrix())


def _decoded_attributes(decoder: Decoder) -> Iterator[tuple[tuple[str, ...], Sequence[Cell]]]:
    """Yield attributes that are decoded together, and their original categories."""
    match decoder:
        case IdentityDecoder(labels=labels) | AnatomyDecoder(labels=labels):
            yield decoder.attributes, label_cells(labels)
        case MatrixDecoder(original=original) | WithheldDecoder(original=original):
            yield decoder.attributes, original
        case RetentionDecoder(labels=together) | AdditionDecoder(labels=together):
            yield decoder.attributes, together
        case _:
            for name, labels in zip(decoder.attributes, decoder.original, strict=True):
                yield (name,), label_cells(labels)


def _is_ordered_subset(some: Sequence[Cell], everything: Iterator[Cell]) -> bool:
    return all(any(_equal_cells(cell, other) for other in everything) for cell in some)


def _equal_cells(one: Cell, other: Cell) -> bool:
    return len(one) == len(other) and all(map(same_category, one, other))


def _has_listed_values(axis: Axis) -> bool:
    return isinstance(axis, Transition) and axis.released_size * axis.original_size <= LISTED


def _decoder_matrix(axis: Axis) -> Rows | None:
    """Return a decoder's matrix, in the axis' order of released values; None for other forms.

    It has no rows if a value can be drawn that the axis does not release.
    """
    decoder = axis.decoder()
    released = {cell: u for u, cell in enumerate(product(*(column.labels for column in axis.columns())))}
    match decoder:
        case RetentionDecoder():
            told, undone = decoder.labels, decoder.matrix()
        case MatrixDecoder():
            told, undone = decoder.released, decoder.matrix()
        case IdentityDecoder():
            told = label_cells(decoder.labels)
            undone = tuple(tuple(Fraction(u == v) for v in range(len(told))) for u in range(len(told)))
        case _:
            return None
    rows = [(Fraction(0),) * axis.original_size] * len(released)
    for cell, row in zip(told, undone, strict=True):
        if cell in released:
            rows[released[cell]] = row
        elif any(row):
            return ()
    return tuple(rows)


def _quoted_names(attributes: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in attributes)
