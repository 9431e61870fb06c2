"""The expected error of moment estimates from a product channel: one place for every formula.

With pi^ = L lambda^ and L P = I, axis by axis, the estimate of N records has

    E||pi^ - pi||^2 = (sum_beta lambda[beta] prod_a ||L_a[., beta_a]||^2 - 1)/N          for this table,
                      (… - ||pi||^2)/N                                                  for its population

(Chaudhuri, Mukerjee 1988, chapter 3; Guo, Ying, Wu 2011, eq. 2). The sum over released cells equals the mean over
records of prod_a h_a(v_a), h_a = P_a^T ||L_a[., u]||^2, so no array of the released domain is ever built. For retention
without blocks h_a is a constant and no data are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from rrpolicy.channels.axes.categories import Several
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis, Transition
from rrpolicy.channels.decoders import Block
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import DataError, Problem

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Counts, Ints
    from rrpolicy.source.protocol import Original

Target: TypeAlias = Literal["table", "population"]

_SOLVED = 1e-9


def expected_squared_error(
    product: Product,
    original: Original | Counts | int,
    attributes: Sequence[str] | None = None,
    target: Target = "table",
) -> float | None:
    """Return E||pi^ - pi||^2 of a marginal's proportions, over the draws of a release.

    `attributes` are by default all randomised ones, which gives the whole table's error. `target` is this table (a
    census), or the population that its records are a sample of. None if N and the channel do not determine it and the
    counts are not available. Raises DataError (RR335) if the released values do not determine the marginal.
    """
    import numpy as np

    wanted = randomised_attributes(product) if attributes is None else tuple(attributes)
    known = {name for axis in product.axes for name in axis.attributes}
    if not known.issuperset(wanted):
        raise ValueError(f"not on an axis of the channel: {', '.join(a for a in wanted if a not in known)}")
    norms = [(axis, weight_norms(axis, wanted)) for axis in product.axes]
    varying = [(axis, h) for axis, h in norms if isinstance(h, np.ndarray)]
    total = math.prod(h for _, h in norms if isinstance(h, float))
    if isinstance(original, int):
        if varying or target == "population":
            return None
        return (total - 1) / original
    total *= _mean_product(original, varying) if varying else 1.0
    records = original.records
    own = 1.0
    if target == "population":
        n = _attribute_counts(original, wanted).n / records
        own = float(n @ n)
    return max(total - own, 0.0) / records


def root_mean_squared_error(
    product: Product, original: Original | Counts | int, attributes: Sequence[str], target: Target = "table"
) -> float | None:
    """Return the root mean squared error of a marginal's shares: sqrt(E||pi^ - pi||^2 / cells).

    Arguments, errors and None as for `expected_squared_error`.
    """
    squared = expected_squared_error(product, original, attributes, target)
    if squared is None:
        return None
    return math.sqrt(squared / marginal_size(product, attributes))


def marginal_size(product: Product, attributes: Sequence[str]) -> int:
    """Return the number of cells of a marginal of some attributes."""
    sizes = {
        name: size for axis in product.axes for name, size in zip(axis.attributes, _domain_sizes(axis), strict=True)
    }
    return math.prod(sizes[name] for name in attributes)


def randomised_attributes(product: Product) -> tuple[str, ...]:
    """Return the attributes on axes that are not the identity."""
    return tuple(name for axis in product.axes if not isinstance(axis, Identity) for name in axis.attributes)


def weight_norms(axis: Axis, attributes: Iterable[str]) -> float | Array:
    """Return h(v) = sum_u P[u,v] ||L[., u]||^2 of an axis for the estimate of a marginal.

    If the axis has none of the attributes, its weights are 1, and so is h. If it has only some of its attributes, L
    estimates the sums over the others. Returns a constant if h is constant, else (original_size,). Raises DataError
    (RR335) if the matrix cannot be inverted, ValueError if the axis does not list its released values.
    """
    import numpy as np

    wanted = frozenset(attributes) & set(axis.attributes)
    if not wanted or isinstance(axis, Identity):
        return 1.0
    sizes = axis.sizes_in(wanted) if isinstance(axis, Retention) else None
    if isinstance(axis, Retention) and sizes is not None:
        parts = [(b.members, _inverse_norm(axis, b, size)) for b, size in zip(axis.blocks, sizes, strict=True)]
        if len({norm for _, norm in parts}) == 1:
            return parts[0][1]
        h = np.empty(axis.original_size)
        for members, norm in parts:
            h[list(members)] = norm
        return h
    if isinstance(axis, Recode) or (isinstance(axis, Sets) and axis.silent):
        raise _singular_error(axis)
    if isinstance(axis, Sets):
        return axis.mean_norm(wanted)
    norms = _weights_squared(axis, wanted)
    assert isinstance(axis, Transition)
    return axis.back(norms, 0)


def axis_codes(counts: Counts, axes: Sequence[Axis]) -> list[Ints]:
    """Return the original cell of each row of counts on each axis; coupled attributes share one."""
    import numpy as np

    codes, place = [], 0
    for axis in axes:
        span = slice(place, place + len(axis.attributes))
        place = span.stop
        codes.append(np.ravel_multi_index(tuple(counts.codes[:, span].T), counts.shape[span]))
    return codes


def _mean_product(original: Original | Counts, varying: Sequence[tuple[Axis, Array]]) -> float:
    """Return the mean over records of the product of h_a at their values, from occupied cells alone."""
    counts = _attribute_counts(original, [name for axis, _ in varying for name in axis.attributes])
    product = counts.n / counts.records
    for code, (_, h) in zip(axis_codes(counts, [axis for axis, _ in varying]), varying, strict=True):
        product = product * h[code]
    return float(product.sum())


def _attribute_counts(original: Original | Counts, attributes: Sequence[str]) -> Counts:
    from rrpolicy.counts import Counts

    return original.marginal(*attributes) if isinstance(original, Counts) else original.counts(*attributes)


def _domain_sizes(axis: Axis) -> tuple[int, ...]:
    if isinstance(axis, Several):
        return tuple(len(domain.labels) for domain in axis.original)
    if len(axis.attributes) == 1:
        return (axis.original_size,)
    shape = tuple(len(column.labels) for column in axis.columns())
    if math.prod(shape) != axis.original_size:
        raise ValueError(f"an axis of kind '{axis.kind}' does not distinguish the domains of its attributes")
    return shape


def _inverse_norm(axis: Retention, block: Block, size: int) -> float:
    """Return ||L[., u]||^2 for the cells that a block's categories lie in."""
    cells = block if size == block.size else block.of(block.retention, range(size))
    try:
        return float(cells.inverse_norm())
    except ZeroDivisionError as error:
        raise _singular_error(axis) from error


