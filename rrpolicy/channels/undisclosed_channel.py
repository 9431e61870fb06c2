"""What a release says of its channel where it withholds the matrices: columns, categories, and what holds without them.

It protects nobody: whoever assesses the release grants an attacker the matrices, and so does every finding of it.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.base import Layout, Sink
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.finding import Finding
    from rrpolicy.source.protocol import Original


@frozen
class UndisclosedChannel(Channel):
    """A product channel of which the matrices are withheld: it is published in its place, and never drawn from.

    Attributes:
        columns: the released columns, in file order.
        parts: for each axis, the identity of a column left alone, or that its matrix is withheld.
        told: ids of what the channel itself would tell of the original, were it published.
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
        """Return what is published of a channel.

        Raises:
            ValueError: if it is none whose matrices can be withheld; see `withholdable`.
        """
        if not isinstance(channel, Product) or withholding_obstacle(type(channel), _table_layout(channel)) is not None:
            raise ValueError("this channel's matrices cannot be withheld")
        (table,) = channel.tables()
        parts = tuple(without_matrix(decoder) for decoder in channel.decoders() if _has_matrix(decoder))
        return cls(table.columns, parts, channel.discloses())

    def tables(self) -> tuple[TableSpec, ...]:
        """Return the one table `data`, sorted as the channel's that it stands for."""
        return (TableSpec("data", self.columns, carried_first(self.columns)),)

    def decoders(self) -> tuple[Decoder, ...]:
        """Return the identities of columns left alone, and that the others are withheld."""
        return self.parts

    def discloses(self) -> tuple[str, ...]:
        """Return what the channel that was drawn from tells."""
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

    Args:
        channel: its class.
        axes: of each axis the attributes and the class.
    """
    if not issubclass(channel, Product):
        return "it does not randomise values by matrices"
    for names, kind in axes:
        if not issubclass(kind, (Identity, Retention, Matrix)):
            told = ", ".join(f"'{name}'" for name in names)
            return f"{told} is released by an axis of kind '{kind.kind}', which is no matrix over its categories"
    return None


def undisclosed_matrix_error(columns: tuple[str, ...]) -> PolicyError:
    """Return the error of asking for what takes matrices that the release withholds."""
    names = ", ".join(repr(c) for c in columns)
    return PolicyError(
        Problem(
            "RR526",
            f"{names}: the publisher withholds the matrices that randomised it, so that nothing can be corrected",
            expected="columns that were left alone, or an analysis that holds on randomised data as they are",
            hint="`rrpolicy estimate what-holds BUNDLE`, or release.what_holds(), tells which those are",
        )
    )


def _table_layout(channel: Product) -> Layout:
    return [(axis.attributes, type(axis)) for axis in channel.axes]


def _has_matrix(decoder: Decoder) -> TypeGuard[IdentityDecoder | RetentionDecoder | MatrixDecoder]:
    return isinstance(decoder, (IdentityDecoder, RetentionDecoder, MatrixDecoder))
