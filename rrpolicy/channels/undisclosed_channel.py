"""The public part of a channel with withheld matrices: columns, categories, and facts that need no matrices.

Withholding matrices protects no person: every assessment and finding of the release grants an attacker the matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeGuard

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Channel
from rrpolicy.channels.decoders import (
    Decoder,
    IdentityDecoder,
    MatrixDecoder,
    RetentionDecoder,
    WithheldDecoder,
    without_matrix,
)
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column, TableSpec, carried_first
from rrpolicy.errors import PolicyError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.base import Layout, Sink
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.finding import Finding
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True, slots=True)
class UndisclosedChannel(Channel):
    """A product channel with withheld matrices: it is published in place of that channel, and never drawn from.

    Attributes:
        columns: the released columns, in file order.
        parts: for each axis, the identity of an unmodified column, or the fact that its matrix is withheld.
        told: ids of the facts on the original that the channel itself would disclose, if published.
    """

    kind: ClassVar[str] = "withheld"
    version: ClassVar[int] = 1

    columns: tuple[Column, ...]
    parts: tuple[Decoder, ...]
    told: tuple[str, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(part, (IdentityDecoder, WithheldDecoder)) for part in self.parts):
            raise ValueError("it publishes a decoder that it withholds")

    @classmethod
    def of(cls, channel: Channel) -> UndisclosedChannel:
        """Return the public part of a channel.

        Raises ValueError if its matrices cannot be withheld; see `withholding_obstacle`.
        """
        if not isinstance(channel, Product) or withholding_obstacle(type(channel), _table_layout(channel)) is not None:
            raise ValueError("this channel's matrices cannot be withheld")
        (table,) = channel.tables()
        parts = tuple(without_matrix(decoder) for decoder in channel.decoders() if _has_matrix(decoder))
        return cls(table.columns, parts, channel.discloses())

    def tables(self) -> tuple[TableSpec, ...]:
        """Return the one table `data`, sorted as that of the channel that it replaces."""
        return (TableSpec("data", self.columns, carried_first(self.columns)),)

    def decoders(self) -> tuple[Decoder, ...]:
        """Return the identities of unmodified columns, and that the others are withheld."""
        return self.parts

    def discloses(self) -> tuple[str, ...]:
        """Return the ids that the channel of the draw discloses."""
        return self.told

    def settle(self, original: Original) -> NoReturn:
        """Raise RR526: without matrices nothing is drawn."""
        del original
        raise self._none()

    def draw(self, original: Original, streams: Streams, sink: Sink) -> NoReturn:
        """Raise RR526: without matrices nothing is drawn."""
        del original, streams, sink
        raise self._none()

    def conforms(self, original: Original, released: Mapping[str, pa.RecordBatchReader]) -> Finding:
        """Raise RR526: without matrices nothing is expected."""
        del original, released
        raise self._none()

    def _none(self) -> PolicyError:
        return undisclosed_matrix_error(tuple(name for part in self.parts if part.drawn for name in part.columns))


def withholding_obstacle(channel: type[Channel], axes: Layout) -> str | None:
    """Return why the matrices of a channel cannot be withheld; None if they can.

    `axes` has the attributes and the class of each axis.
    """
    if not issubclass(channel, Product):
        return "it does not randomise values by matrices"
    for names, kind in axes:
        if not issubclass(kind, (Identity, Retention, Matrix)):
            told = ", ".join(f"'{name}'" for name in names)
            return f"{told} is released by an axis of kind '{kind.kind}', which is not a matrix over its categories"
    return None


def undisclosed_matrix_error(columns: tuple[str, ...]) -> PolicyError:
    """Return the error of a request that needs withheld matrices."""
    names = ", ".join(repr(c) for c in columns)
    message = f"{names}: the publisher withholds its matrices, so counts cannot be corrected"
    expected = "columns that were not randomised, or an analysis that is valid on uncorrected randomised data"
    hint = "`rrpolicy estimate what-holds BUNDLE`, or release.what_holds(), lists them"
    return PolicyError(Problem("RR526", message, expected=expected, hint=hint))


def _table_layout(channel: Product) -> Layout:
    return [(axis.attributes, type(axis)) for axis in channel.axes]


def _has_matrix(decoder: Decoder) -> TypeGuard[IdentityDecoder | RetentionDecoder | MatrixDecoder]:
    return isinstance(decoder, (IdentityDecoder, RetentionDecoder, MatrixDecoder))