def _weights_squared(axis: Axis, wanted: frozenset[str]) -> Array:
    """Return sum_j W[u, j]^2 over the cells j of a marginal, for the weights W of least variance with P^T W = targets.

    They minimise sum_u mass[u] W[u]^2 with mass the released proportions under a uniform original (Gauss, Markov); for
    an invertible matrix they are P^-T. Estimates from a release use the same.
    """
    import numpy as np

    P = _has_listed_values(axis).forward(np.eye(axis.original_size), 0)
    rows, columns = _informative_part(axis, P.shape)
    dense, targets = P[np.ix_(rows, columns)], _target_matrix(axis, wanted)[columns]
    mass = dense.sum(axis=1)
    root = np.sqrt(np.where(mass > 0, mass, 1.0))
    scaled = (dense / root[:, None]).T
    inverse = np.linalg.pinv(scaled, rcond=1e-12)
    weights = inverse @ targets
    weights += inverse @ (targets - scaled @ weights)
    if np.abs(targets - scaled @ weights).max() > _SOLVED * max(1.0, float(np.abs(weights).max())):
        raise _singular_error(axis)
    squared: Array = np.zeros(P.shape[0])
    squared[rows] = ((weights / root[:, None]) ** 2).sum(axis=1)
    return squared


def _informative_part(axis: Axis, shape: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the rows and columns of P that estimates use."""
    import numpy as np

    rows, columns = axis.support() if isinstance(axis, Matrix) else (range(shape[0]), range(shape[1]))
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _target_matrix(axis: Axis, wanted: frozenset[str]) -> Array:
    import numpy as np

    targets: Array = np.ones((1, 1))
    for name, size in zip(axis.attributes, _domain_sizes(axis), strict=True):
        factor = np.eye(size) if name in wanted else np.ones((size, 1))
        targets = np.asarray(np.kron(targets, factor), dtype=np.float64)
    return targets


def _has_listed_values(axis: Axis) -> Transition:
    if not isinstance(axis, Transition):
        raise ValueError(f"an axis of kind '{axis.kind}' does not list its released values")  # noqa: TRY004
    return axis


def _singular_error(axis: Axis) -> DataError:
    names = ", ".join(f"'{name}'" for name in axis.attributes)
    message = (
        f"the transition matrix of {names} cannot be inverted: its released values do not distinguish the originals"
    )
    return DataError(Problem("RR335", message, hint="change the matrix, or raise its keep probability above 1/d"))
