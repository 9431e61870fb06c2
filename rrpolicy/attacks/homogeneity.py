"""Homogeneity and background knowledge: guesses of sensitive values from classes of released records.

If the release shows for each person which class holds the record, the attacker guesses the most frequent sensitive
value of the class (homogeneity). An attacker who also knows of each person the j most frequent values that the person
does not have, guesses the most frequent of the others (background knowledge; Machanavajjhala et al. 2007, section 2.2):
the guess is right if the value is among the j + 1 most frequent ones of its class. Both are counts of the written
release, and deterministic: they must equal those computed from the original and the channel.

In a release of `anatomy` no group holds a value twice, so that of each group exactly one guess is right: N/l, rounded
down, are predicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult, undecided_attack
from rrpolicy.attacks.target import (
    MAX_ATTACK_CELLS,
    TOO_LARGE,
    AttackTarget,
    can_list_axes,
    count_attack_cells,
    joint_table_size,
)
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.channels.anatomy.released_tables import MAX_GROUPS, read_released_tables
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.released_counts import is_deterministic
from rrpolicy.declarations import Role
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
    product = target.channel
    assert isinstance(product, Product)
    for name, attribute in target.policy.attributes.items():
        if attribute.role is Role.SENSITIVE and any(name in axis.attributes for axis in product.axes):
            yield from _attack_attribute(target, product, name)


def _attack_attribute(target: AttackTarget, product: Product, sensitive: str) -> Iterator[AttackResult]:
    found = split_axes(product, target.policy, sensitive)
    assert found.sensitive is not None
    axes = (*found.known, found.sensitive)
    knows = class_knowledge([name for axis in found.known for name in axis.attributes])
    if not all(map(is_deterministic, axes)):
        return  # no partition: what he knows, or the value, is randomised
    why = ""
    if not all(map(can_list_axes, axes)):
        why = "released values cannot be listed"
    elif len(found.sensitive.attributes) > 1:
        why = "it is released together with another attribute"
    elif joint_table_size(axes) > MAX_ATTACK_CELLS:
        why = TOO_LARGE
    if why:
        yield from (undecided_attack(name, sensitive, knows, why) for name in KNOWN_FACT_COUNTS)
        return
    counted = count_attack_cells(target, product, axes)
    predicted = counted.original
    for place, axis in enumerate(counted.axes):
        predicted = axis.forward(predicted, place)
    for name, facts in KNOWN_FACT_COUNTS.items():
        attained, expected = (most_frequent_count(x, facts) for x in (counted.released, predicted))
        blind = most_frequent_count(predicted.reshape(-1, predicted.shape[-1]).sum(axis=0), facts)
        yield exact_attack(target, name, sensitive, knows, attained, expected, blind)


def attack_groups(target: AttackTarget) -> Iterator[AttackResult]:
    """Run both attacks on the groups of a release of `anatomy`."""
    channel = target.channel
    assert isinstance(channel, AnatomyChannel)
    knows = class_knowledge([column.attribute for column in channel.known])
    expected, _ = groups_of(target.original.records, channel.size)
    if expected > MAX_GROUPS:
        for column in channel.sensitive:
            yield from (
                undecided_attack(name, column.attribute, knows, "too many groups") for name in KNOWN_FACT_COUNTS
            )
        return
    with ExitStack() as opened:
        qit, *values = (opened.enter_context(target.read(table.name)) for table in channel.tables())
        tables = read_released_tables(channel, target.original, qit, values)
    if isinstance(tables, str):
        raise RequirementError(Problem("RR125", f"{target.name}: {tables}"))
    for column, places in zip(channel.sensitive, tables.values, strict=True):
        counts = np.zeros((tables.groups, len(column.labels)))
        np.add.at(counts, (places.group, places.code), places.n)
        for name, facts in KNOWN_FACT_COUNTS.items():
            attained, blind = most_frequent_count(counts, facts), most_frequent_count(counts.sum(axis=0), facts)
            predicted = (facts + 1) * expected
            yield exact_attack(target, name, column.attribute, knows, attained, predicted, blind)


def most_frequent_count(counts: Array, facts: int) -> int:
    """Return the number of people with one of the most frequent values of their class.

    Args:
        counts: (…, values) records by class and value.
        facts: number of values known not to be a person's; one more than that are counted.
    """
    return round(float(np.sort(counts, axis=-1)[..., -(facts + 1) :].sum()))


def class_knowledge(names: list[str]) -> str:
    """Return the knowledge of an attacker who knows everybody's class, in words."""
    return f"the class of everybody, by {in_words(names) or 'nothing'}"


def exact_attack(  # noqa: PLR0917 each is another number
    target: AttackTarget, name: str, sensitive: str, knows: str, found: int, predicted: int, blind: int
) -> AttackResult:
    """Return an attack with a deterministic number.

    Args:
        target: the release.
        name: of the attack, one of `KNOWN_FACT_COUNTS`.
        sensitive: the attribute that is guessed.
        knows: the attacker's knowledge, without facts about persons.
        found: people whose value is guessed rightly, counted in the release.
        predicted: the same, from the original and the channel.
        blind: the same, without a release.
    """
    facts = KNOWN_FACT_COUNTS[name]
    knows += ", and of each person the most frequent value that is not theirs" if facts else ""
    outcome = AttackOutcome.AS_PREDICTED if found == predicted else AttackOutcome.NOT_AS_PREDICTED
    numbers = (target.original.records, found, predicted, predicted, predicted, float(found == predicted))
    return AttackResult(name, sensitive, knows, COUNTS, outcome, "", *numbers, EXACT_BASIS, float(blind))
