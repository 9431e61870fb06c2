"""Assessors of anatomy: the guarantees that its groups imply, and the attackers whom they do not cover.

A group has l different sensitive values or more, each once: l-diversity. An attacker who takes them for equally likely
is right once in l times. An attacker who also knows how the sensitive attribute depends on the quasi-identifiers is
right more often; `rrpolicy.privacy.anatomy.group_evidence` bounds how often, and attribute disclosure is about this
attacker alone (`rrpolicy.privacy.anatomy.disclosure`).

The quasi-identifiers are released unmodified: requirements on them are assessed for the unmodified columns. But each
group excludes the values that it does not contain, so that k is 1 and epsilon infinite.

References:
    Xiao, Tao 2006, "Anatomy", definitions 2 and 3, theorem 1, corollary 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import groups_of, largest_eligible
from rrpolicy.channels.base import Axis
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.declarations import Role
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.class_model import subgroup_attributes
from rrpolicy.privacy.model import Assessor, Written, conclude, subgroup_obstacle
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure
from rrpolicy.privacy.models.l_diversity import DiversityKind, LDiversity, LDiversityOptions

if TYPE_CHECKING:
    from rrpolicy.errors import Problem
    from rrpolicy.source.protocol import Original

REFERENCE = "Xiao, Tao 2006, definitions 2 and 3, corollary 1"
ADVERSARY = (
    "knows that a person is in the table, and the person's quasi-identifiers, and takes the sensitive values of the "
    "person's group for equally likely"
)
ONCE = "No value occurs more than once in a group, so every kind of l-diversity follows from a group's size."
UNIFORM = "the largest chance of the true value for who takes all values of a group for equally likely"
GROUPS = "groups into which the records are dealt"
RESIDUES = "records that remained after forming groups of l; each joined a group that lacked its value"
_EXCLUDING = {"k": 1.0, "1/k": 1.0, "epsilon, record scope": inf, "epsilon, attribute scope": inf}
"""The numbers that groups leave of k and epsilon."""
_LEAST = Fraction(1, 10**18)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of attribute disclosure, identity disclosure and l-diversity."""
    attribute, identity = attribute_disclosure.DISCLOSURE_MODEL, identity_disclosure.DISCLOSURE_MODEL
    return (
        Assessor(
            *(attribute.name, AnatomyChannel, (), Basis.ORIGINAL, attribute.reference),
            *(_attribute_finding, _attribute_obstacle),
            attained=_attained_posteriors,
            estimates=True,
            adversary=attribute.adversary,
            assumptions=attribute.assumptions,
            least=_unreachable_limit,
        ),
        Assessor(
            *(identity.name, AnatomyChannel, (), Basis.ORIGINAL, identity.reference, _linkage_finding, _obstacle),
            adversary=identity.adversary,
            assumptions=identity.assumptions,
        ),
        Assessor(
            *(LDiversity.name, AnatomyChannel, (), Basis.CHANNEL, REFERENCE, _diversity_finding, _obstacle),
            measure=_written_diversity,
            attained=_attained_posteriors,
        ),
    )


def _obstacle(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse subgroups by unknown attributes."""
    del axes
    return subgroup_obstacle(requirement, subgroup_attributes(policy), "which does not identify a subgroup")


def _attribute_obstacle(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    if requirement.options.known_sensitive and len(policy.with_role(Role.SENSITIVE)) > 1:
        return "`known_sensitive`: nothing bounds what who knows one of two dealt values concludes of the other"
    return attribute_disclosure.DISCLOSURE_MODEL.supports(requirement, policy, axes)


def _attribute_finding(requirement: Requirement, channel: AnatomyChannel, original: Original) -> Finding:
    from rrpolicy.privacy.anatomy import disclosure

    return disclosure.assess(requirement, channel, original, _group_measures(channel, original.records))


def _unreachable_limit(requirement: Requirement, channel: AnatomyChannel, original: Original) -> Problem | None:
    from rrpolicy.privacy.anatomy import disclosure

    return disclosure.unreachable_limit(requirement, channel, original)


def _linkage_finding(requirement: Requirement, channel: AnatomyChannel, original: Original) -> Finding:
    """Return the finding for the unmodified columns: groups guarantee neither k nor epsilon."""
    (of_product,) = identity_disclosure.IdentityDisclosure().assessors()
    found = of_product.assess(requirement, channel.untouched(), original)
    companions = (
        replace(c, measure=replace(c.measure, value=_EXCLUDING.get(c.name, c.measure.value))) for c in found.companions
    )
    return replace(found, companions=tuple(companions))


def _attained_posteriors(channel: AnatomyChannel, original: Original, written: Written) -> Finding | None:
    from rrpolicy.privacy.anatomy.empirical import posterior_finding

    return posterior_finding(channel, original, written)


def _written_diversity(requirement: Requirement, policy: Policy, channel: AnatomyChannel, written: Written) -> Finding:
    """Return the finding of before the draw if the written groups satisfy the definition; else a failing one."""
    from rrpolicy.privacy.anatomy.empirical import empirical_diversity

    del policy
    records, share = empirical_diversity(channel, written)
    planned = _diversity_finding(requirement, channel, records)
    if share is None:
        return planned
    return replace(planned, achieved=Measure(round_down(1 / max(share, _LEAST))), verdict=Verdict.FAILED)


def _diversity_finding(
    requirement: Requirement[LDiversityOptions], channel: AnatomyChannel, original: Original | int
) -> Finding:
    """Return the l-diversity of groups of l different values, also of its other kinds."""
    options, size = requirement.options, smallest_group(channel, original)
    if options.kind is DiversityKind.RECURSIVE:
        rest = size - int(options.l) + 1
        achieved = round_up(Fraction(1, rest)) if rest > 0 else inf
        holds = rest > 0 and options.limit * rest > 1
    else:
        achieved, holds = float(size), size >= options.l
    records = original if isinstance(original, int) else original.records
    companions, profile = _group_measures(channel, records), None
    if not isinstance(original, int) and holds:
        from rrpolicy.privacy.anatomy.group_evidence import informed_posterior

        for name in requirement.protects(original.policy):
            further, spread = informed_posterior(requirement, channel, original, name)
            companions += further
            profile = profile or spread
    return conclude(
        requirement,
        Measure(achieved, _size_certainty(channel, records)),
        holds,
        Basis.CHANNEL,
        ADVERSARY,
        (ONCE,),
        companions,
        model=f"{requirement.model}/{options.kind.value}",
        profile=profile,
    )


def smallest_group(channel: AnatomyChannel, original: Original | int) -> int:
    """Return the size of the smallest group: l; for a table that is not eligible, the largest eligible l."""
    if isinstance(original, int):
        return channel.size
    counts = (original.counts(column.attribute).dense().tolist() for column in channel.sensitive)
    return min(channel.size, *map(largest_eligible, counts))


def _group_measures(channel: AnatomyChannel, records: int) -> tuple[Companion, ...]:
    groups, residues = groups_of(records, channel.size)
    share = Measure(round_up(Fraction(1, channel.size)), _size_certainty(channel, records))
    return (
        Companion("1/l", share, Basis.CHANNEL, UNIFORM),
        Companion("groups", Measure(float(groups)), Basis.CHANNEL, GROUPS),
        Companion("residues", Measure(float(residues)), Basis.CHANNEL, RESIDUES),
    )


def _size_certainty(channel: AnatomyChannel, records: int) -> Standing:
    """Return whether some group has exactly l: with fewer groups than residues each may have one more."""
    groups, residues = groups_of(records, channel.size)
    return Standing.EXACT if groups > residues else Standing.UPPER_BOUND
