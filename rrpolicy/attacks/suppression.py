"""A release in which records are suppressed: linkage, homogeneity and background knowledge, counted.

Nothing is drawn: of the n people of a combination alpha, k are in the release unmodified and m as `*`, so that each
number must equal that of the original and the plan.

*Linkage*: a record that shows alpha belongs to any of its n people, equally likely. An attacker who knows everybody
    sees that m of them are missing, and for a suppressed record names one of the combination whose people are likeliest
    suppressed. Right are

    sum over alpha of k / n + max over alpha of m / n

*Homogeneity*, *background knowledge*: the classes are the equal released records, including the suppressed ones.

References:
    Teng, Du 2006, section 3, for the chance that a record is a person's; the best guess instead of a drawn one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isclose
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.homogeneity import EXACT_BASIS, class_knowledge, exact_attacks, most_frequent_count
from rrpolicy.attacks.linkage import CORRECT_LINKS as LINKED
from rrpolicy.attacks.linkage import LINKAGE
from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.channels.suppression.channel import TABLE, SuppressionChannel
from rrpolicy.counts import number_rows
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.escaping.printable import quoted_list as in_words

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackTarget
    from rrpolicy.counts import Array, Codes, Counts, Ints


def attack_suppressed_release(target: AttackTarget) -> Iterator[AttackResult]:
    """Run the attacks on a release in which records are suppressed."""
    channel = target.channel
    assert isinstance(channel, SuppressionChannel)
    original = target.original.counts(*channel.attributes)
    expected = channel.released(target.original)
    with target.read(TABLE) as reader:
        written = channel.read(reader)
    if (written.codes < 0).any():
        raise RequirementError(Problem("RR125", f"{target.name}: a released value lies outside its domain"))
    sensitive = channel.sensitive.attribute
    names = [column.attribute for column in channel.known]
    yield _linkage_attack(target, names, *(expected_links(original, each) for each in (written, expected)))
    predicted = partial(most_frequent_count, count_by_class(expected))
    blind = count_by_class(original).sum(axis=0)
    yield from exact_attacks(target, sensitive, class_knowledge(names), count_by_class(written), predicted, blind)


def _linkage_attack(target: AttackTarget, names: list[str], found: float, predicted: float) -> AttackResult:
    same = isclose(found, predicted, rel_tol=1e-12)
    outcome = AttackOutcome.AS_PREDICTED if same else AttackOutcome.NOT_AS_PREDICTED
    knows = f"{in_words(names)} of everybody"
    numbers = (target.original.records, found, predicted, predicted, predicted, float(same))
    return AttackResult(LINKAGE, "", knows, LINKED, outcome, "", *numbers, EXACT_BASIS, 1.0)


def expected_links(original: Counts, released: Counts) -> float:
    """Return the expected right links of an attacker who names the likeliest person of each record."""
    people, n = _distinct_rows(original.codes[:, :-1], original.n)
    shown, k = _distinct_rows(released.codes[:, :-1], released.n)
    kept = dict(zip(map(tuple, shown.tolist()), k.tolist(), strict=True))
    left = np.array([kept.get(tuple(alpha), 0) for alpha in people.tolist()])
    return float((left / n).sum() + ((n - left) / n).max(initial=0.0))


def count_by_class(counts: Counts) -> Array:
    """Return (classes, values) the records of each value in classes of equal released records."""
    which, classes = number_rows(counts.codes[:, :-1].T, len(counts.n))
    found = np.zeros((classes, counts.shape[-1]))
    np.add.at(found, (which, counts.codes[:, -1]), counts.n)
    return found


def _distinct_rows(codes: Codes, n: Ints) -> tuple[Codes, Array]:
    rows, which = np.unique(codes, axis=0, return_inverse=True)
    records = np.zeros(len(rows))
    np.add.at(records, which.ravel(), n)
    return rows, records
