"""t-closeness: the sensitive values of every class are distributed nearly as those of the whole release.

The release is what is released: suppressed records do not count. Distances are defined in
`rrpolicy.privacy.classes.distance`.

References:
    Li, Li, Venkatasubramanian 2007, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", definition 2, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rrpolicy.canonical import Value, exact
from rrpolicy.channel.probability import round_up
from rrpolicy.finding import Finding, Measure
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.assessor import Outcome, Words, assessor, conclude
from rrpolicy.privacy.model import Assessor, Order, PerClass
from rrpolicy.privacy.models.sensitive import not_sensitive, targets

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Integers, Mask
    from rrpolicy.source.counts import Ints

NAME = "t-closeness"
REFERENCE = "Li, Li, Venkatasubramanian 2007, definition 2, section 4"
NOT_COVERED = (
    "Finding somebody's record: it bounds what a class tells of the sensitive attribute alone.",
    "What the distribution of the whole release tells of everybody.",
    "Adversaries who know another sensitive attribute, or more than what is released beside the sensitive ones.",
)
Levels = Sequence[Sequence[Value]]


class Distance(StrEnum):
    """How far two sensitive values are from each other."""

    VARIATIONAL = "variational"
    ORDERED = "ordered"
    HIERARCHICAL = "hierarchical"


class Options(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        t: the largest distance of a class from the whole release, in [0, 1].
        distance: variational (all values equally far), ordered (by place in the domain), or hierarchical (by the
            attribute's hierarchy).
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    t: Annotated[Rational, Field(description="the largest distance of a class from the whole release, in [0, 1]")]
    distance: Annotated[Distance, Field(description="how far two values are from each other")] = Distance.VARIATIONAL
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()

    @field_validator("t")
    @classmethod
    def _distance(cls, t: Fraction) -> Fraction:
        if not 0 <= t <= 1:
            raise ValueError("t lies in [0, 1]")
        return t


class TCloseness:
    """The privacy model `t-closeness`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED

    def describe(self, options: Options) -> str:
        """Return such as `variational distance <= 1/5`, with the attributes where the entry names them."""
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return f"{options.distance.value} distance <= {exact(options.t)}{of}"

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive, have no order, or no hierarchy, where the distance needs it."""
        names = targets(options.sensitive, policy)
        reason = not_sensitive(names, policy)
        if reason is not None:
            return reason
        for name in names:
            attribute = policy.attributes[name]
            if options.distance is Distance.ORDERED and attribute.scale == "nominal" and attribute.bins is None:
                return f"the values of '{name}' have no order; say `scale = \"ordinal\"` if they have"
            if options.distance is Distance.HIERARCHICAL and attribute.hierarchy is None:
                return f"'{name}' has no hierarchy"
        return None

    def compare(self, old: Options, new: Options) -> Order:
        """Compare t: the smaller is stronger; other distances or attributes are incomparable."""
        if (old.distance, old.sensitive) != (new.distance, new.sensitive):
            return Order.INCOMPARABLE
        if new.t == old.t:
            return Order.EQUAL
        return Order.STRONGER if new.t < old.t else Order.WEAKER


def words(distance: Distance) -> Words:
    """Return how a distance speaks of itself."""
    meaning = "distance of the sensitive values from those of the whole release, in the class where it is largest"
    return Words(NAME, f"{distance.value} t", meaning, REFERENCE, least=False)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (assessor(NAME, REFERENCE, find=find, limit=_limit, sensitive=_sensitive, per_class=per_class),)


def distances(distance: Distance, histograms: Histograms, hierarchy: Levels | None) -> tuple[Integers, Integers]:
    """Return (classes,) numerators and denominators of each class's distance from the whole release.

    Args:
        distance: which.
        histograms: of all released classes; for `ordered` the values in their order.
        hierarchy: for `hierarchical`: the levels of the values, level 0 first.
    """
    from rrpolicy.privacy.classes import distance as emd

    if distance is Distance.ORDERED:
        return emd.ordered(histograms)
    if distance is Distance.VARIATIONAL:
        return emd.variational(histograms)
    assert hierarchy is not None
    return emd.hierarchical(histograms, emd.tree_levels(hierarchy))


def find(requirement: Requirement, policy: Policy, classes: Classes) -> Finding:
    """Return the finding for the classes of a release."""
    options = requirement.options
    assert isinstance(options, Options)
    names = targets(options.sensitive, policy)
    return measured(options.distance, names, classes, [policy.attributes[n].hierarchy for n in names], options.t)


def measured(
    distance: Distance,
    sensitive: Sequence[str],
    classes: Classes,
    hierarchies: Sequence[Levels | None],
    t: Fraction | None,
) -> Finding:
    """Return what classes reach, held against t if there is one.

    Args:
        distance: which.
        sensitive: the attributes, each by itself.
        classes: with a histogram of each.
        hierarchies: of each, where there is one.
        t: the limit.
    """
    from rrpolicy.privacy.classes.histograms import at_most, largest

    outcomes = []
    for name, hierarchy in zip(sensitive, hierarchies, strict=True):
        apart, whole = distances(distance, classes.histograms[name], hierarchy)
        worst = largest(apart, whole, classes.concerned)
        passes = None if t is None else at_most(apart, whole, t)
        outcomes.append(Outcome(name, Measure(0.0 if worst is None else round_up(worst)), passes))
    return conclude(words(distance), outcomes, classes, t)


def per_class(requirement: Requirement, policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on classes that are released together.

    Monotone, as a distance is convex (Li et al. 2007, section 3); not so if classes may be suppressed, which changes
    what they are compared with, or if some need not satisfy it.
    """
    from rrpolicy.privacy.classes.histograms import Histograms, at_most

    options = requirement.options
    assert isinstance(options, Options)

    def one(name: str) -> PerClass:
        hierarchy = policy.attributes[name].hierarchy

        def holds(histograms: Ints) -> Mask:
            return at_most(*distances(options.distance, Histograms.of_dense(histograms), hierarchy), options.t)

        return PerClass(
            name, holds, monotone=not requirement.where, monotone_with_suppression=False, where=requirement.where
        )

    return tuple(one(name) for name in targets(options.sensitive, policy))


def _sensitive(requirement: Requirement, policy: Policy) -> tuple[str, ...]:
    options = requirement.options
    assert isinstance(options, Options)
    return targets(options.sensitive, policy)


def _limit(requirement: Requirement) -> Fraction:
    options = requirement.options
    assert isinstance(options, Options)
    return options.t
