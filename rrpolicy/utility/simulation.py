"""Analysts' estimates from a release that is still to be drawn: the planned channel, simulated.

Each draw is one of the channel itself, narrowed to the required attributes, and is decoded by the record weights of
`rrpolicy.estimate.weights`: the numbers are those of `Release.crosstab(…, spread=True)` on such a draw.

Bits come from a seed and the number of the draw only, in streams that no release has. A published or recorded number
reveals nothing of the released draw, and is independent of it. Plans that are compared on one table use the same bits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.base import Transition
from rrpolicy.channels.decoders import AnatomyDecoder, Decoder, IdentityDecoder
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.estimate.weights.decoder_weights import axis_weights
from rrpolicy.finding import ERRORS, Measure, Standing
from rrpolicy.frozen import replace
from rrpolicy.utility.draw_counts import CountedRowSink, count_draw_cells, count_group_cells
from rrpolicy.utility.metric import MOST_CELLS
from rrpolicy.utility.release_estimates import ShareTable

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import AxisWeights, Mask
    from rrpolicy.source.protocol import Original

T = TypeVar("T")
MOST_WORK = 2_000_000_000
"""The most cells and records of all draws together."""
EQUAL_TOLERANCE = 1e-12
"""Draws that differ by less count as equal, up to rounding."""
TAIL = math.erfc(ERRORS / math.sqrt(2)) / 2
"""Tail probability of a normal number beyond so many standard errors."""
MOST_HELD = 8_000_000
"""The most cells of estimated tables in memory for further numbers of the same draws; larger ones are drawn again."""
Figure = Callable[["ShareTable"], float]
"""A number of an estimated table of shares."""
Range: TypeAlias = tuple[float, float]
"""The least and the most that a number can be."""
Key: TypeAlias = tuple[str, int, int, tuple[str, ...], "DrawSettings"]
_HELD: ContextVar[dict[Key, tuple[object, list[Any]]] | None] = ContextVar("draws held", default=None)


@contextmanager
def share_draws() -> Iterator[None]:
    """Cache draws for several numbers of one channel, table, attributes and settings, until the end of the context."""
    token = _HELD.set({})
    try:
        yield
    finally:
        _HELD.reset(token)


def cached_result(  # noqa: PLR0917 what a simulation is
    what: str,
    channel: Channel,
    original: Original,
    attributes: Sequence[str],
    draws: DrawSettings,
    tables: Iterable[T],
    cells: int,
) -> Iterable[T]:
    """Return the tables of draws, of so many cells each: cached ones where draws are shared; else made lazily."""
    held = _HELD.get()
    if held is None or draws.number * cells > MOST_HELD:
        return tables
    key = (what, id(channel), id(original), tuple(attributes), draws)
    if key not in held:
        held[key] = ((channel, original), list(tables))  # stored, so that no other object gets their ids
    return held[key][1]


class DrawSettings(Struct, frozen=True):
    """The number of draws of a channel, and the seed of their bits."""

    number: int
    seed: int

    def streams(self, draw: int) -> Streams:
        """Return the streams of one draw, which no release has: they are marked, and derived without a key."""
        key = hashlib.sha256(b"rrpolicy.simulation/1 %d %d" % (self.seed, draw)).digest()
        streams = Streams(key, b"", b"", "simulation")
        streams.test = True
        return streams


class EstimatedMarginal(Struct, frozen=True):
    """A table over some attributes, as estimated from a release.

    Attributes:
        attributes: one dimension each.
        shape: the number of categories of each.
        channel: narrowed to the attributes of the table.
        axes: the decoder of each released axis, and the map from its original cells to cells of the table.
        inner: for each axis, the attributes of its cells, in order.
        dealt: decoder of the values that were dealt into groups, if the table has both these and others.
        times: the column of multiplicities; "" without one.
        drawn: whether the estimates are random.
    """

    attributes: tuple[str, ...]
    shape: tuple[int, ...]
    channel: Channel
    axes: tuple[tuple[AxisWeights, Mask | None], ...]
    inner: tuple[tuple[str, ...], ...]
    dealt: AnatomyDecoder | None
    times: str
    drawn: bool

    @classmethod
    def of(
        cls, channel: Channel, original: Original, attributes: Sequence[str], within: Sequence[str] = ()
    ) -> EstimatedMarginal:
        """Prepare the estimates of a table; `within`: more attributes that are drawn together with its own.

        Raises `DataError` (RR346) if the table has more than 10^6 cells, `PolicyError` (RR267) if the released values
        do not determine it.
        """
        wanted = set(attributes)
        domains = {name: original.policy.attributes[name].domain or () for name in attributes}
        shape = tuple(len(domains[name]) for name in attributes)
        if math.prod(shape) > MOST_CELLS:
            raise simulation_too_large(f"a table of {', '.join(attributes)} has {math.prod(shape):,} cells")
        kept = _narrow_channel(channel, wanted.union(within)).settle(original)
        decoders = [d for d in kept.decoders() if wanted & set(d.attributes)]
        shared = _anatomy_decoder(decoders)
        alone = shared is not None and len(decoders) == 1
        axes, inner = [], []
        for decoder in decoders:
            undone = decoder
            if alone and isinstance(decoder, AnatomyDecoder):  # counted by itself, in its own table: exactly
                undone = IdentityDecoder(decoder.attributes, decoder.column, decoder.labels)
            for weights in axis_weights(undone):
                names = dict(zip(decoder.columns, decoder.attributes, strict=True))
                own = [names[column] for column in weights.columns]
                axes.append((weights, target_cells(weights, own, domains)))
                inner.append(tuple(name for name in own if name in wanted))
        drawn = not alone and any(d.drawn for d in decoders)
        dealt, times = (None, shared.count) if shared is not None and alone else (shared, "")
        return cls(tuple(attributes), shape, kept, tuple(axes), tuple(inner), dealt, times, drawn)

    def estimates(self, original: Original, draws: DrawSettings) -> Iterator[ShareTable]:
        """Yield the estimated shares of each draw, or a single one. Raises as `simulate_releases`."""
        for drawn in simulate_releases([self], original, draws):
            yield self.estimate(drawn, original.records)

    def estimate(self, drawn: CountedRowSink, records: int) -> ShareTable:
        """Return the estimated shares of one draw, and the squared weights for their errors, of `shape`."""
        counted = self.counted(drawn)
        spread = self.dealt is not None or not all(axis.unbiased for axis, _ in self.axes)
        squares = None if spread else partial(self._sums, counted, 2, records)
        return ShareTable(self._sums(counted, 1, records), records, squares)

    def _sums(self, counted: Array, power: int, records: int) -> Array:
        """Return the mean weight of each cell of the table, or the mean of its squares, of `shape`."""
        for place, (axis, wanted) in enumerate(self.axes):
            if self.dealt is None or axis.columns != self.dealt.columns:
                counted = axis.contract(counted, place, wanted, power)
        order = [name for names in self.inner for name in names]
        whole = counted.reshape([self.shape[self.attributes.index(name)] for name in order])
        return np.asarray(np.transpose(whole, [order.index(name) for name in self.attributes]) / records)

    def counted(self, drawn: CountedRowSink) -> Array:
        """Return the released records of one draw by the cells of the axes; dealt values are spread already."""
        specs = {spec.name: spec for spec in self.channel.tables()}
        weights = [axis for axis, _ in self.axes]
        if self.dealt is not None:
            return count_group_cells(drawn, specs, weights, self.dealt)
        held = {c for axis in weights for c in axis.columns}
        spec = next(s for s in specs.values() if held <= {c.name for c in s.columns})
        return count_draw_cells(drawn.parts[spec.name], spec, weights, self.times)

    @property
    def one_by_one(self) -> bool:
        """Return whether every record is drawn separately."""
        return self.dealt is not None or not isinstance(self.channel, Product) or self.channel.sampler == "records/2"


def simulate_releases(
    marginals: Sequence[EstimatedMarginal], original: Original, draws: DrawSettings
) -> Iterator[CountedRowSink]:
    """Yield the released rows of each draw of marginals of one channel; a single one if all are deterministic.

    Raises `DataError` (RR346) if there is too much work.
    """
    number = draws.number if any(m.drawn for m in marginals) else 1
    records = original.records if any(m.one_by_one for m in marginals) else 0
    work = number * (sum(math.prod(a.counted for a, _ in m.axes) for m in marginals) + records)
    if work > MOST_WORK:
        names = ", ".join(dict.fromkeys(name for m in marginals for name in m.attributes))
        raise simulation_too_large(f"{number:,} draws of {names} count {work:,} cells and records")
    for draw in range(number):
        sink = CountedRowSink()
        marginals[0].channel.draw(original, draws.streams(draw), sink)
        yield sink


def original_shares(original: Original, attributes: Sequence[str]) -> Array:
    """Return the shares of the unmodified table, one dimension an attribute."""
    return np.asarray(original.counts(*attributes).dense() / original.records)


def simulated_means(  # noqa: PLR0917 what a simulation is
    channel: Channel,
    original: Original,
    attributes: Sequence[str],
    figures: Mapping[str, Figure],
    draws: DrawSettings,
    within: Range | None = None,
) -> Mapping[str, Measure]:
    """Return the mean over draws of numbers of an estimated table; exact for deterministic channels.

    All `figures` use the same draws. Raises `DataError` (RR346) if there is too much work, `PolicyError` (RR267) if the
    released values do not determine the table.
    """
    marginal = EstimatedMarginal.of(channel, original, attributes)
    drawn = marginal.estimates(original, draws)
    tables = cached_result("marginal", channel, original, attributes, draws, drawn, 2 * math.prod(marginal.shape))
    found = [[figure(shares) for figure in figures.values()] for shares in tables]
    numbers = zip(figures, zip(*found, strict=True), strict=True)
    if marginal.drawn:
        return {name: mean_over_draws(values, within) for name, values in numbers}
    return {name: Measure(value) for name, (value,) in numbers}


def mean_over_draws(values: Sequence[float], within: Range | None = None) -> Measure:
    """Return the mean over draws, an estimate with its standard error.

    n equal draws have none. At the confidence 1 - a of a limit's end another value has then a probability of at most 1
    - a^(1/n) (Clopper, Pearson 1934, with no success), and the mean is off by at most this share of the range `within`:
    the stated error is the one with that end. Unbounded, equal draws have the error 0, which bounds nothing.
    """
    numbers = np.asarray(values, dtype=np.float64)
    mean, error = float(numbers.mean()), float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    if np.ptp(numbers) <= EQUAL_TOLERANCE:
        furthest = 0.0 if within is None else max(mean - within[0], within[1] - mean)
        error = furthest * (1 - TAIL ** (1 / len(numbers))) / ERRORS
    return Measure(mean, Standing.ESTIMATE, error)


def simulation_too_large(what: str) -> DataError:
    """Return the error (RR346) for a simulation that is refused."""
    hint = "list fewer `attributes`, or set fewer `draws`"
    return DataError(Problem("RR346", f"{what}: that is too much to simulate", hint=hint))


def _narrow_channel(channel: Channel, wanted: set[str]) -> Channel:
    """Return a channel of fewer columns that releases these by the same law."""
    if isinstance(channel, Product):
        axes = tuple(axis for axis in channel.axes if wanted & set(axis.attributes))
        names = {column.name for axis in axes for column in axis.columns()}
        order = tuple(name for name in channel.order if name in names)
        return replace(channel, axes=axes, carried=(), order=order)
    if isinstance(channel, AnatomyChannel):
        known = tuple(column for column in channel.known if column.attribute in wanted)
        return replace(channel, known=known or channel.known[:1])
    return channel


def _anatomy_decoder(decoders: Sequence[Decoder]) -> AnatomyDecoder | None:
    """Return the decoder of values that were dealt into groups, if there is one.

    Raises `PolicyError` (RR267) if there are two: the pairs of values of one record are not released.
    """
    dealt = [d for d in decoders if isinstance(d, AnatomyDecoder)]
    if len(dealt) > 1:
        named = " and ".join(repr(name) for d in dealt for name in d.attributes)
        message = f"which values of {named} belong to one record is not released: no table of both can be estimated"
        raise PolicyError(Problem("RR267", message, hint="name `attributes`, one of these at most"))
    return dealt[0] if dealt else None


def target_cells(weights: AxisWeights, own: Sequence[str], domains: Mapping[str, Sequence[Value]]) -> Mask | None:
    """Return (V, cells) the map from original cells of an axis to cells of the wanted attributes.

    None if these are the same, in the same order.
    """
    places = [i for i, name in enumerate(own) if name in domains]
    positions = [{label: code for code, label in enumerate(domains[own[i]])} for i in places]
    sizes = [len(p) for p in positions]
    cell = np.zeros(len(weights.original), dtype=np.int64)
    for place, position, size in zip(places, positions, sizes, strict=True):
        cell = cell * size + np.array([position[labels[place]] for labels in weights.original], dtype=np.int64)
    cells = math.prod(sizes)
    if len(cell) == cells and np.array_equal(cell, np.arange(cells)):
        return None
    counted = np.zeros((len(cell), cells), dtype=bool)
    counted[np.arange(len(cell)), cell] = True
    return counted


def share_variances(channel: Channel, original: Original, attributes: Sequence[str]) -> Array | None:
    """Return the variance, for this table, of each cell's estimated share; one array dimension per attribute.

    A share is the mean of record weights w, independent given the table, with E w = 1 for the records of its cell and 0
    for the others. For this table its variance is therefore (E mean w^2 - p)/N, with E mean w^2 = sum_u lambda[u]
    W[u]^2 and lambda = P p (Chaudhuri, Mukerjee 1988, chapter 3), applied axis by axis.

    None where no closed form is implemented: channels other than `Product`, counts spread inside groups, sets, axes
    that list no values, and coupled attributes.

    Raises `PolicyError` (RR267) if the released values do not determine a cell.
    """
    wanted = set(attributes)
    if not isinstance(channel, Product):
        return None
    axes = [axis for axis in channel.axes if wanted & set(axis.attributes)]
    if not all(isinstance(axis, Transition) and len(axis.attributes) == 1 for axis in axes):
        return None
    decoders = [axis.decoder() for axis in axes]
    if not all(decoder.unbiased and decoder.independent for decoder in decoders):
        return None
    shares = original_shares(original, attributes)
    if shares.size > MOST_CELLS:
        return None
    order = [name for axis in axes for name in axis.attributes]
    p = np.transpose(shares, [list(attributes).index(name) for name in order])
    squared = p
    for place, (axis, decoder) in enumerate(zip(axes, decoders, strict=True)):
        assert isinstance(axis, Transition)
        (weights,) = axis_weights(decoder)
        squared = weights.contract(axis.forward(squared, place), place, None, 2)
    found = np.maximum(squared - p, 0.0) / original.records
    return np.transpose(found, [order.index(name) for name in attributes])
