"""Pk-anonymity: nobody links a person to a released record with a chance above 1/k, whatever he knows of the others.

References:
    Ikarashi, Kikuchi, Chida, Takahashi 2014, "k-Anonymous Microdata Release via Post Randomisation Method".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical import exact
from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.probability import round_down
from rrpolicy.channel.product.channel import Product
from rrpolicy.finding import Basis, Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.epsilon.cap import UNREACHABLE, epsilon_cap
from rrpolicy.privacy.epsilon.exposure import (
    PUBLIC_RECORDS,
    attribute_epsilon,
    exposure,
    link_bound,
    never_bounded,
    record_epsilon,
    unlinkable_companions,
)
from rrpolicy.privacy.model import Assessor, Order, Smooth
from rrpolicy.privacy.units import k_of_units, unit_sizes

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

NAME = "pk-anonymity"
REFERENCE = "Ikarashi, Kikuchi, Chida, Takahashi 2014: k = 1 + (N-1) prod_a min cross ratio"
ADVERSARY = (
    "Knows every person's original values, all transition matrices and the whole release, but not whose record is "
    "which; tries to link one person to one released record."
)


class PkOptions(BaseModel):
    """What a policy may say under [[privacy]] with model = "pk-anonymity"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: Rational = Field(description="No one is linked to a released record with a chance above 1/k; k > 1.")

    @model_validator(mode="after")
    def _above_one(self) -> Self:
        if self.k <= 1:
            raise ValueError(f"k must be above 1, got {self.k}: k = 1 requires nothing")
        return self


class PkAnonymity:
    """The privacy model `pk-anonymity`."""

    name = NAME
    options = PkOptions

    def describe(self, options: PkOptions) -> str:
        """Return the requirement in words, such as `k >= 2`."""
        return f"k >= {exact(options.k)}"

    def refuses(self, options: PkOptions, policy: Policy) -> str | None:
        """Return why k is out of reach for a table that the policy admits: it never exceeds the number of records."""
        least = policy.source.min_rows
        if least is not None and options.k >= least:
            return f"k = {exact(options.k)} is out of reach for a table of {least} records, which `min_rows` admits"
        return None

    def compare(self, old: PkOptions, new: PkOptions) -> Order:
        """Return how the new requirement stands to the old one: the greater k is stronger."""
        if new.k == old.k:
            return Order.EQUAL
        return Order.STRONGER if new.k > old.k else Order.WEAKER


def assessors() -> tuple[Assessor, ...]:
    """Return the assessor for product channels."""
    return (
        Assessor(
            model=NAME,
            channel=Product,
            axes=(Axis,),
            basis=Basis.CHANNEL,
            reference=REFERENCE,
            assess=assess,
            supports=supports,
            smooth=smooth,
            units=Basis.ORIGINAL,
        ),
    )


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Return why the requirement cannot be assessed, or never holds, under a policy; None if it can."""
    del axes
    if requirement.where:
        return "k speaks of every record of the table; it cannot be limited to a subgroup"
    return never_bounded(policy, record=True)


def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
    """Decide k by exact rationals; N and the channel are enough where a unit is one record.

    Args:
        requirement: with `PkOptions`.
        channel: a `Product` of the axes that are handled.
        original: the table, or N; the table adds how strongly what is assumed unlinkable goes with the rest.
    """
    options = requirement.options
    assert isinstance(options, PkOptions)
    assert isinstance(channel, Product)
    exposed = exposure(channel, requirement.max_records)
    sizes = unit_sizes(requirement, original)
    basis = Basis.CHANNEL if requirement.max_records == 1 else Basis.ORIGINAL
    k = None if sizes is None else k_of_units(exposed.cross, sizes)
    decided = Verdict.UNDECIDED if k is None else Verdict.HOLDS if k >= options.k else Verdict.FAILS
    return Finding(
        code=NAME,
        model=NAME,
        requirement=PkAnonymity().describe(options),
        place=requirement.place,
        reached=None if k is None else Measure(round_down(k), Standing.EXACT),
        limit=options.k,
        verdict=decided,
        basis=basis,
        adversary=ADVERSARY + exposed.record_of + exposed.why_infinite + exposed.linked,
        assumptions=(*exposed.assumptions, PUBLIC_RECORDS),
        beside=(
            *(() if k is None else (link_bound(k, basis),)),
            record_epsilon(exposed),
            attribute_epsilon(exposed),
            *unlinkable_companions(exposed, original),
        ),
        reference=REFERENCE,
    )


def smooth(requirement: Requirement, channel: Channel, original: Original | int) -> Smooth:
    """Return -log(prod cross ratio)/2 <= log((N-1)/(k-1))/2: for retention the cap on epsilon that k is equal to.

    Of M units with s records each it is log((M-1)/(k-1))/(2 s), the least over all s that occur.
    """
    options = requirement.options
    assert isinstance(options, PkOptions)
    assert isinstance(channel, Product)
    caps = (_cap(options.k, size, units) for size, units in (unit_sizes(requirement, original) or {}).items())
    cap = min(caps, default=-UNREACHABLE)
    return epsilon_cap(channel, _half_inverse, cap, PkAnonymity().describe(options), record=True)


def _cap(k: Fraction, size: int, units: int) -> float:
    return math.log(Fraction(units - 1) / (k - 1)) / (2 * size) if units > 1 else -UNREACHABLE


def _half_inverse(axis: Axis) -> float | None:
    """Return the exponential of minus half the logarithm of the smallest cross ratio."""
    cross = axis.min_cross_ratio()
    return float(cross) ** -0.5 if cross else None
