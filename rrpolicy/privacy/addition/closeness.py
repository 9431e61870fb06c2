"""t-closeness of released sets: the distance of the posterior given a set from the distribution of the whole table.

A record of group alpha that releases the set R has the value u with the posterior

    p(u | alpha, R) = c_u / (sum of c_w over w in R)    for u in R,

with c the shares of the values in the group (uniform addition: all sets that contain a value are equally likely from
it). The finding is the largest distance of p from the shares q of the whole table, over all groups and possible sets.

The sets to examine. Values that do not occur in the group have weight 0: only the values T of R that do occur matter.
Of S values s occur, so that T has between k = max(1, l - (S - s)) and min(l, s) of them. The posterior on T is the
mixture, with weights in proportion to c(T'), of those on its subsets T' of k values, and a distance is convex in p (Li
et al. 2007, section 3). The largest is therefore found on k values. By the same mixture subsets of fewer values give an
upper bound, which is reported as one if there are too many subsets of k values to list.

The posterior lies on R: whatever the group, the variational distance is at least 1 - q(R).

References:
    Li, Li, Venkatasubramanian 2007, "t-Closeness", definition 2, sections 3 and 4; Sei, Ohsuga: randomised addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import ceil, comb
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis
from rrpolicy.channels.probability import round_up
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import Problem
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing
from rrpolicy.frozen import replace
from rrpolicy.numbers import fixed_number, plain_number
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.class_model import subgroup_attributes
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.model import Assessor, conclude, subgroup_obstacle
from rrpolicy.privacy.models.t_closeness import TCloseness, TClosenessOptions

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.protocol import Original

REFERENCE = "Li, Li, Venkatasubramanian 2007, definition 2, sections 3 and 4; Sei, Ohsuga: randomised addition"
ADVERSARY = (
    "Knows which released record is a person's, the person's quasi-identifiers, and how often each sensitive value "
    "goes with them; reads the record's set, and everything else that is released of it."
)
REVEALED = "The other sensitive attributes, with sets in the same record, are assumed known: {}."
OF_ONE = (
    "largest distance, over groups and sets, between the distribution that a set implies and that of the whole table"
)
UNSEEN = (
    "the same for sets of all values: the distance due to quasi-identifiers and unchanged insensitive columns, "
    "which no set lowers"
)
LEAST = (
    "lower bound of the variational distance for any groups: 1 minus the share, in the whole table, of the values "
    "of the set with the rarest value"
)
DIGITS = 10**6
"""Parts of 1 to which a reachable distance is rounded up."""
MOST_SETS = 1 << 20
"""The most sets that are listed for all groups with equally many values together."""
_CHUNK = 1 << 20


class SetDistances(Struct, frozen=True):
    """Distances of the posteriors of one attribute.

    Attributes:
        attribute: its name.
        measure: the largest distance with its standing.
        largest: the same, exactly.
        over: (groups,) those with a set that may exceed the limit.
        people: (groups,) in each group.
        revealed: attributes that count as known.
        unseen: the largest distance of a group's own shares, of people who agree in the quasi-identifiers and in the
            unmodified insensitive columns.
        floor: the least variational distance of sets of this size; None if unknown.
    """

    attribute: str
    measure: Measure
    largest: Fraction
    over: Mask
    people: Ints
    revealed: tuple[str, ...]
    unseen: Fraction
    floor: Fraction | None


def assessors() -> tuple[Assessor, ...]:
    """Return the assessor for product channels with sets and unmodified columns."""
    of_sets = (TCloseness.name, Product, (Identity, Sets), Basis.ORIGINAL, REFERENCE, assess, supports)
    return (Assessor(*of_sets, needs=(Sets,), adversary=ADVERSARY, monotone=True, least=unreachable_t),)


def supports(requirement: Requirement[TClosenessOptions], policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse other axes, and subgroups by unknown attributes."""
    other = sorted({axis.kind for axis in axes if not issubclass(axis, (Identity, Sets))})
    if other:
        return f"this needs all other columns released unchanged, and {', '.join(other)} axes are not"
    return subgroup_obstacle(requirement, subgroup_attributes(policy), "which does not identify a group")


def assess(requirement: Requirement[TClosenessOptions], channel: Product, original: Original) -> Finding:
    """Return the largest distance of each protected attribute; the worst decides."""
    limit = requirement.options.t
    found = [_set_distances(requirement, channel, original, name) for name in requirement.protects(original.policy)]
    worst = max(found, key=lambda each: each.largest)
    achieved = worst.measure
    if worst.largest == limit:  # the limit rounded up would look like a larger number
        achieved = replace(achieved, value=float(limit))
    revealed = dict.fromkeys(name for each in found for name in each.revealed)
    assumed = (REVEALED.format(", ".join(f"'{name}'" for name in revealed)),) if revealed else ()
    return conclude(
        requirement,
        achieved,
        worst.largest <= limit,
        Basis.ORIGINAL,
        ADVERSARY,
        (*scope_loss(channel).assumptions, *assumed),
        tuple(_related_measures(requirement.options, found)),
        groups_over=int(worst.over.sum()),
        people_over=int(worst.people[worst.over].sum()),
        reference=REFERENCE,
    )


