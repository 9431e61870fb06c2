"""Record linkage: for every released record a person is named, by who knows everybody's originals.

He names, at random, one of the people of the combination alpha that is most likely released as the record's, beta. That
is the record's person with the chance

    f(beta) = max_alpha P_QI[beta, alpha] / lambda(beta),    lambda(beta) = sum_alpha n_alpha P_QI[beta, alpha]

alpha over the combinations that occur. Whose record it is stands in no file: the successes are the sum of these chances
over the written records, the number of right links that is to be expected of them one by one. Their expectation over
all draws, sum over beta of max_alpha P_QI[beta, alpha], is that of the right links themselves.

References:
    Teng, Du 2006, section 3, for the chance that a record is a person's; the best guess instead of a drawn one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import Attack, Outcome, undecided
from rrpolicy.attacks.score import forward, held, law
from rrpolicy.attacks.target import MOST_CELLS, TOO_LARGE, Target, cells, listed, size
from rrpolicy.channels.product.channel import Product
from rrpolicy.escaping.printable import listed as in_words
from rrpolicy.privacy.disclosure.inference import max_product
from rrpolicy.privacy.evidence import sides

if TYPE_CHECKING:
    from rrpolicy.attacks.target import Cells
    from rrpolicy.channels.base import Axis
    from rrpolicy.source.counts import Array

NAME = "record linkage"
COUNTS = "released records whose person the attacker names, as is to be expected of this file"


def link(target: Target) -> Iterator[Attack]:
    """Run the attack on a product channel."""
    product = target.channel
    assert isinstance(product, Product)
    known = sides(product, target.policy, None).known
    names = [name for axis in known for name in axis.attributes]
    knows = f"{in_words(names) or 'nothing'} of everybody, and the channel"
    if not known:
        yield undecided(NAME, "", knows, "nothing is released that links records to people")
    elif not all(map(listed, known)):
        yield undecided(NAME, "", knows, "there are too many sets, or values that are not listed")
    elif size(known) > MOST_CELLS:
        yield undecided(NAME, "", knows, TOO_LARGE)
    else:
        counted = cells(target, product, known)
        f = by_likeliest(counted, known)
        trials = target.original.records
        words = Attack(NAME, "", knows, COUNTS, Outcome.UNDECIDED, trials=trials, without=1.0)
        expected = law(counted.axes, counted.original, f)
        yield held(words, float((f * counted.released).sum()), expected, impossible=counted.impossible)


def by_likeliest(counted: Cells, known: tuple[Axis, ...]) -> Array:
    """Return (released sizes) the chance that the person who is named for a released record is the right one."""
    best = (counted.original > 0).astype(np.float64)
    for place, axis in enumerate(known):
        best = max_product(axis, best, place)
    expected = forward(counted.axes, counted.original)
    return np.divide(best, expected, out=np.zeros_like(best), where=expected > 0)
