"""A channel with open retention axes, and the expected error of marginals as a function of these."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.probability import retention_probability
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import axis_codes, randomised_attributes, weight_norms
from rrpolicy.frozen import replace
from rrpolicy.optimize.retention.problem import ExpectedError, MarginalErrorTerm, RetentionVariable

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array
    from rrpolicy.optimize.retention.workload import Marginal
    from rrpolicy.source.protocol import Original


class ChannelTemplate(Struct, frozen=True, dict=True):
    """A channel and its open retention axes, those of the `solved` attributes: of these only the blocks matter."""

    channel: Product
    solved: Collection[str]

    @cached_property
    def open(self) -> tuple[Retention, ...]:
        """Return the open axes, in the channel's order."""
        retentions = (axis for axis in self.channel.axes if isinstance(axis, Retention))
        return tuple(axis for axis in retentions if axis.attributes[0] in self.solved)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the attributes of the open axes."""
        return tuple(name for axis in self.open for name in axis.attributes)

    def opens(self, axis: Axis) -> bool:
        """Return whether an axis of the channel is open."""
        return axis.attributes[0] in self.names

    @property
    def variables(self) -> tuple[RetentionVariable, ...]:
        """Return the unknowns, one for each open axis."""
        sizes = (tuple(sorted({block.size for block in axis.blocks})) for axis in self.open)
        return tuple(
            RetentionVariable(" with ".join(a.attributes), size) for a, size in zip(self.open, sizes, strict=True)
        )

    def retention(self, keep: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the retention probabilities for keep probabilities of the largest blocks."""
        return tuple(retention_probability(p, axis.largest.size) for p, axis in zip(keep, self.open, strict=True))

    def filled(self, keep: Sequence[Fraction]) -> Product:
        """Return the channel with its open axes filled in; blocks share the retention probability of the largest."""
        full = {
            axis.attributes: axis.with_retention(rho) for axis, rho in zip(self.open, self.retention(keep), strict=True)
        }
        return replace(self.channel, axes=tuple(full.get(axis.attributes, axis) for axis in self.channel.axes))


def weighted_marginals(channel: Product, workload: Sequence[Marginal]) -> list[tuple[float, tuple[str, ...]]]:
    """Return weight and attributes of every marginal that counts: those declared, else all randomised ones."""
    return [(float(m.weight), m.marginal) for m in workload] or [(1.0, randomised_attributes(channel))]


def expected_error_objective(
    template: ChannelTemplate, workload: Sequence[Marginal], original: Original | int
) -> ExpectedError:
    """Return the expected error of the whole table, or of the declared workload, as a function of the open axes.

    `original` is the table; or its number of records, if `needs_data` is False.
    """
    terms = [
        _marginal_term(template, *marginal, original) for marginal in weighted_marginals(template.channel, workload)
    ]
    plain = not workload and all(len(axis.blocks) == 1 for axis in template.open)
    offset = math.fsum(math.log(v.size) for v in template.variables) if plain else 0.0
    return ExpectedError(tuple(terms), offset)


def needs_data(template: ChannelTemplate, workload: Sequence[Marginal]) -> bool:
    """Return whether the optimum depends on the data: unequal blocks, or unequal weights by other matrices."""
    looked_at = [m.marginal for m in workload] or [template.names]
    if any(_has_uneven_blocks(axis, names) for axis in template.open for names in looked_at):
        return True
    given = [axis for axis in template.channel.axes if not template.opens(axis)]
    return len(workload) > 1 and any(
        isinstance(weight_norms(a, m.marginal), np.ndarray) for m in workload for a in given
    )


def _has_uneven_blocks(axis: Retention, names: Collection[str]) -> bool:
    return len(set(_spanned_cells(axis, names))) > 1


def _spanned_cells(axis: Retention, names: Collection[str]) -> tuple[int, ...]:
    """Return, for each block, the number of cells of a marginal that it spans; 1 for a marginal of other attributes."""
    if set(axis.attributes).isdisjoint(names):
        return (1,)
    sizes = axis.sizes_in(names)
    if sizes is None:
        raise ValueError(f"the blocks of {', '.join(axis.attributes)} are not products of categories of each")
    return sizes


def _marginal_term(
    template: ChannelTemplate, weight: float, names: Sequence[str], original: Original | int
) -> MarginalErrorTerm:
    """Return the term of a marginal, its mass rolled up from the counts to the block sizes that matter."""
    touched = [a for a in template.channel.axes if set(a.attributes) & set(names)]
    solved = [axis for axis in template.open if not set(axis.attributes).isdisjoint(names)]
    costs = {a.attributes: weight_norms(a, names) for a in touched if not template.opens(a)}
    where = np.array([number for number, axis in enumerate(template.open) if axis in solved], dtype=np.int64)
    sizes = np.array([[float(max(_spanned_cells(axis, names))) for axis in solved]]).reshape(1, len(solved))
    mass = np.array([math.prod(h for h in costs.values() if isinstance(h, float))])
    varying: dict[tuple[str, ...], Array] = {a: h for a, h in costs.items() if isinstance(h, np.ndarray)}
    uneven = {axis.attributes: number for number, axis in enumerate(solved) if _has_uneven_blocks(axis, names)}
    axes = [axis for axis in touched if axis.attributes in varying or axis.attributes in uneven]
    if not axes or isinstance(original, int):
        return MarginalErrorTerm(weight, where, sizes, mass)
    counts = original.counts(*(name for axis in axes for name in axis.attributes))
    mass, sizes = mass * (counts.n / counts.n.sum()), np.repeat(sizes, len(counts.n), axis=0)
    for axis, codes in zip(axes, axis_codes(counts, axes), strict=True):
        if axis.attributes in varying:
            mass = mass * varying[axis.attributes][codes]
        else:
            number = uneven[axis.attributes]
            sizes[:, number] = _block_sizes(solved[number], names)[codes]
    distinct, inverse = np.unique(sizes, axis=0, return_inverse=True)
    return MarginalErrorTerm(weight, where, distinct, np.bincount(inverse.ravel(), weights=mass).astype(np.float64))


def _block_sizes(axis: Retention, names: Collection[str]) -> Array:
    """Return for each category the number of cells of a marginal that its block spans."""
    sizes = np.empty(axis.original_size)
    for block, size in zip(axis.blocks, _spanned_cells(axis, names), strict=True):
        sizes[list(block.members)] = size
    return sizes
