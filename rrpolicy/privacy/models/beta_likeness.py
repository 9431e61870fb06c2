"""beta-likeness: no sensitive value is much more frequent in a class than in the whole release.

With p_v the share of a value in the whole release and q_v in a class, for every value with q_v > p_v:

    basic       (q_v - p_v)/p_v <= beta
    enhanced    (q_v - p_v)/p_v <= min(beta, -ln p_v)

The whole release has all records: suppressed ones are released with their sensitive values, and count.

References:
    Cao, Karras 2012, "Publishing Microdata with a Robust Privacy Guarantee": basic and enhanced beta-likeness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_up
from rrpolicy.finding import Finding, Measure
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.assessor import (
    ClassModel,
    Protected,
    Words,
    assessor,
    conclude,
    named,
    of_each_attribute,
    outcomes_of,
)
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE, Assessor, Order, PerClass
from rrpolicy.privacy.models.sensitive import not_sensitive
from rrpolicy.privacy.promised import of
from rrpolicy.report_blocks import figure

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask

NAME = "beta-likeness"
REFERENCE = "Cao, Karras 2012, basic and enhanced beta-likeness"
NOT_COVERED = (
    "What a class tells by values that are rarer in it than in the release, or absent: delta-disclosure limits that.",
    FINDING,
    WHOLE_RELEASE,
    MORE_KNOWN,
    *EVERY_MODEL,
)


class Likeness(StrEnum):
    """How far a value's share may grow."""

    BASIC = "basic"
    ENHANCED = "enhanced"


class Options(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        beta: by how much of itself a value's share may grow from the whole release to a class, over 0.
        likeness: basic, or enhanced, which besides lets no share p grow by more than -ln p of itself.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    beta: Annotated[Rational, Field(description="by how much of itself a value's share may grow in a class, over 0")]
    likeness: Annotated[Likeness, Field(description="basic, or enhanced: by -ln p of a share p at most as well")] = (
        Likeness.BASIC
    )
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()

    @field_validator("beta")
    @classmethod
    def _gain(cls, beta: Fraction) -> Fraction:
        if beta <= 0:
            raise ValueError(f"beta must be over 0, got {exact(beta)}")
        return beta

    @property
    def limit(self) -> Fraction:
        """Return beta."""
        return self.beta


class BetaLikeness:
    """The privacy model `beta-likeness`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED
    example = "beta = 2"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return OF_CLASSES

    def describe(self, options: Options) -> str:
        """Return such as `basic beta <= 2`, with the attributes where the entry names them."""
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return f"{options.likeness.value} beta <= {exact(options.beta)}{of}"

    def promise(self, options: Options) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Guessing the value: no sensitive value{of(options.sensitive)} is more than "
            f"{figure(float(1 + options.beta))} times as frequent in a group that agrees in the quasi-identifiers as "
            "in the whole release."
        )

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive."""
        return not_sensitive(Requirement(NAME, options).protects(policy), policy)

    def compare(self, old: Options, new: Options) -> Order:
        """Compare beta: the smaller is stronger, and enhanced implies basic."""
        if old.sensitive != new.sensitive:
            return Order.INCOMPARABLE
        enhanced = Order.by((new.likeness is Likeness.ENHANCED) - (old.likeness is Likeness.ENHANCED))
        return Order.together(Order.by(old.beta - new.beta), enhanced)


def words(likeness: Likeness) -> Words:
    """Return how a likeness speaks of itself."""
    meaning = "by how much of itself a value's share grows from the whole release to a class, where it grows most"
    if likeness is Likeness.ENHANCED:
        meaning += "; infinite if some share p grows by more than -ln p of itself"
    return Words(NAME, f"{likeness.value} beta", meaning, REFERENCE, least=False)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (assessor(NAME, OF_CLASSES),)


def satisfied(options: Options, histograms: Histograms) -> Mask:
    """Return (classes,) which satisfy the requirement; an empty class does."""
    from rrpolicy.privacy.classes.likeness import Ratios

    ratios = Ratios.of(histograms)
    fine = ratios.gains_at_most(options.beta)
    return fine & ratios.gains_by_rarity() if options.likeness is Likeness.ENHANCED else fine


def achieved(likeness: Likeness, histograms: Histograms, among: Mask) -> Measure:
    """Return the smallest beta that some classes (classes,) satisfy; infinity if none is."""
    from rrpolicy.privacy.classes.likeness import Ratios

    ratios = Ratios.of(histograms)
    if likeness is Likeness.ENHANCED and not ratios.gains_by_rarity()[among].all():
        return Measure(math.inf)
    return Measure(round_up(ratios.greatest(among) - 1))


def find(options: Options, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach of each column by itself, held against beta."""
    reached = outcomes_of(columns, classes, partial(achieved, options.likeness), partial(satisfied, options))
    return conclude(words(options.likeness), reached, classes, options.beta)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the smallest beta of each likeness."""
    if column is None:
        return
    for likeness in Likeness:
        reached = outcomes_of([column], classes, partial(achieved, likeness))
        finding = named(conclude(words(likeness), reached, classes, None), likeness.value)
        yield replace(finding, requirement=f"{likeness.value} beta of {column.name}")


def per_class(requirement: Requirement[Options], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on classes that are released together.

    Monotone, as the share of a value in merged classes is a mean of theirs; not so if classes may be suppressed, as
    those that are kept are then merged with others, or if some need not satisfy it.
    """
    fine = partial(satisfied, requirement.options)
    return of_each_attribute(requirement, policy, fine, monotone=not requirement.where)


OF_CLASSES = ClassModel(REFERENCE, find, measure, per_class, asks="beta", kind="likeness")
