"""Identity disclosure: an attacker who knows a person's quasi-identifiers selects the person's record.

    link(alpha) = sum_beta P_QI[beta, alpha]^2 / (N lambda_QI[beta]) = R_QI(alpha) / (N pi[alpha])

(Teng, Du 2006, Theorem 3.2). On an unmodified or generalised table it is 1 over the size of the group.
"""

from __future__ import annotations

from rrpolicy.declarations import Role
from rrpolicy.finding import Risk
from rrpolicy.numbers import percent_rounded_up
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.disclosure.disclosure_model import DisclosureFunctions, DisclosureModel
from rrpolicy.privacy.disclosure.identity_options import ADVERSARY, NAME, IdentityDisclosureOptions
from rrpolicy.privacy.epsilon.scope_loss import ATTACKER_OF_ONE
from rrpolicy.privacy.model import EVERY_MODEL, MORE_RECORDS, Assessor, Order, subgroup_obstacle


class IdentityDisclosure:
    """The privacy model `identity-disclosure`."""

    name = NAME
    options = IdentityDisclosureOptions
    not_covered = (
        (
            "Attackers who know all original values: in tiny tables they link better than the attacker of "
            "`identity-disclosure`, who knows one person's values and the expected shares. 1/k limits all "
            "of them."
        ),
        "Values of a record once it is found: that is attribute disclosure.",
        MORE_RECORDS,
        *EVERY_MODEL,
    )
    example = 'threshold = "1/20"'
    methods = ("randomised", "partly-randomised", "generalised", "grouped", "sets")
    bounds = frozenset({Risk.LINKING})
    states = Risk.LINKING

    def describe(self, options: IdentityDisclosureOptions) -> str:
        """Return such as `link <= 1/100`."""
        if options.percentile is None:
            return f"link <= {options.threshold}"
        return f"mean link of the {options.percentile} % most at risk <= {options.threshold}"

    def limits_nothing(self, options: IdentityDisclosureOptions) -> str | None:
        """Return that a threshold of 1 limits nothing."""
        return "limits nothing: no probability exceeds 1" if options.threshold >= 1 else None

    def promise(self, options: IdentityDisclosureOptions) -> str:
        """Return the guarantee in plain words."""
        mean = "" if options.percentile is None else f", on average over the {options.percentile} % most at risk"
        return (
            f"Re-identification: {ATTACKER_OF_ONE} picks that person's record with a probability of at most "
            f"{percent_rounded_up(options.threshold)}{mean}."
        )

    def refuses(self, options: IdentityDisclosureOptions, policy: Policy) -> str | None:  # noqa: ARG002
        """Refuse a policy without quasi-identifiers."""
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy declares no quasi-identifier"

    def compare(self, old: IdentityDisclosureOptions, new: IdentityDisclosureOptions) -> Order:
        """Compare thresholds; different percentiles are incomparable."""
        if old.percentile != new.percentile:
            return Order.INCOMPARABLE
        return Order.by(old.threshold - new.threshold)

    def assessors(self) -> tuple[Assessor, ...]:
        """Return the assessor for product channels."""
        return (DISCLOSURE_MODEL.assessor(),)


def _subgroup_problem(requirement: Requirement[IdentityDisclosureOptions], policy: Policy) -> str | None:
    """Refuse subgroups by unknown attributes."""
    known = {a.name for a in policy.with_role(Role.QUASI_IDENTIFIER)}
    return subgroup_obstacle(requirement, known, "which is not a quasi-identifier")


def _disclosure_functions(requirement: Requirement[IdentityDisclosureOptions]) -> DisclosureFunctions:
    del requirement
    from rrpolicy.privacy.disclosure import constraint, identity, minimum_risk

    return DisclosureFunctions(
        lambda *asked: (identity.linkage_chances(*asked),),
        identity.linkage_finding,
        constraint.linking_constraint,
        lambda *given: (minimum_risk.linking_minimum(*given),),
        constraint.class_size_test,
    )


DISCLOSURE_MODEL = DisclosureModel(
    NAME, "Teng, Du 2006, Theorem 3.2", ADVERSARY, (), _subgroup_problem, _disclosure_functions
)
