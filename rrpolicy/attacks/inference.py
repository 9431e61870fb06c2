"""Attribute inference: guesses of a sensitive attribute, from released records and the shares in the table.

*By record*: for a released record (beta, v) the attacker names the sensitive value that its original most likely has.
With n_alpha,u people of combination alpha and value u, the guess for this record is right with the chance

    f(beta, v) = max_u B(beta, u) P_S[v, u] / Lambda(beta, v),    B(beta, u) = sum_alpha P_QI[beta, alpha] n_alpha,u

Lambda the expected released counts; expected are sum over (beta, v) of max_u B(beta, u) P_S[v, u] successes. No guess
from one record and the table's shares is better (Bayes).

A record shows more than the attacker is assumed to know of everybody: unmodified columns that are associated with the
sensitive attribute (`rrpolicy.privacy.dependence`). They are read as well: further axes that change nothing.

*By person*: the attacker draws a person by posterior weight for the record, reads v by posterior under the shares of
that person's combination, and is right if that is the person's value in the original: with lambda(beta) the expected
counts of the combinations

    f(beta, v) = sum_alpha n_alpha P_QI[beta, alpha] / lambda(beta) sum_u c_u^2 P_S[v, u] / (P_S c)_v

whose expectation per record is the mean over people of `value read correctly`, which is reported with every risk.

References:
    Guo, Ying, Wu 2011, eq. 6-9, for the posterior weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import score_records
from rrpolicy.attacks.target import (
    MAX_ATTACK_CELLS,
    AttackTarget,
    apply_channel,
    attacked_product,
    attribute_names,
    count_attack_cells,
    counting_obstacle,
    group_column,
    joint_table_size,
    sensitive_attributes,
)
from rrpolicy.channels.product.channel import Product
from rrpolicy.escaping.printable import quoted_list as in_words
from rrpolicy.privacy.dependence import exact_and_randomised, find_dependences
from rrpolicy.privacy.epsilon.association import GROUPS
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells, GroupedColumn
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array

BY_RECORD, BY_PERSON = "attribute inference, by record", "attribute inference, by person"
COUNTS = {
    BY_RECORD: "released records whose original value the attacker reads, as expected of this file",
    BY_PERSON: "released records for which the attacker draws a person and reads that person's true value",
}


def infer(target: AttackTarget) -> Iterator[AttackResult]:
    """Run both attacks on every sensitive attribute of a product channel."""
    for name in sensitive_attributes(target):
        yield from _infer_attribute(target, attacked_product(target), name)


def _infer_attribute(target: AttackTarget, product: Product, sensitive: str) -> Iterator[AttackResult]:
    found = split_axes(product, target.policy, sensitive)
    axis, records = found.sensitive, target.original.records
    assert axis is not None
    axes, names = (*found.known, axis), attribute_names(found.known)
    knows = f"{names or 'nothing'} of every person, how {sensitive} depends on it in the table, and the channel"

    def words(name: str, knowledge: str, without: float | None) -> AttackResult:
        counts, outcome = COUNTS[name], AttackOutcome.UNDECIDED
        return AttackResult(name, sensitive, knowledge, counts, outcome, trials=records, without=without)

    coupled = "it is released together with another attribute" if len(axis.attributes) > 1 else ""
    why = coupled or counting_obstacle(axes)
    if why:
        yield from (words(name, knows, None).undecided(why) for name in COUNTS)
        return
    counted = count_attack_cells(target, product, axes)
    read, carried = _associated_columns(target, product, axes)
    more = [*(name for each in read for name in each.attributes), *(column.attribute for column in carried)]
    besides = count_attack_cells(target, product, (*found.known, *read, axis), carried) if more else counted
    reads = f"{knows}; and of a record {in_words(more)}, released unmodified" if more else knows
    most = float(counted.original.sum(axis=tuple(range(counted.original.ndim - 1))).max())
    yield score_records(words(BY_RECORD, reads, most), besides, record_accuracy(besides))
    yield score_records(words(BY_PERSON, knows, None), counted, person_accuracy(counted))


def _associated_columns(
    target: AttackTarget, product: Product, axes: tuple[Axis, ...]
) -> tuple[list[Axis], list[GroupedColumn]]:
    """Return unmodified columns that are associated with the sensitive attribute, though assessments leave them out.

    The most strongly associated columns, as long as the joint table is not too large.
    """
    *known, sensitive = axes
    (name,) = sensitive.attributes
    names = {each for axis in known for each in axis.attributes}
    exact, randomised = exact_and_randomised(target.policy, product)
    sides = (exact, [a for a in randomised if a.name == name])
    found = [one for one in find_dependences(target.policy, sides, target.original) if one.exact not in names]
    read: list[Axis] = []
    carried: list[GroupedColumn] = []
    columns = {column.attribute: column for column in product.carried}
    room = MAX_ATTACK_CELLS // joint_table_size(axes)
    for one in sorted(found, key=lambda one: (-one.v.value, -one.share)):
        if one.exact in columns and room >= GROUPS:
            carried.append(group_column(target.original, columns[one.exact], room))
            room //= carried[-1].size
        for axis in product.axes:
            if axis.attributes == (one.exact,) and axis.original_size <= room:
                read.append(axis)
                room //= axis.original_size
    return read, carried


def record_accuracy(counted: AttackCells) -> Array:
    """Return (released sizes) the chance that the likeliest value of a released record's original is right."""
    *known, sensitive = counted.axes
    behind = apply_channel(known, counted.original)
    matrix = sensitive.forward(np.eye(counted.original.shape[-1]), 0)
    best = np.zeros((*behind.shape[:-1], len(matrix)))
    for u in range(matrix.shape[1]):
        np.maximum(best, behind[..., u, None] * matrix[:, u], out=best)
    expected = behind @ matrix.T
    return np.divide(best, expected, out=np.zeros_like(best), where=expected > 0)


def person_accuracy(counted: AttackCells) -> Array:
    """Return (released sizes) the chance that a drawn person's value is read correctly from a released record."""
    *known, sensitive = counted.axes
    people = counted.original.sum(axis=-1, keepdims=True)
    shares = np.divide(counted.original, people, out=np.zeros_like(counted.original), where=people > 0)
    matrix = sensitive.forward(np.eye(counted.original.shape[-1]), 0)
    released = shares @ matrix.T
    read = np.divide(shares**2 @ matrix.T, released, out=np.zeros_like(released), where=released > 0)
    right, expected = apply_channel(known, people * read), apply_channel(known, people)
    return np.divide(right, expected, out=np.zeros_like(right), where=expected > 0)
