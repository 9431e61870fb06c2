"""Local differential privacy: what is released of a person is almost as likely had the person been another.

References:
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2011 (the definition); for product channels
    epsilon = sum_a max_u log(max_v P_a[u,v] / min_v P_a[u,v]), as in Ikarashi, Kikuchi, Chida, Takahashi 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical import exact
from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.probability import log_at_most
from rrpolicy.channel.product.channel import Product
from rrpolicy.finding import Basis, Finding, Verdict
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.epsilon.cap import epsilon_cap
from rrpolicy.privacy.epsilon.exposure import (
    attribute_epsilon,
    epsilon,
    exposure,
    k_companions,
    never_bounded,
    record_epsilon,
    unlinkable_companions,
)
from rrpolicy.privacy.model import Assessor, Order, Smooth
from rrpolicy.privacy.units import k_of_units, unit_sizes

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

NAME = "local-dp"
REFERENCE = "epsilon = sum_a max_u log(max_v P_a[u,v] / min_v P_a[u,v])"
ADVERSARY = {
    "record": (
        "Knows all transition matrices, the whole release and everybody else's record; tries to tell any two values of "
        "one person's record apart."
    ),
    "attribute": (
        "Knows all transition matrices, the whole release, everybody else's record and what is released unchanged of "
        "one person; tries to tell any two values of this person's randomised attributes apart."
    ),
}


class LocalDPOptions(BaseModel):
    """What a policy may say under [[privacy]] with model = "local-dp"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: Rational = Field(description="Bound on the logarithm of the ratio of chances; above 0.")
    scope: Literal["record", "attribute"] = Field(
        default="record",
        description="record: every released attribute counts; attribute: what is released unchanged is public context.",
    )

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}: nothing could be learnt from the release")
        return self


class LocalDP:
    """The privacy model `local-dp`."""

    name = NAME
    options = LocalDPOptions

    def describe(self, options: LocalDPOptions) -> str:
        """Return the requirement in words, such as `epsilon <= 6 (record scope)`."""
        return f"epsilon <= {exact(options.epsilon)} ({options.scope} scope)"

    def refuses(self, options: LocalDPOptions, policy: Policy) -> str | None:
        """Return None: a positive epsilon can be asked of any policy."""
        del options, policy
        return None

    def compare(self, old: LocalDPOptions, new: LocalDPOptions) -> Order:
        """Return how the new requirement stands to the old one; record scope implies attribute scope."""
        if old.scope == new.scope:
            if new.epsilon == old.epsilon:
                return Order.EQUAL
            return Order.STRONGER if new.epsilon < old.epsilon else Order.WEAKER
        if new.scope == "record" and new.epsilon <= old.epsilon:
            return Order.STRONGER
        if old.scope == "record" and new.epsilon >= old.epsilon:
            return Order.WEAKER
        return Order.INCOMPARABLE


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
            units=Basis.CHANNEL,
        ),
    )


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Return why the requirement cannot be assessed, or never holds, under a policy; None if it can."""
    del axes
    if requirement.where:
        return "epsilon is a worst case over all values; it cannot be limited to a subgroup"
    assert isinstance(requirement.options, LocalDPOptions)
    return never_bounded(policy, record=requirement.options.scope == "record")


def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
    """Decide epsilon exactly; the channel is enough.

    Args:
        requirement: with `LocalDPOptions`.
        channel: a `Product` of the axes that are handled.
        original: the table, or N; the table adds how strongly what is assumed unlinkable goes with the rest.
    """
    options = requirement.options
    assert isinstance(options, LocalDPOptions)
    assert isinstance(channel, Product)
    exposed = exposure(channel, requirement.max_records)
    sizes = unit_sizes(requirement, original)
    basis_of_k = Basis.CHANNEL if requirement.max_records == 1 else Basis.ORIGINAL
    in_record = options.scope == "record"
    ratio = exposed.record if in_record else exposed.attribute
    return Finding(
        code=NAME,
        model=NAME,
        requirement=LocalDP().describe(options),
        place=requirement.place,
        reached=epsilon(ratio),
        limit=options.epsilon,
        verdict=Verdict.HOLDS if log_at_most(ratio, options.epsilon) else Verdict.FAILS,
        basis=Basis.CHANNEL,
        adversary=ADVERSARY[options.scope]
        + (exposed.record_of + exposed.why_infinite if in_record else exposed.randomised_are)
        + exposed.linked,
        assumptions=exposed.assumptions if in_record else (),
        beside=(
            attribute_epsilon(exposed) if in_record else record_epsilon(exposed),
            *(() if sizes is None else k_companions(k_of_units(exposed.cross, sizes), basis_of_k)),
            *unlinkable_companions(exposed, original),
        ),
        reference=REFERENCE,
        compares_tables=True,
    )


def smooth(requirement: Requirement, channel: Channel, original: Original | int) -> Smooth:
    """Return the cap on epsilon as a constraint on keep probabilities."""
    del original
    options = requirement.options
    assert isinstance(options, LocalDPOptions)
    assert isinstance(channel, Product)
    description = LocalDP().describe(options)
    cap = float(options.epsilon / requirement.max_records)
    return epsilon_cap(channel, _ratio, cap, description, record=options.scope == "record")


def _ratio(axis: Axis) -> float | None:
    ratio = axis.max_ratio()
    return None if ratio is None else float(ratio)
