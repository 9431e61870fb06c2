"""Record linkage: an attacker who knows everybody's originals names a person for every released record.

The attacker names, at random, one of the people of the combination alpha that is most likely released as the record's,
beta. That is the record's person with the chance

    f(beta) = max_alpha P_QI[beta, alpha] / lambda(beta),    lambda(beta) = sum_alpha n_alpha P_QI[beta, alpha]

alpha over the combinations that occur. The record's person is in no file: the successes are the sum of these chances
over the written records, the expected number of right links. Their expectation over all draws, sum over beta of
max_alpha P_QI[beta, alpha], is that of the right links themselves.

References:
    Teng, Du 2006, section 3, for the chance that a record is a person's; the best guess instead of a drawn one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import score_records
from rrpolicy.attacks.target import (
    AttackTarget,
    attacked_product,
    attribute_names,
    count_attack_cells,
    counting_obstacle,
)
from rrpolicy.privacy.disclosure.inference_accuracy import max_product
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array

LINKAGE = "record linkage"
CORRECT_LINKS = "released records that the attacker links to the right person, expected for this file"


def link(target: AttackTarget) -> Iterator[AttackResult]:
    """Run the attack on a product channel."""
    product = attacked_product(target)
    known = split_axes(product, target.policy, None).known
    knows = f"{attribute_names(known) or 'nothing'} of everybody, and the channel"
    trials = target.original.records
    words = AttackResult(LINKAGE, "", knows, CORRECT_LINKS, AttackOutcome.UNDECIDED, trials=trials, without=1.0)
    why = counting_obstacle(known) if known else "nothing is released that links records to people"
    if why:
        yield words.undecided(why)
    else:
        counted = count_attack_cells(target, product, known)
        yield score_records(words, counted, linkage_accuracy(counted, known))


def linkage_accuracy(counted: AttackCells, known: tuple[Axis, ...]) -> Array:
    """Return (released sizes) the chance that the person named for a released record is the right one."""
    best = (counted.original > 0).astype(np.float64)
    for place, axis in enumerate(known):
        best = max_product(axis, best, place)
    return np.divide(best, counted.expected, out=np.zeros_like(best), where=counted.expected > 0)
