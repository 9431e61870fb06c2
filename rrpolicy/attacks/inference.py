"""Attribute inference: what is read of a sensitive attribute, from released records and the shares in the table.

*By record*: for a released record (beta, v) the attacker names the sensitive value that its original most likely has.
With n_alpha,u people of combination alpha and value u, he is right of this record with the chance

    f(beta, v) = max_u B(beta, u) P_S[v, u] / Lambda(beta, v),    B(beta, u) = sum_alpha P_QI[beta, alpha] n_alpha,u

Lambda the expected released counts; expected are sum over (beta, v) of max_u B(beta, u) P_S[v, u] successes. No guess
from one record and the table's shares is better (Bayes).

*By person*: he draws a person by posterior weight for the record, reads v by posterior under the shares of that
person's combination, and is right if that is the person's value, as the original tells: with lambda(beta) the expected
counts of the combinations

    f(beta, v) = sum_alpha n_alpha P_QI[beta, alpha] / lambda(beta) sum_u c_u^2 P_S[v, u] / (P_S c)_v

whose expectation a record is the mean over people of `value read correctly`, which stands beside every risk.

References:
    Guo, Ying, Wu 2011, eq. 6-9, for the posterior weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import Attack, Outcome, undecided
from rrpolicy.attacks.score import forward, held, law
from rrpolicy.attacks.target import MOST_CELLS, TOO_LARGE, Target, cells, listed, size
from rrpolicy.channel.product.channel import Product
from rrpolicy.policy.model import Role
from rrpolicy.privacy.evidence import sides
from rrpolicy.untrusted.printable import listed as in_words

if TYPE_CHECKING:
    from rrpolicy.attacks.target import Cells
    from rrpolicy.channel.base import Axis
    from rrpolicy.source.counts import Array

BY_RECORD, BY_PERSON = "attribute inference, by record", "attribute inference, by person"
COUNTS = {
    BY_RECORD: "released records whose original value the attacker names, as is to be expected of this file",
    BY_PERSON: "released records for which the attacker draws a person and reads that person's true value",
}


def infer(target: Target) -> Iterator[Attack]:
    """Run both attacks on every sensitive attribute of a product channel."""
    product = target.channel
    assert isinstance(product, Product)
    for name, attribute in target.policy.attributes.items():
        if attribute.role is Role.SENSITIVE and any(name in axis.attributes for axis in product.axes):
            yield from _infer(target, product, name)


def _infer(target: Target, product: Product, sensitive: str) -> Iterator[Attack]:
    found = sides(product, target.policy, sensitive)
    axis = found.sensitive
    assert axis is not None
    axes = (*found.known, axis)
    names = [name for known in found.known for name in known.attributes]
    knows = f"{in_words(names) or 'nothing'} of everybody, how {sensitive} goes with it in the table, and the channel"
    why = _unlike(axes)
    if why:
        yield from (undecided(name, sensitive, knows, why) for name in COUNTS)
        return
    counted = cells(target, product, axes)
    for name, f in ((BY_RECORD, by_record(counted)), (BY_PERSON, by_person(counted))):
        most = float(counted.original.sum(axis=tuple(range(counted.original.ndim - 1))).max())
        blind = most if name == BY_RECORD else None
        trials = target.original.records
        words = Attack(name, sensitive, knows, COUNTS[name], Outcome.UNDECIDED, trials=trials, without=blind)
        successes = float((f * counted.released).sum())
        yield held(words, successes, law(counted.axes, counted.original, f), impossible=counted.impossible)


def _unlike(axes: tuple[Axis, ...]) -> str:
    """Return why the attacks cannot be run; "" if they can."""
    *_, sensitive = axes
    if len(sensitive.attributes) > 1:
        return "it is released together with another attribute"
    if not all(map(listed, axes)):
        return "there are too many sets, or values that are not listed"
    return TOO_LARGE if size(axes) > MOST_CELLS else ""


def by_record(counted: Cells) -> Array:
    """Return (released sizes) the chance that the likeliest value of a released record's original is right."""
    *known, sensitive = counted.axes
    behind = forward(known, counted.original)
    matrix = sensitive.forward(np.eye(counted.original.shape[-1]), 0)
    best = np.zeros((*behind.shape[:-1], len(matrix)))
    for u in range(matrix.shape[1]):
        np.maximum(best, behind[..., u, None] * matrix[:, u], out=best)
    expected = behind @ matrix.T
    return np.divide(best, expected, out=np.zeros_like(best), where=expected > 0)


def by_person(counted: Cells) -> Array:
    """Return (released sizes) the chance that a drawn person's value is read rightly from a released record."""
    *known, sensitive = counted.axes
    people = counted.original.sum(axis=-1, keepdims=True)
    shares = np.divide(counted.original, people, out=np.zeros_like(counted.original), where=people > 0)
    matrix = sensitive.forward(np.eye(counted.original.shape[-1]), 0)
    released = shares @ matrix.T
    read = np.divide(shares**2 @ matrix.T, released, out=np.zeros_like(released), where=released > 0)
    right, expected = forward(known, people * read), forward(known, people)
    return np.divide(right, expected, out=np.zeros_like(right), where=expected > 0)