def unreachable_t(requirement: Requirement[TClosenessOptions], channel: Product, original: Original) -> Problem | None:
    """Return why no set size satisfies t (RR570): a group's own shares are farther; None if one may."""
    options = requirement.options
    for name in requirement.protects(original.policy):
        evidence = _attacker_evidence(channel, original, name, others=False)
        apart, over, _ = _largest_distances(requirement, evidence, original, name, None)
        if apart <= options.t:
            continue
        people = int(evidence.n[over].sum())
        least = ceil(apart * DIGITS) / DIGITS
        limit = plain_number(float(options.t))
        message = (
            f"no sets of '{name}' bring the {options.distance.value} distance under {limit}: the shares "
            f"of a group are {fixed_number(least, 6)} from those of the whole table, and sets of all values do not "
            f"change this"
            f"; {int(over.sum()):,} of {len(over):,} groups with {people:,} people are over t"
        )
        hint = "coarsen the quasi-identifiers, choose a mechanism that hides them too, or raise t to that distance"
        return Problem("RR570", message, requirement.place, f"t of at least {fixed_number(least, 6)}", hint)
    return None


def _set_distances(
    requirement: Requirement[TClosenessOptions], channel: Product, original: Original, name: str
) -> SetDistances:
    evidence = _attacker_evidence(channel, original, name, others=True)
    unread = _attacker_evidence(channel, original, name, others=False)
    axis = evidence.sensitive
    size = axis.set_size if isinstance(axis, Sets) else 1
    largest, over, listed = _largest_distances(requirement, evidence, original, name, size)
    unseen, *_ = _largest_distances(requirement, unread, original, name, None)
    standing = Standing.EXACT if listed and not evidence.revealed else Standing.UPPER_BOUND
    variational = evidence.part is None and not requirement.options.distance.placed
    floor = _smallest_distance(evidence, size) if variational else None
    measure = Measure(round_up(largest), standing)
    return SetDistances(name, measure, largest, over, evidence.n, evidence.revealed, unseen, floor)


def _related_measures(options: TClosenessOptions, found: Sequence[SetDistances]) -> Iterator[Companion]:
    for each in found:
        of = f"{options.distance.value} t of {each.attribute}"
        if len(found) > 1:
            yield Companion(of, each.measure, Basis.ORIGINAL, OF_ONE)
        yield Companion(f"{of}, sets of all values", Measure(round_up(each.unseen)), Basis.ORIGINAL, UNSEEN)
        if each.floor is not None:
            yield Companion(f"least {of}, sets so large", Measure(float(each.floor)), Basis.ORIGINAL, LEAST)


def _attacker_evidence(channel: Product, original: Original, name: str, *, others: bool) -> Evidence:
    """Return the groups; with the other sensitive attributes known, unless one is hidden together with them."""
    from rrpolicy.privacy.evidence import gather_evidence, split_axes

    known = replace(split_axes(channel, original.policy, name, known_sensitive=others), siblings=())
    assert known.sensitive is not None
    sizes = [len(original.policy.attributes[a].domain or ()) for a in known.sensitive.attributes]
    return gather_evidence(original, known).of(name, sizes)


def _smallest_distance(evidence: Evidence, size: int) -> Fraction:
    """Return 1 - q(R) for the set R of the rarest values, of which at least one occurs: the least possible distance."""
    whole = sorted(int(n) for n in evidence.histograms.sum(axis=0))
    rarest, occurring = whole[:size], next(n for n in whole if n)
    return 1 - Fraction(sum(rarest) or occurring, evidence.records)


def _largest_distances(
    requirement: Requirement[TClosenessOptions], evidence: Evidence, original: Original, name: str, size: int | None
) -> tuple[Fraction, Mask, bool]:
    """Return the largest distance, (groups,) which may exceed t, and whether all sets that matter were listed.

    `size` is l; None for sets of all values.
    """
    import numpy as np

    from rrpolicy.privacy.cells import distinct_row_index
    from rrpolicy.privacy.classes.histograms import Histograms, largest_ratio, ratio_at_most
    from rrpolicy.privacy.disclosure.risk import subgroup_mask

    options, hierarchy = requirement.options, original.policy.attributes[name].hierarchy
    cells, whole = evidence.joint, evidence.histograms.sum(axis=0)
    part = np.arange(cells.shape[1]) if evidence.part is None else evidence.part
    rows = np.flatnonzero(np.any(subgroup_mask(evidence, requirement, None, ()), axis=1))
    first, alike = distinct_row_index(cells[rows])
    distinct = cells[rows][first]
    occur = np.count_nonzero(distinct, axis=1)
    worst, listed, beyond = Fraction(0), True, np.zeros(len(distinct), dtype=bool)
    for many in np.unique(occur).tolist():
        here = np.flatnonzero(occur == many)
        least = many if size is None else max(1, size - (cells.shape[1] - many))
        taken = next(k for k in range(least, 0, -1) if k == 1 or comb(many, k) * len(here) <= MOST_SETS)
        listed &= taken == least
        subsets = np.fromiter(chain.from_iterable(combinations(range(many), taken)), dtype=np.int64)
        subsets = subsets.reshape(-1, taken)
        step = max(1, _CHUNK // subsets.size)
        for low in range(0, len(here), step):
            some = here[low : low + step]
            values = np.nonzero(distinct[some])[1].reshape(len(some), many)[:, subsets]
            n = np.take_along_axis(distinct[some][:, None, :], values, axis=2).reshape(-1)
            sets = len(some) * len(subsets)
            group = np.repeat(np.arange(sets), taken)
            held = Histograms.of_cells(group, part[values].reshape(-1), n, classes=sets, values=len(whole))
            apart = options.distance.of(replace(held, beyond=whole), hierarchy)
            worst = max(worst, largest_ratio(*apart, np.ones(sets, dtype=bool)) or Fraction(0))
            beyond[some] = ~ratio_at_most(*apart, options.t).reshape(len(some), -1).all(axis=1)
    over = np.zeros(len(cells), dtype=bool)
    over[rows] = beyond[alike]
    return worst, over, listed
