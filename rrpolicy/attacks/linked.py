"""Inference over releases: rows of several releases that can be told to be one person's, read together.

Whose values that are released as they are nobody shares, has a row in each release that anybody finds. With c the
shares of the sensitive values in the table, and P_t the matrix of release t, the attacker names, of a person whose rows
show v_1, …, v_T,

    argmax_u c_u prod_t P_t[v_t, u]

and no guess from those rows and these shares is better (Bayes). Of a person of value u he is right with the chance

    p_u = sum of prod_t P_t[v_t, u] over all v of which he names u

independent of all others: his successes are a sum of Bernoulli variables. Of equal retention matrices and even shares
he names the majority. Releases that share their draws tell no more than one, and fall short of what is predicted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.attacks.result import Attack, Outcome, undecided
from rrpolicy.attacks.score import Law, forward, held
from rrpolicy.attacks.target import MOST_CELLS, TOO_LARGE, Target, cells, listed, size
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.read import certain
from rrpolicy.escaping.printable import listed as in_words
from rrpolicy.policy.model import Role
from rrpolicy.privacy.evidence import sides

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.attacks.target import Cells
    from rrpolicy.channels.base import Axis
    from rrpolicy.source.counts import Array, Ints

    Mask: TypeAlias = npt.NDArray[np.bool_]

NAME = "inference over releases"
NOBODY = "nobody is alone in what is released as it is"
OTHERWISE = "the releases put the records of the table into different categories"
COUNTS = "people whom every release shows alone, and whose value the attacker names from all their rows"


def infer_together(targets: Sequence[Target]) -> Iterator[Attack]:
    """Run the attack on all releases of each table, for each sensitive attribute that they release by themselves.

    Releases of one series show the same draw, and count as one.
    """
    for table in sorted({target.table for target in targets}):
        of_table = {i: target for i, target in enumerate(targets, 1) if target.table == table and not target.unfit}
        first_of = {target.series or f"release {i}": i for i, target in reversed([*of_table.items()])}
        yield from _together(targets, sorted(first_of.values()))


def _together(targets: Sequence[Target], numbers: Sequence[int]) -> Iterator[Attack]:
    """Run the attack on some releases of one table, by their numbers from 1."""
    channels = [targets[i - 1].channel for i in numbers]
    products = [channel for channel in channels if isinstance(channel, Product)]
    if len(numbers) <= 1 or len(products) < len(numbers):
        return
    chosen, of = [targets[i - 1] for i in numbers], f"releases {in_words(map(str, numbers))}"
    for name in (a.name for a in chosen[0].policy.with_role(Role.SENSITIVE)):
        axes = [axis for product in products for axis in product.axes if axis.attributes == (name,)]
        if len(axes) < len(products) or all(map(certain, axes)):
            continue
        shared = released_alike(chosen[0], products, axes[0])
        if shared:
            yield _inferred(chosen, products, [(*shared, axis) for axis in axes], f"{of}: {name}")


def _inferred(
    chosen: Sequence[Target], products: Sequence[Product], axes: Sequence[tuple[Axis, ...]], of: str
) -> Attack:
    """Return the attack by the axes of each release that are known and shared, and the one that is attacked."""
    *shared, _ = axes[0]
    names = in_words([name for axis in shared for name in axis.attributes])
    knows = f"{names} of everybody, the shares of the values in the table, and the channels"
    domains = {each.policy.attributes[axes[0][-1].attributes[0]].domain for each in chosen}
    if len(domains) > 1 or not all(listed(each[-1]) for each in axes):
        return undecided(NAME, of, knows, "it is not released with the same categories, or there are too many sets")
    if max(map(size, axes)) > MOST_CELLS:
        return undecided(NAME, of, knows, TOO_LARGE)
    counted = [cells(t, p, each) for t, p, each in zip(chosen, products, axes, strict=True)]
    if math.prod(each.released.shape[-1] for each in counted) * counted[0].original.shape[-1] > MOST_CELLS:
        return undecided(NAME, of, knows, "what several rows may show has more than 1,048,576 combinations")
    if not counted_alike(counted):
        return undecided(NAME, of, knows, OTHERWISE)
    who = shown_alone(counted[0])
    people = int(who.sum())
    if not people:
        return undecided(NAME, of, knows, NOBODY)
    original = counted[0].original
    shares = original.reshape(-1, original.shape[-1]).sum(axis=0)
    named, right = best_guess(shares, [each.axes[-1].forward(np.eye(len(shares)), 0) for each in counted])
    own = np.argmax(forward(counted[0].axes[:-1], original)[who], axis=-1)
    shown = tuple(np.argmax(each.released[who], axis=-1) for each in counted)
    p = right[own]
    law = Law(float(p.sum()), float((p * (1 - p)).sum()), 1.0, float(people))
    blind = float((own == int(np.argmax(shares))).sum())
    words = Attack(NAME, of, knows, COUNTS, Outcome.UNDECIDED, trials=people, without=blind)
    return held(words, float((named[shown] == own).sum()), law, impossible=any(each.impossible for each in counted))


def released_alike(target: Target, products: Sequence[Product], sensitive: Axis) -> list[Axis]:
    """Return the axes by which rows of several releases are told to be one person's: known, and released as they are.

    Args:
        target: the first release.
        products: the channels of all.
        sensitive: the axis of the first that is attacked.
    """
    known = sides(products[0], target.policy, sensitive.attributes[0]).known
    return [axis for axis in known if certain(axis) and listed(axis) and all(axis in p.axes for p in products)]


def counted_alike(counted: Sequence[Cells]) -> bool:
    """Return whether several releases put the same records of the table into the same categories."""
    return all(np.array_equal(each.original, counted[0].original) for each in counted)


def shown_alone(counted: Cells) -> Mask:
    """Return (released sizes but the last) where one record stands, which anybody finds who knows the person."""
    alone: Mask = forward(counted.axes[:-1], counted.original.sum(axis=-1)) == 1
    return alone


def best_guess(shares: Array, matrices: Sequence[Array]) -> tuple[Ints, Array]:
    """Return the value that is named of each combination of shown ones, and how often that is right, by value.

    Args:
        shares: (values,) in the table.
        matrices: (released, values) each, column-stochastic.
    """
    chances = np.ones((len(shares),))
    for matrix in matrices:
        chances = chances[..., None, :] * matrix
    named = np.argmax(shares * chances, axis=-1)
    right = np.array([chances[..., u][named == u].sum() for u in range(len(shares))])
    return named, right
