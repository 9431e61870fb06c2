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
from rrpolicy.privacy.classes.class_model import (
    ClassModel,
    ModelWording,
    Protected,
    class_model_assessor,
    class_outcomes,
    conclude,
    rename_finding,
    split_by_attribute,
)
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE, Assessor, Order, PerClass
from rrpolicy.privacy.models.sensitive_attributes import not_sensitive_reason
from rrpolicy.privacy.wording import attribute_phrase
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


class LikenessKind(StrEnum):
    """How far a value's share may grow."""

    BASIC = "basic"
    ENHANCED = "enhanced"


class BetaLikenessOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        beta: by how much of itself a value's share may grow from the whole release to a class, over 0.
        likeness: basic, or enhanced, which besides lets no share p grow by more than -ln p of itself.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    beta: Annotated[Rational, Field(description="by how much of itself a value's share may grow in a class, over 0")]
    likeness: Annotated[
        LikenessKind, Field(description="basic, or enhanced: by -ln p of a share p at most as well")
    ] = LikenessKind.BASIC
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
    options = BetaLikenessOptions
    not_covered = NOT_COVERED
    example = "beta = 2"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: BetaLikenessOptions) -> str:
        """Return such as `basic beta <= 2`, with the attributes where the entry names them."""
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return f"{options.likeness.value} beta <= {exact(options.beta)}{of}"

    def promise(self, options: BetaLikenessOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Guessing the value: no sensitive value{attribute_phrase(options.sensitive)} is more than "
            f"{figure(float(1 + options.beta))} times as frequent in a group that agrees in the quasi-identifiers as "
            "in the whole release."
        )

    def refuses(self, options: BetaLikenessOptions, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive."""
        return not_sensitive_reason(Requirement(NAME, options).protects(policy), policy)

    def compare(self, old: BetaLikenessOptions, new: BetaLikenessOptions) -> Order:
        """Compare beta: the smaller is stronger, and enhanced implies basic."""
        if old.sensitive != new.sensitive:
            return Order.INCOMPARABLE
        enhanced = Order.by((new.likeness is LikenessKind.ENHANCED) - (old.likeness is LikenessKind.ENHANCED))
        return Order.together(Order.by(old.beta - new.beta), enhanced)


def likeness_wording(likeness: LikenessKind) -> ModelWording:
    """Return how a likeness speaks of itself."""
    meaning = "by how much of itself a value's share grows from the whole release to a class, where it grows most"
    if likeness is LikenessKind.ENHANCED:
        meaning += "; infinite if some share p grows by more than -ln p of itself"
    return ModelWording(NAME, f"{likeness.value} beta", meaning, REFERENCE, least=False)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (class_model_assessor(NAME, CLASS_MODEL),)


def classes_satisfying(options: BetaLikenessOptions, histograms: Histograms) -> Mask:
    """Return (classes,) which satisfy the requirement; an empty class does."""
    from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios

    ratios = FrequencyRatios.of(histograms)
    fine = ratios.gains_at_most(options.beta)
    return fine & ratios.gains_by_rarity() if options.likeness is LikenessKind.ENHANCED else fine


def achieved_beta(likeness: LikenessKind, histograms: Histograms, among: Mask) -> Measure:
    """Return the smallest beta that some classes (classes,) satisfy; infinity if none is."""
    from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios

    ratios = FrequencyRatios.of(histograms)
    if likeness is LikenessKind.ENHANCED and not ratios.gains_by_rarity()[among].all():
        return Measure(math.inf)
    return Measure(round_up(ratios.greatest(among) - 1))


def find(options: BetaLikenessOptions, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach of each column by itself, held against beta."""
    reached = class_outcomes(
        columns, classes, partial(achieved_beta, options.likeness), partial(classes_satisfying, options)
    )
    return conclude(likeness_wording(options.likeness), reached, classes, options.beta)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the smallest beta of each likeness."""
    if column is None:
        return
    for likeness in LikenessKind:
        reached = class_outcomes([column], classes, partial(achieved_beta, likeness))
        finding = rename_finding(conclude(likeness_wording(likeness), reached, classes, None), likeness.value)
        yield replace(finding, requirement=f"{likeness.value} beta of {column.name}")


def per_class(requirement: Requirement[BetaLikenessOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on classes that are released together.

    Monotone, as the share of a value in merged classes is a mean of theirs; not so if classes may be suppressed, as
    those that are kept are then merged with others, or if some need not satisfy it.
    """
    fine = partial(classes_satisfying, requirement.options)
    return split_by_attribute(requirement, policy, fine, monotone=not requirement.where)


CLASS_MODEL = ClassModel(REFERENCE, find, measure, per_class, asks="beta", kind="likeness")
