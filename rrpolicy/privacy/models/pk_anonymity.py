"""Pk-anonymity: no attacker links a person to a released record with a probability above 1/k, whatever they know.

References:
    Ikarashi, Kikuchi, Chida, Takahashi 2014, "k-Anonymous Microdata Release via Post Randomisation Method".
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.base import Axis
from rrpolicy.channels.probability import round_down
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Finding, Measure, Risk
from rrpolicy.frozen import replace
from rrpolicy.numbers import percent_rounded_up
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.epsilon.ratio_assessor import UNREACHABLE, ratio_assessor
from rrpolicy.privacy.epsilon.scope_loss import (
    ATTACKER,
    PUBLIC_RECORDS,
    attribute_epsilon_measure,
    linkage_bound_measure,
    record_epsilon_measure,
    scope_loss,
    unlinkable_measures,
)
from rrpolicy.privacy.model import GROUP_KNOWLEDGE_NOTE, MORE_RECORDS, Assessor, Order, conclude
from rrpolicy.privacy.units import count_unit_sizes, k_of_units

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

NAME = "pk-anonymity"
ADVERSARY = (
    "Knows every person's original values, all transition matrices and the whole release, but not whose record is "
    "which; tries to link one person to one released record."
)


class PkAnonymityOptions(BaseModel):
    """Keys of a [[privacy]] entry with model = "pk-anonymity"."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    possible: ClassVar = True  # a released value that excludes an original one has k = 1

    k: Rational = Field(description="No one is linked to a released record with a chance above 1/k; k > 1.")

    @model_validator(mode="after")
    def _above_one(self) -> Self:
        if self.k <= 1:
            raise ValueError(f"k must be above 1, got {self.k}: k = 1 requires nothing")
        return self

    @property
    def limit(self) -> Fraction:
        """Return k."""
        return self.k


class PkAnonymity:
    """The privacy model `pk-anonymity`."""

    name = NAME
    options = PkAnonymityOptions
    not_covered = (
        (
            "Inference from a released value: pk-anonymity limits the probability of finding a person's record, "
            "not what the record then reveals."
        ),
        MORE_RECORDS,
        (
            "Other releases of the same people: linking their records multiplies the ratios in k, and may "
            "identify with certainty a person who is in only one of the tables."
        ),
        (
            "Disclosure by the published parameters: k does not depend on their choice, as its attacker knows all "
            "original records; an epsilon of the same release does."
        ),
        GROUP_KNOWLEDGE_NOTE,
    )
    example = "k = 2"
    methods = ("randomised",)
    bounds = frozenset({Risk.LINKING})

    def describe(self, options: PkAnonymityOptions) -> str:
        """Return the requirement in words, such as `k >= 2`."""
        return f"k >= {exact(options.k)}"

    def promise(self, options: PkAnonymityOptions) -> str:
        """Return the guarantee in plain words."""
        return (
            f"Re-identification: no attacker, not even one {ATTACKER.removeprefix('an attacker ')}, links a person to "
            f"a record with a probability above {percent_rounded_up(1 / options.k)}."
        )

    def refuses(self, options: PkAnonymityOptions, policy: Policy) -> str | None:
        """Refuse a k out of reach for a permitted table: it never exceeds the number of records."""
        least = policy.source.min_rows
        if least is None or options.k < least:
            return None
        return (
            f"k = {exact(options.k)} is out of reach for a table of {least} records, which `min_rows` admits: "
            f"set a k below {least}, or release more records under a larger `min_rows`"
        )

    def compare(self, old: PkAnonymityOptions, new: PkAnonymityOptions) -> Order:
        """Compare by k: the greater is stronger."""
        return Order.by(new.k - old.k)

    def assessors(self) -> tuple[Assessor, ...]:
        """Return the assessor for product channels."""
        made = ratio_assessor(
            self.name,
            "Ikarashi, Kikuchi, Chida, Takahashi 2014: k = 1 + (N-1) prod_a min cross ratio",
            assess,
            units=Basis.ORIGINAL,
            everybody="k covers every record of the table; it cannot be limited to a subgroup",
            record=lambda _: True,
            words=lambda requirement: self.describe(requirement.options),
            cap=_epsilon_cap,
            ratio=_inverse_root_cross_ratio,
        )
        return (replace(made, adversary=ADVERSARY, assumptions=(PUBLIC_RECORDS,)),)


def assess(requirement: Requirement[PkAnonymityOptions], channel: Product, original: Original | int) -> Finding:
    """Decide k by exact rationals, from N and the channel if a unit is one record; a table adds companions."""
    exposed = scope_loss(channel, requirement.max_records)
    sizes = count_unit_sizes(requirement, original)
    basis = Basis.CHANNEL if requirement.max_records == 1 else Basis.ORIGINAL
    k = None if sizes is None else k_of_units(exposed.cross, sizes)
    return conclude(
        requirement,
        None if k is None else Measure(round_down(k)),
        None if k is None else k >= requirement.options.k,
        basis,
        ADVERSARY + exposed.record_of + exposed.why_infinite + exposed.linked,
        (*exposed.assumptions, PUBLIC_RECORDS),
        (
            *(() if k is None else (linkage_bound_measure(k, basis),)),
            record_epsilon_measure(exposed),
            attribute_epsilon_measure(exposed),
            *unlinkable_measures(exposed, original),
        ),
    )


def _epsilon_cap(requirement: Requirement[PkAnonymityOptions], original: Original | int) -> float:
    """Return the cap on -log(prod cross ratio)/2; for retention it is the epsilon equivalent to k.

    Of M units with s records each it is log((M-1)/(k-1))/(2 s), the least over all s that occur.
    """
    k, sizes = requirement.options.k, count_unit_sizes(requirement, original) or {}
    caps = (
        math.log(Fraction(units - 1) / (k - 1)) / (2 * size) if units > 1 else -UNREACHABLE
        for size, units in sizes.items()
    )
    return min(caps, default=-UNREACHABLE)


def _inverse_root_cross_ratio(axis: Axis) -> float | None:
    """Return the exponential of minus half the logarithm of the smallest cross ratio."""
    cross = axis.min_cross_ratio()
    return float(cross) ** -0.5 if cross else None
