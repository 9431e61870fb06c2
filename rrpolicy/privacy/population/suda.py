"""Special uniques: the fewest attributes that single a record out (SUDA2), and the risk of a match (DIS-SUDA).

A set of attributes is a sample unique of a record if no other record has its values in it, and minimal (an MSU) if no
proper subset is one. With A attributes and MSUs of at most M of them, an MSU of k attributes scores

    w(k) = prod over i = k … min(M, A - 1) of (A - i)

which is (A - k)! if all sizes are examined. A record's score is the sum over its MSUs, and an attribute's part the sum
over those that contain it, so that parts sum to more than the whole.

With U uniques in all attributes, P records in pairs and the sampling fraction pi, DIS = pi U/(pi U + (1 - pi) P) is the
probability that a unique match is right, and DIS-SUDA divides it among the records by s^Q, Q = 1 + (8 - A)/20:

    1/(1 + (U/DIS - U)/(s^Q sum_j s_j^-Q))

References:
    Elliot, Manning, Ford 2002, "A Computational Algorithm for Handling the Special Uniques Problem"; Elliot, Manning,
    Mayes, Gurd, Bane 2005, "SUDA: A Program for Detecting Special Uniques" (scores, DIS-SUDA); Manning, Haglin, Keane
    2008, "A recursive search algorithm for statistical disclosure assessment" (SUDA2); Skinner, Elliot 2002, "A
    measure of disclosure risk for microdata" (DIS).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.finding import VALUE, Measure, Standing
from rrpolicy.privacy.population.attackers import PROSECUTOR_ADVERSARY
from rrpolicy.privacy.population.unlimited_measures import measure_finding, related_number

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.finding import Companion, Finding
    from rrpolicy.privacy.classes.histograms import Mask

REFERENCE = "Elliot et al. 2005; Manning, Haglin, Keane 2008"
_DENSE = 4
"""Multiple of the rows up to which codes are counted without a sort."""


class DistinctCombinations(Struct, frozen=True):
    """The distinct combinations of a table's attributes.

    Attributes:
        codes: (combinations, attributes) positions of the values among the attribute's.
        n: (combinations,) records with each.
        names: names of the attributes.
        values: for each attribute, the text of its values.
    """

    codes: Ints
    n: Ints
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def uniques(self) -> Ints:
        """Return the combinations of a single record."""
        return np.flatnonzero(self.n == 1)


class SpecialUniques(Struct, frozen=True):
    """The minimal sample uniques of the records with a unique combination; no other record has one.

    Attributes:
        score: (uniques,) of each.
        parts: (uniques, attributes) of the score, from the MSUs that contain an attribute.
        sizes: (most,) MSUs of 1, 2, … attributes.
    """

    score: Array
    parts: Array
    sizes: Ints


def find_special_uniques(found: DistinctCombinations, most: int) -> SpecialUniques:
    """Find the minimal sample uniques of at most `most` attributes, and score them."""
    width, alone = found.codes.shape[1], found.uniques
    score, parts = np.zeros(len(alone)), np.zeros((len(alone), width))
    sizes = np.zeros(most, dtype=np.int64)
    unique: dict[tuple[int, ...], Mask] = {}
    for size in range(1, most + 1):
        weight = float(math.prod(width - i for i in range(size, min(most, width - 1) + 1)))
        before, unique = unique, {}
        for places in combinations(range(width), size):
            single = _is_single(found, places)[alone]
            unique[places] = single
            minimal = single.copy()
            for less in combinations(places, size - 1) if size > 1 else ():
                minimal &= ~before[less]
            score[minimal] += weight
            parts[np.ix_(minimal, np.array(places))] += weight
            sizes[size - 1] += int(minimal.sum())
    return SpecialUniques(score, parts, sizes)


def dis_suda(score: Array, width: int, uniques: int, paired: int, fraction: Fraction) -> Array:
    """Return (uniques,) the probability that a match is right, 0 without an MSU, for (uniques,) scores.

    The arguments are A, U, P and pi in (0, 1].
    """
    pi, q = float(fraction), 1 + (8 - width) / 20
    right = pi * uniques / (pi * uniques + (1 - pi) * paired)
    powered = score[score > 0] ** q
    found = np.zeros(len(score))
    found[score > 0] = 1 / (1 + (uniques / right - uniques) / (powered * (1 / powered).sum()))
    return found


def suda_finding(found: DistinctCombinations, most: int, fraction: Fraction | None, assumption: str) -> Finding:
    """Return the finding on special uniques of a table, with MSUs of at most `most` attributes.

    `fraction` is the share of the population that is in the table, under the assumption; None if unknown.
    """
    special = find_special_uniques(found, most)
    highest = Measure(float(special.score.max(initial=0.0)))
    with_one = int((special.score > 0).sum())
    companions = [related_number("records with one", with_one, f"with a unique in {most} attributes at most")]
    for size, n in enumerate(special.sizes.tolist(), 1):
        meaning = f"minimal sample uniques of so many attributes ({size}), over all records"
        companions.append(related_number(f"uniques of {size}", n, meaning))
    companions += _score_contributions(found, special)
    if fraction is not None and len(special.score):
        paired = 2 * int((found.n == 2).sum())  # noqa: PLR2004 pairs
        likely = dis_suda(special.score, found.codes.shape[1], len(special.score), paired, fraction)
        meaning = "probability that a match with a unique record is right"
        companions += [
            related_number("DIS-SUDA, highest", likely.max(), meaning, Standing.ESTIMATE),
            related_number("DIS-SUDA, average", likely.mean(), f"{meaning}, over unique records", Standing.ESTIMATE),
        ]
    assumed = () if fraction is None else (assumption,)
    quantity = f"highest score over minimal sample uniques of {most} attributes at most"
    return measure_finding("suda2", quantity, highest, PROSECUTOR_ADVERSARY, assumed, companions, REFERENCE)


def _score_contributions(found: DistinctCombinations, special: SpecialUniques) -> Iterator[Companion]:
    """Yield the share of the total score by attribute, and of an attribute's score by value."""
    total, by_attribute = special.score.sum(), special.parts.sum(axis=0)
    if not total:
        return
    codes = found.codes[found.uniques]
    whole = "share of the sum of all scores that comes from uniques with this attribute; shares add up to more than one"
    level = "share of what the attribute contributes that records with this value do"
    for place, name in enumerate(found.names):
        yield related_number("contribution", by_attribute[place] / total, whole, of=name)
        if not by_attribute[place]:
            continue
        by_value = np.bincount(codes[:, place], weights=special.parts[:, place], minlength=len(found.values[place]))
        for value, part in zip(found.values[place], by_value, strict=True):
            if part:
                yield related_number("contribution", part / by_attribute[place], level, of=f"{name}{VALUE}{value}")


def _is_single(found: DistinctCombinations, places: Sequence[int]) -> Mask:
    """Return (combinations,) whether only one record has a combination's values in some attributes."""
    key = np.zeros(len(found.n), dtype=np.int64)
    span = 1
    for place in places:
        size = len(found.values[place])
        if span * size >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            span = int(key.max(initial=0)) + 1
        key, span = key * size + found.codes[:, place], span * size
    if span > _DENSE * len(key) + 1:
        _, key = np.unique(key, return_inverse=True)
    records = np.bincount(key, weights=found.n)
    mask: Mask = records[key] == 1
    return mask
