"""Homogeneity and background knowledge: guesses of sensitive values from classes of released records.

If the release shows for each person which class holds the record, the attacker guesses the most frequent sensitive
value of the class (homogeneity). An attacker who also knows of each person the j most frequent values that the person
does not have, guesses the most frequent of the others (background knowledge; Machanavajjhala et al. 2007, section 2.2):
the guess is right if the value is among the j + 1 most frequent ones of its class. Both are counts of the written
release, and deterministic: they must equal those computed from the original and the channel.

In a release of `anatomy` no group contains a value twice, so that exactly one guess per group is right: N/l, rounded
down, are predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.target import (
    AttackTarget,
    attacked_product,
    count_attack_cells,
    counting_obstacle,
    sensitive_attributes,
)
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.channels.anatomy.released_tables import MAX_GROUPS, read_released_tables
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.released_counts import is_deterministic
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.escaping.printable import quoted_list as in_words
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.counts import Array

HOMOGENEITY, BACKGROUND = "homogeneity", "background knowledge"
KNOWN_FACT_COUNTS = {HOMOGENEITY: 0, BACKGROUND: 1}
"""The number of values that the attacker knows a person not to have."""
COUNTS = "people whose sensitive value is guessed from their class"
EXACT_BASIS = "counts that the original and the channel leave no choice of"


def attack_classes(target: AttackTarget) -> Iterator[AttackResult]:
    """Run both attacks on every sensitive attribute of a product channel with deterministic known axes."""
    for name in sensitive_attributes(target):
        yield from _attack_attribute(target, attacked_product(target), name)


def _attack_attribute(target: AttackTarget, product: Product, sensitive: str) -> Iterator[AttackResult]:
    found = split_axes(product, target.policy, sensitive)
    assert found.sensitive is not None
    axes = (*found.known, found.sensitive)
    knows = class_knowledge([name for axis in found.known for name in axis.attributes])
    if not all(map(is_deterministic, axes)):
        return  # no partition: the attacker's knowledge, or the value, is randomised
    coupled = "it is released together with another attribute" if len(found.sensitive.attributes) > 1 else ""
    why = coupled or counting_obstacle(axes)
    if why:
        yield from _undecided_attacks(sensitive, knows, why)
        return
    counted = count_attack_cells(target, product, axes)
    blind = counted.expected.reshape(-1, counted.expected.shape[-1]).sum(axis=0)
    predicted = partial(most_frequent_count, counted.expected)
    yield from exact_attacks(target, sensitive, knows, counted.released, predicted, blind)


def _undecided_attacks(sensitive: str, knows: str, why: str) -> Iterator[AttackResult]:
    for name in KNOWN_FACT_COUNTS:
        yield AttackResult(name, sensitive, knows, "", AttackOutcome.UNDECIDED, why)


def attack_groups(target: AttackTarget) -> Iterator[AttackResult]:
    """Run both attacks on the groups of a release of `anatomy`."""
    channel = target.channel
    assert isinstance(channel, AnatomyChannel)
    knows = class_knowledge([column.attribute for column in channel.known])
    expected, _ = groups_of(target.original.records, channel.size)
    if expected > MAX_GROUPS:
        for column in channel.sensitive:
            yield from _undecided_attacks(column.attribute, knows, "too many groups")
        return
    with ExitStack() as opened:
        qit, *values = (opened.enter_context(target.read(table.name)) for table in channel.tables())
        tables = read_released_tables(channel, target.original, qit, values)
    if isinstance(tables, str):
        raise RequirementError(Problem("RR125", f"{target.name}: {tables}"))
    for column, places in zip(channel.sensitive, tables.values, strict=True):
        counts = np.zeros((tables.groups, len(column.labels)))
        np.add.at(counts, (places.group, places.code), places.n)
        blind = counts.sum(axis=0)
        yield from exact_attacks(target, column.attribute, knows, counts, lambda facts: (facts + 1) * expected, blind)


def most_frequent_count(counts: Array, facts: int) -> int:
    """Return the people with one of the `facts` + 1 most frequent values of their class, of (…, values) records."""
    return round(float(np.sort(counts, axis=-1)[..., -(facts + 1) :].sum()))


def class_knowledge(names: list[str]) -> str:
    """Return the knowledge of an attacker who knows everybody's class, in words."""
    return f"the class of every person, by {in_words(names) or 'nothing'}"


def exact_attacks(  # noqa: PLR0917 each is another number
    target: AttackTarget,
    sensitive: str,
    knows: str,
    released: Array,
    predicted: Callable[[int], int],
    blind: Array,
) -> Iterator[AttackResult]:
    """Yield both attacks on a sensitive attribute, with deterministic numbers.

    `released` are (…, values) records by class and value, `blind` (values,) records for guesses without a release;
    `predicted` returns the right guesses by number of facts, from the original and the channel.
    """
    for name, facts in KNOWN_FACT_COUNTS.items():
        found, right = most_frequent_count(released, facts), predicted(facts)
        known = ", and of each person the most frequent value that is not theirs" if facts else ""
        outcome = AttackOutcome.AS_PREDICTED if found == right else AttackOutcome.NOT_AS_PREDICTED
        numbers = (target.original.records, found, right, right, right, float(found == right))
        without = float(most_frequent_count(blind, facts))
        yield AttackResult(name, sensitive, knows + known, COUNTS, outcome, "", *numbers, EXACT_BASIS, without)
