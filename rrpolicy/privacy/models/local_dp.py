"""Local differential privacy: a person's released values are almost as likely as if the person were another.

References:
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2011 (the definition); for product channels
    epsilon = sum_a max_u log(max_v P_a[u,v] / min_v P_a[u,v]), as in Ikarashi, Kikuchi, Chida, Takahashi 2014.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import log_at_most
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Finding, Risk
from rrpolicy.numbers import figure
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.epsilon.ratio_assessor import MEANING, Scope, compare_with_scope, scoped_assessor
from rrpolicy.privacy.epsilon.scope_loss import (
    attribute_epsilon_measure,
    epsilon_of_ratio,
    k_measures,
    record_epsilon_measure,
    scope_loss,
    unlinkable_measures,
)
from rrpolicy.privacy.model import GROUP_KNOWLEDGE_NOTE, MORE_RECORDS, Assessor, Order, conclude
from rrpolicy.privacy.units import count_unit_sizes, k_of_units

if TYPE_CHECKING:
    from fractions import Fraction

    from rrpolicy.source.protocol import Original

ADVERSARY = {
    "record": (
        "Knows all transition matrices, the whole release and everybody else's record; tries to distinguish any "
        "two values of "
        "one person's record."
    ),
    "attribute": (
        "Knows all transition matrices, the whole release, everybody else's record and what is released unchanged of "
        "one person; tries to distinguish any two values of this person's randomised attributes."
    ),
}
_OVERFLOW = 700
"""Above it e^epsilon exceeds a double."""
MOST_EPSILON = 20
"""Above it odds may change by more than e^20, about 500,000,000: 1 in 1,000,000 becomes 500 to 1."""


def _likelihood_factor(epsilon: Fraction) -> str:
    """Return e^epsilon with three digits, rounded up."""
    if epsilon > _OVERFLOW:
        return f"e^{figure(float(epsilon))}"
    factor = math.exp(epsilon)
    step = 10.0 ** (math.floor(math.log10(factor)) - 2)
    return figure(math.ceil(factor / step) * step, 3)


class LocalDPOptions(BaseModel):
    """Keys of a [[privacy]] entry with model = "local-dp"."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    possible: ClassVar = True  # a released value that excludes an original one has an infinite epsilon

    epsilon: Rational = Field(description="Bound on the logarithm of the ratio of chances; above 0.")
    scope: Scope = Field(default="record", description=MEANING)

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}: nothing could be learnt from the release")
        return self

    @property
    def limit(self) -> Fraction:
        """Return epsilon."""
        return self.epsilon


class LocalDP:
    """The privacy model `local-dp`."""

    name = "local-dp"
    options = LocalDPOptions
    not_covered = (
        (
            "How likely a guess is to be right: epsilon limits by which factor the odds may change, e^epsilon; where "
            "they start is what the attacker knew before."
        ),
        MORE_RECORDS,
        "Other releases of the same people: their epsilons add up, and this epsilon is of one release alone.",
        (
            "Disclosure by a description that is derived from this table, and by the existence of the release: "
            "epsilon is then marked conditional. An attacker who knows all other records may exclude candidates with "
            "certainty."
        ),
        GROUP_KNOWLEDGE_NOTE,
    )
    example = 'epsilon = 4\nscope = "attribute"'
    methods = ("randomised", "partly-randomised")
    bounds = frozenset(Risk)
    differential = True

    def describe(self, options: LocalDPOptions) -> str:
        """Return the requirement in words, such as `epsilon <= 6 (record scope)`."""
        return f"epsilon <= {exact(options.epsilon)} ({options.scope} scope)"

    def limits_nothing(self, options: LocalDPOptions) -> str | None:
        """Return that an epsilon above `MOST_EPSILON` limits nothing in practice."""
        if options.epsilon <= MOST_EPSILON:
            return None
        return f"limits nothing in practice: odds may change by a factor of {_likelihood_factor(options.epsilon)}"

    def promise(self, options: LocalDPOptions) -> str:
        """Return the guarantee in plain words."""
        values = "what is released" if options.scope == "record" else "what is released at random"
        nothing = ": no protection in practice" if options.epsilon > MOST_EPSILON else ""
        return (
            f"Whatever an attacker knew before, {values} of a person changes the odds between any two values by a "
            f"factor of at most {_likelihood_factor(options.epsilon)} (epsilon {figure(float(options.epsilon))})"
            f"{nothing}."
        )

    def refuses(self, options: LocalDPOptions, policy: Policy) -> str | None:
        """Return None: every policy may require a positive epsilon."""
        del options, policy
        return None

    def compare(self, old: LocalDPOptions, new: LocalDPOptions) -> Order:
        """Compare epsilons and scopes; record scope implies attribute scope."""
        return compare_with_scope(Order.by(old.epsilon - new.epsilon), old.scope, new.scope)

    def assessors(self) -> tuple[Assessor, ...]:
        """Return the assessor for product channels."""
        return (
            scoped_assessor(
                self.name,
                "epsilon = sum_a max_u log(max_v P_a[u,v] / min_v P_a[u,v])",
                assess,
                "epsilon is a worst case over all values; it cannot be limited to a subgroup",
                self.describe,
                lambda requirement: float(requirement.options.epsilon / requirement.max_records),
            ),
        )


def assess(requirement: Requirement[LocalDPOptions], channel: Product, original: Original | int) -> Finding:
    """Decide epsilon exactly from the channel; a table adds companions, such as the association of columns."""
    options = requirement.options
    exposed = scope_loss(channel, requirement.max_records)
    sizes = count_unit_sizes(requirement, original)
    basis_of_k = Basis.CHANNEL if requirement.max_records == 1 else Basis.ORIGINAL
    in_record = options.scope == "record"
    ratio = exposed.record if in_record else exposed.attribute
    scope = exposed.record_of + exposed.why_infinite if in_record else exposed.randomised_are
    return conclude(
        requirement,
        epsilon_of_ratio(ratio),
        log_at_most(ratio, options.epsilon),
        Basis.CHANNEL,
        ADVERSARY[options.scope] + scope + exposed.linked,
        exposed.assumptions if in_record else (),
        (
            attribute_epsilon_measure(exposed) if in_record else record_epsilon_measure(exposed),
            *(() if sizes is None else k_measures(k_of_units(exposed.cross, sizes), basis_of_k)),
            *unlinkable_measures(exposed, original),
        ),
        compares_tables=True,
    )
