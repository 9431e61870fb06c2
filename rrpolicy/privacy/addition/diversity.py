"""l-diversity of released sets: no value is in more than one of l entries; and the posterior given a set.

A record releases a set of l distinct values. Among the entries of all sets of a group of records each value therefore
has a relative frequency of at most 1/l, whatever the group (Sei, Ohsuga). That bounds how often a value is *named*.
An attacker who knows the distribution given the quasi-identifiers weights the entries. The posterior of a record's
own value u is c_u / (c_u + sum of c over the others), with c the shares in the record's group, at worst with the l-1
rarest of the others. It is 1 where l-1 values do not occur in the group.

References:
    Sei, Ohsuga: randomised addition of sensitive values; Xiao, Tao 2006, "Anatomy", definition 2 (frequency).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.engine.arrays import as_numpy, typed_array, value_positions
from rrpolicy.finding import Basis, Companion, Finding, Measure, Profile
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.model import Assessor, Written, conclude, subgroup_obstacle
from rrpolicy.privacy.models.l_diversity import DiversityKind, LDiversity, LDiversityOptions
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.canonical_json import Value
    from rrpolicy.counts import Ints
    from rrpolicy.source.protocol import Original

REFERENCE = "Sei, Ohsuga: randomised addition; Xiao, Tao 2006, definition 2"
ADVERSARY = (
    "Knows a person's quasi-identifiers, reads the sets of all records that agree, and takes every entry for equally "
    "likely."
)
ENTRIES = "of all entries of the released sets of any group of records, no value has more than one in so many"
ALONE = "the same of this attribute by itself: combinations that differ in the other one may share its value"


class SetDiversity(Struct, frozen=True):
    """The l of one axis of sets for the attributes of an entry.

    Attributes:
        axis: the axis; None for an attribute that is not released as sets, for which l is 1.
        attributes: those of the entry that it releases.
        l: one over the largest relative frequency.
    """

    axis: Sets | None
    attributes: tuple[str, ...]
    l: Fraction


def assessors() -> tuple[Assessor, ...]:
    """Return the assessor for product channels with sets."""
    of_sets = (LDiversity.name, Product, (Axis,), Basis.CHANNEL, REFERENCE, assess, supports)
    return (Assessor(*of_sets, measure=measure, needs=(Sets,)),)


def supports(requirement: Requirement[LDiversityOptions], policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse every kind but frequency, and subgroups by unknown attributes."""
    del axes
    options = requirement.options
    if options.kind is not DiversityKind.FREQUENCY:
        return f'sets bound how often a value is listed: set kind = "frequency", not "{options.kind.value}"'
    known = {a.name for a in policy.with_role(Role.QUASI_IDENTIFIER)}
    return subgroup_obstacle(requirement, known, "which is not a quasi-identifier")


def assess(requirement: Requirement[LDiversityOptions], channel: Product, original: Original | int) -> Finding:
    """Return the frequency bound of the sets; with the original also the largest posterior."""
    from rrpolicy.privacy.epsilon.scope_loss import general_bound_measures

    records = original if isinstance(original, int) else original.records
    found = _diversity_by_axis(requirement, channel)
    posteriors: list[Companion] = []
    profile: Profile | None = None
    for each in found:
        if each.axis is not None and not isinstance(original, int):
            companions, spread = _largest_posterior(requirement, channel, original, each.axis)
            posteriors += companions
            profile = profile or spread
    further = (*posteriors, *general_bound_measures(channel, records))
    return _diversity_finding(requirement, channel, found, further, profile)


def measure(requirement: Requirement[LDiversityOptions], policy: Policy, channel: Product, written: Written) -> Finding:
    """Return the same for the written sets: each must have the guaranteed number of distinct values of its domain."""
    from rrpolicy.privacy.epsilon.scope_loss import general_bound_measures

    del policy
    records, least = _least_distinct(channel, written)
    found = [
        each
        if each.axis is None or least[each.axis.attributes] >= each.axis.set_size
        else SetDiversity(each.axis, each.attributes, Fraction(least[each.axis.attributes]))
        for each in _diversity_by_axis(requirement, channel)
    ]
    return _diversity_finding(requirement, channel, found, general_bound_measures(channel, records), None)


def _diversity_by_axis(requirement: Requirement[LDiversityOptions], channel: Product) -> list[SetDiversity]:
    """Return the l of each axis for the entry's attributes; of attributes that are combined, for combinations."""
    of_sets = {name: axis for axis in channel.axes if isinstance(axis, Sets) for name in axis.attributes}
    named = requirement.options.sensitive or tuple(of_sets)
    found: list[SetDiversity] = []
    for name in named:
        axis = of_sets.get(name)
        if axis is None:
            found.append(SetDiversity(None, (name,), Fraction(1)))
        elif not set(axis.attributes) <= set(named):
            found.append(SetDiversity(axis, (name,), single_attribute_diversity(axis, name)))
        elif all(each.axis is not axis for each in found):
            found.append(SetDiversity(axis, axis.attributes, Fraction(axis.set_size)))
    return found


