"""What groups of dealt records guarantee by their definition, and what they leave open.

A group has l different sensitive values or more, each once: l-diversity. Who takes them all for equally likely is right
once in so many times. Who also knows how the sensitive attribute goes with the quasi-identifiers is right more often;
how often at most stands beside l-diversity, see `rrpolicy.privacy.anatomy.related_measures`, and attribute disclosure
speaks of nobody else, see `rrpolicy.privacy.anatomy.disclosure`.

The quasi-identifiers stand in the release as they are: what is asked of them is answered for the untouched columns. But
every group excludes the values that it does not hold, so that whatever is said of those columns, k is 1 and epsilon
infinite.

References:
    Xiao, Tao 2006, "Anatomy", definitions 2 and 3, theorem 1, corollary 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import groups_of, largest_eligible
from rrpolicy.channels.base import Axis
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.declarations import Role
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.class_model import subgroup_attributes
from rrpolicy.privacy.model import (
    Assessor,
    Written,
    conclude,
    subgroup_obstacle,
)
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure
from rrpolicy.privacy.models.k_anonymity import KAnonymity
from rrpolicy.privacy.models.l_diversity import DiversityKind, LDiversity, LDiversityOptions

if TYPE_CHECKING:
    from rrpolicy.errors import Problem
    from rrpolicy.source.protocol import Original

REFERENCE = "Xiao, Tao 2006, definitions 2 and 3, corollary 1"
ADVERSARY = (
    "knows that a person is in the table, and the person's quasi-identifiers, and takes the sensitive values of the "
    "person's group for equally likely"
)
ONCE = "No value stands more than once in a group, so that every kind of l-diversity follows from a group's size."
UNIFORM = "the largest chance of the true value for who takes all values of a group for equally likely"
GROUPS = "groups into which the records are dealt"
RESIDUES = "records that were left when the others stood in groups of l; each joined a group that lacked its value"


def l_diversity_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of l-diversity."""

    def measure(requirement: Requirement, policy: Policy, channel: AnatomyChannel, written: Written) -> Finding:
        """Return the finding that went before the draw if the written groups are such groups; else a failing one."""
        from rrpolicy.privacy.anatomy.empirical import empirical_diversity

        del policy
        records, share = empirical_diversity(channel, written)
        planned = _diversity_finding(requirement, channel, records)
        if share is None:
            return planned
        worst = Measure(round_down(1 / max(share, _LEAST)))
        return replace(planned, achieved=worst, verdict=Verdict.FAILED)

    return (
        Assessor(
            *(LDiversity.name, AnatomyChannel, (), Basis.CHANNEL, REFERENCE, _diversity_finding, supports),
            measure=measure,
            attained=_measured_posteriors,
        ),
    )


def attribute_disclosure_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of attribute disclosure."""

    def assess(requirement: Requirement, channel: AnatomyChannel, original: Original) -> Finding:
        from rrpolicy.privacy.anatomy import disclosure, guess_bounds

        assess = guess_bounds.assess if requirement.options.measure.guessed else disclosure.assess
        return assess(requirement, channel, original, _assignment_assumptions(channel, original.records))

    def least(requirement: Requirement, channel: AnatomyChannel, original: Original) -> Problem | None:
        from rrpolicy.privacy.anatomy import guess_bounds

        return (
            guess_bounds.unreachable_limit(requirement, channel, original)
            if requirement.options.measure.guessed
            else None
        )

    model = attribute_disclosure.DISCLOSURE_MODEL

    def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        if requirement.options.known_sensitive and len(policy.with_role(Role.SENSITIVE)) > 1:
            return "`known_sensitive`: nothing bounds what who knows one of two dealt values concludes of the other"
        return model.supports(requirement, policy, axes)

    return (
        Assessor(
            *(model.name, AnatomyChannel, (), Basis.ORIGINAL, model.reference, assess, supports),
            attained=_measured_posteriors,
            estimates=True,
            adversary=model.adversary,
            assumptions=model.assumptions,
            least=least,
        ),
    )


def identity_disclosure_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of identity disclosure: of the columns that stand beside a group's number, as they are."""
    return tuple(_for_unrandomised_columns(assessor) for assessor in identity_disclosure.assessors())


