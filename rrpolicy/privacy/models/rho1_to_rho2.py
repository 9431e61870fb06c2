"""Privacy breaches from rho1 to rho2: a release does not make an unlikely property of a person likely.

For every prior, a property of the randomised attributes with a probability of at most rho1 has at most rho2 after the
release (no upward breach), and one of at least rho2 keeps at least rho1 (no downward breach). With gamma the
amplification, the largest ratio in a row of P, this is true for all priors and properties if and only if

    gamma <= rho2 (1 - rho1) / (rho1 (1 - rho2)),

one condition for both directions; gamma = e^epsilon of the same scope. The paper calls a posterior of rho2 itself a
breach, so that its inequality is strict; here rho2 may be reached and not exceeded. The bound is attained: by the prior
with rho1 on the value that makes a released one the likeliest, and the rest on the one that makes it the least likely.

References:
    Evfimievski, Gehrke, Srikant 2003, "Limiting privacy breaches in privacy preserving data mining", definitions 1
    and 2 (breaches, amplification), statement 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk
from rrpolicy.numbers import percent_rounded_up
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.epsilon.ratio_assessor import MEANING, Scope, compare_with_scope, scoped_assessor
from rrpolicy.privacy.epsilon.scope_loss import (
    attribute_epsilon_measure,
    record_epsilon_measure,
    scope_loss,
    unlinkable_measures,
)
from rrpolicy.privacy.model import GROUP_KNOWLEDGE_NOTE, Assessor, Order, conclude
from rrpolicy.privacy.models.local_dp import ADVERSARY

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

LOWEST_POSTERIOR = "the smallest probability, after the release, of a property that had at least rho2 before"
AMPLIFIED = "the largest ratio of the chances of one released value, of two originals: e^epsilon of this scope"


class Rho1ToRho2Options(BaseModel):
    """Keys of a [[privacy]] entry with model = "rho1-to-rho2"."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    possible: ClassVar = True  # a released value that excludes an original one makes any prior certain

    rho1: Rational = Field(description="The largest probability, before the release, of what must stay unlikely.")
    rho2: Rational = Field(description="The largest that it may have after it; above rho1, below 1.")
    scope: Scope = Field(default="record", description=MEANING)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 0 < self.rho1 < self.rho2 < 1:
            raise ValueError(f"0 < rho1 < rho2 < 1 is needed, got rho1 = {self.rho1}, rho2 = {self.rho2}")
        return self

    @property
    def limit(self) -> Fraction:
        """Return rho2."""
        return self.rho2

    @property
    def amplification(self) -> Fraction:
        """Return the largest gamma."""
        return self.rho2 * (1 - self.rho1) / (self.rho1 * (1 - self.rho2))


class Rho1ToRho2:
    """The privacy model `rho1-to-rho2`."""

    name = "rho1-to-rho2"
    options = Rho1ToRho2Options
    not_covered = (
        "What an attacker gave a probability between rho1 and rho2 before the release: it may end anywhere.",
        (
            "Other releases of the same people: for each of them, what an attacker has learnt from the others is "
            "already known before."
        ),
        (
            "Disclosure by a description that is derived from this table, and by the existence of the release: "
            "the bound on rho2 is then marked conditional. An attacker who knows all other records may exclude "
            "candidates with certainty."
        ),
        GROUP_KNOWLEDGE_NOTE,
    )
    example = 'rho1 = "1/10"\nrho2 = "1/2"\nscope = "attribute"'
    methods = ("randomised", "partly-randomised")
    bounds = frozenset(Risk)

    def describe(self, options: Rho1ToRho2Options) -> str:
        """Return the requirement in words, such as `posterior <= 1/2 after a prior of at most 1/10 (record scope)`."""
        limits = f"posterior <= {exact(options.rho2)} after a prior of at most {exact(options.rho1)}"
        return f"{limits} ({options.scope} scope)"

    def promise(self, options: Rho1ToRho2Options) -> str:
        """Return the guarantee in plain words."""
        scope = "" if options.scope == "record" else " of what is randomised"
        return (
            f"What{scope} an attacker gave a probability of at most {percent_rounded_up(options.rho1)} before the "
            f"release has one of at most {percent_rounded_up(options.rho2)} after it."
        )

    def refuses(self, options: Rho1ToRho2Options, policy: Policy) -> str | None:
        """Return None: every policy may require it."""
        del options, policy
        return None

    def compare(self, old: Rho1ToRho2Options, new: Rho1ToRho2Options) -> Order:
        """Compare by gamma and scope; record scope implies attribute scope."""
        return compare_with_scope(Order.by(old.amplification - new.amplification), old.scope, new.scope)

    def assessors(self) -> tuple[Assessor, ...]:
        """Return the assessor for product channels."""
        return (
            scoped_assessor(
                self.name,
                "Evfimievski, Gehrke, Srikant 2003, statement 1: gamma <= rho2 (1 - rho1)/(rho1 (1 - rho2))",
                assess,
                "it covers all priors, and so all people; it cannot be limited to a subgroup",
                self.describe,
                lambda requirement: math.log(requirement.options.amplification) / requirement.max_records,
            ),
        )


def assess(requirement: Requirement[Rho1ToRho2Options], channel: Product, original: Original | int) -> Finding:
    """Decide exactly, in fractions, from the channel; a table adds the association of unlinkable columns."""
    options = requirement.options
    exposed = scope_loss(channel, requirement.max_records)
    in_record = options.scope == "record"
    gamma = exposed.record if in_record else exposed.attribute
    after = largest_posterior(gamma, options.rho1)
    fallen = Fraction(0) if gamma is None else options.rho2 / (options.rho2 + gamma * (1 - options.rho2))
    scope = exposed.record_of + exposed.why_infinite if in_record else exposed.randomised_are
    amplified = math.inf if gamma is None else round_up(gamma)
    measures = (("smallest posterior", round_down(fallen), LOWEST_POSTERIOR), ("amplification", amplified, AMPLIFIED))
    return conclude(
        requirement,
        Measure(float(options.rho2) if after == options.rho2 else round_up(after)),
        after <= options.rho2,
        Basis.CHANNEL,
        ADVERSARY[options.scope] + scope + exposed.linked,
        exposed.assumptions if in_record else (),
        (
            *(Companion(name, Measure(x), Basis.CHANNEL, text, compares_tables=True) for name, x, text in measures),
            record_epsilon_measure(exposed) if in_record else attribute_epsilon_measure(exposed),
            *unlinkable_measures(exposed, original),
        ),
        compares_tables=True,
    )


def largest_posterior(gamma: Fraction | None, prior: Fraction) -> Fraction:
    """Return the largest posterior of a property with a prior of at most `prior`; None is an infinite gamma."""
    return Fraction(1) if gamma is None else gamma * prior / (gamma * prior + 1 - prior)