def single_attribute_diversity(axis: Sets, attribute: str) -> Fraction:
    """Return one over the largest share of a set's entries that may have one value of an attribute."""
    own = next(len(d.labels) for d in axis.original if d.attribute == attribute)
    return Fraction(axis.set_size, min(axis.set_size, axis.original_size // own))


def _diversity_finding(
    requirement: Requirement[LDiversityOptions],
    channel: Product,
    found: Sequence[SetDiversity],
    companions: Sequence[Companion],
    profile: Profile | None,
) -> Finding:
    worst = min(each.l for each in found)
    joint = (" and ".join(f"'{name}'" for name in each.attributes) for each in found if len(each.attributes) > 1)
    together = "are taken together as one attribute: l counts combinations, not values of one of them."
    return conclude(
        requirement,
        Measure(float(worst)),
        worst >= requirement.options.l,
        Basis.CHANNEL,
        ADVERSARY,
        (*(f"{names} {together}" for names in joint), *scope_loss(channel).assumptions),
        (*_measures_by_axis(found), *companions),
        profile=profile,
    )


def _measures_by_axis(found: Sequence[SetDiversity]) -> Iterator[Companion]:
    for each in found:
        if len(found) > 1:
            of = " x ".join(each.attributes)
            yield Companion(f"frequency l of {of}", Measure(float(each.l)), Basis.CHANNEL, ENTRIES)
        if each.axis is not None and len(each.attributes) > 1:
            for name in each.attributes:
                bound = Measure(float(single_attribute_diversity(each.axis, name)))
                yield Companion(f"frequency l of {name} alone", bound, Basis.CHANNEL, ALONE)


def _largest_posterior(
    requirement: Requirement[LDiversityOptions], channel: Product, original: Original, axis: Sets
) -> tuple[tuple[Companion, ...], Profile | None]:
    """Return the largest posterior over the people of an entry, and for how many it is 1."""
    import numpy as np

    from rrpolicy.privacy.disclosure.inference_accuracy import largest_posteriors
    from rrpolicy.privacy.disclosure.risk import highest_risk_groups, risk_histograms, subgroup_mask
    from rrpolicy.privacy.evidence import gather_evidence, split_axes

    evidence = gather_evidence(original, split_axes(channel, original.policy, axis.attributes[0]))
    group, value = np.nonzero(subgroup_mask(evidence, requirement, None, ()))
    of = " x ".join(axis.attributes)
    worst, companions = largest_posteriors(evidence, group, value, of)
    if not len(worst):
        return companions, None
    people = evidence.histograms[group, value]
    before = people / evidence.n[group]
    top = highest_risk_groups(evidence, worst, people, group)
    return companions, risk_histograms(f"largest posterior of {of}", worst, before, people, top)


def _least_distinct(channel: Product, written: Written) -> tuple[int, dict[tuple[str, ...], int]]:
    """Return the number of written records, and the number of distinct values in the smallest set of each axis."""
    import numpy as np

    sets = [axis for axis in channel.axes if isinstance(axis, Sets)]
    least = {axis.attributes: axis.original_size for axis in sets}
    records = 0
    for batch in written.distinct("data"):
        records += int(as_numpy(batch.column(MULTIPLICITY)).sum())
        for axis in sets:
            held = [_label_positions(batch.column(c.name), c.spelled) for c in axis.columns()]
            owner = held[0][0]
            if any(len(other) != len(owner) or (other != owner).any() for other, _ in held):
                least[axis.attributes] = 0
                continue
            known = np.all([code >= 0 for _, code in held], axis=0)
            flat = owner
            for (_, code), column in zip(held, axis.columns(), strict=True):
                flat = flat * len(column.labels) + code
            distinct = np.unique(flat[known]) // axis.original_size
            sizes = np.bincount(distinct, minlength=batch.num_rows)
            least[axis.attributes] = min(least[axis.attributes], int(sizes.min(initial=axis.original_size)))
    return records, least


def _label_positions(lists: pa.Array, labels: Sequence[Value]) -> tuple[Ints, Ints]:
    """Return (entries,) the row of each entry and its position among the labels; -1 for other values."""
    import numpy as np
    import pyarrow.compute as pc

    entries = lists.flatten()
    code = value_positions(entries, typed_array(labels, entries.type))
    return as_numpy(pc.list_parent_indices(lists)).astype(np.int64), code