def k_anonymity_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of k-anonymity: of the columns that stand beside a group's number, as they are."""
    return (_for_unrandomised_columns(KAnonymity().assessors()[0]),)


def _for_unrandomised_columns(of: Assessor) -> Assessor:
    """Return what decides for the untouched columns what another assessor does for product channels."""

    def assess(requirement: Requirement, channel: AnatomyChannel, original: Original) -> Finding:
        return _without_k_and_epsilon(of.assess(requirement, channel.untouched(), original))

    return Assessor(
        *(of.model, AnatomyChannel, (), of.basis, of.reference, assess, supports),
        adversary=of.adversary,
        assumptions=of.assumptions,
    )


_EXCLUDING = {"k": 1.0, "1/k": 1.0, "epsilon, record scope": inf, "epsilon, attribute scope": inf}


def _without_k_and_epsilon(finding: Finding) -> Finding:
    """Return a finding of the untouched columns with what groups leave of k and epsilon: nothing."""
    companions = (
        replace(c, measure=Measure(_EXCLUDING.get(c.name, c.measure.value), c.measure.standing, c.measure.error))
        for c in finding.companions
    )
    return replace(finding, companions=tuple(companions))


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse subgroups by what is not taken to be known."""
    del axes
    return subgroup_obstacle(requirement, subgroup_attributes(policy), "by which no subgroup can be told")


def _measured_posteriors(channel: AnatomyChannel, original: Original, written: Written) -> Finding | None:
    """Return the posterior of everybody on the written groups."""
    from rrpolicy.privacy.anatomy.exact_posteriors import posterior_measures

    return posterior_measures(channel, original, written)


_LEAST = Fraction(1, 10**18)


def _diversity_finding(
    requirement: Requirement[LDiversityOptions], channel: AnatomyChannel, original: Original | int
) -> Finding:
    """Return what l-diversity groups of l different values have, and of l-diversity's other kinds."""
    options = requirement.options
    size = smallest_group(channel, original)
    if options.kind is DiversityKind.RECURSIVE:
        rest = size - int(options.l) + 1
        achieved = round_up(Fraction(1, rest)) if rest > 0 else float("inf")
        holds = rest > 0 and options.limit * rest > 1
    else:
        achieved, holds = float(size), size >= options.l
    records = original if isinstance(original, int) else original.records
    companions: tuple[Companion, ...] = _assignment_assumptions(channel, records)
    profile = None
    if not isinstance(original, int) and holds:
        from rrpolicy.privacy.anatomy.related_measures import correlation_posterior

        for name in requirement.protects(original.policy):
            further, spread = correlation_posterior(requirement, channel, original, name)
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
    """Return the size of the smallest group: l; of a table that is not eligible, the largest l for which it is."""
    if isinstance(original, int):
        return channel.size
    counts = (original.counts(column.attribute).dense().tolist() for column in channel.sensitive)
    return min(channel.size, *map(largest_eligible, counts))


def _assignment_assumptions(channel: AnatomyChannel, records: int) -> tuple[Companion, ...]:
    groups, residues = groups_of(records, channel.size)
    share = Measure(round_up(Fraction(1, channel.size)), _size_certainty(channel, records))
    return (
        Companion("1/l", share, Basis.CHANNEL, UNIFORM),
        Companion("groups", Measure(float(groups)), Basis.CHANNEL, GROUPS),
        Companion("residues", Measure(float(residues)), Basis.CHANNEL, RESIDUES),
    )


def _size_certainty(channel: AnatomyChannel, records: int) -> Standing:
    """Return whether some group has no more than l: with fewer groups than residues each might have got one."""
    groups, residues = groups_of(records, channel.size)
    return Standing.EXACT if groups > residues else Standing.UPPER_BOUND
