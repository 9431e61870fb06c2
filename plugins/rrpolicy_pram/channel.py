"""From a layout to the product channel."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from rrpolicy.plugin import Attribute, Column, Matrix, Policy, PolicyError, Problem, Product, Retention
from rrpolicy.plugin.solve import Domain
from rrpolicy_pram.layout import AttributeTreatment, ExplicitRule, InvariantRule, PramLayout, RetentionRule


def build(layout: PramLayout, policy: Policy) -> Product:
    """Return the channel; unknown parameters have a keep probability of 1.

    Every domain of the layout must be known.
    """
    return Product.of(policy.released, [_treatment_axis(t) for t in layout.treatments if t.exchanges])


def _treatment_axis(treatment: AttributeTreatment) -> Retention | Matrix:
    domains, rule = [_attribute_domain(a) for a in treatment.attributes], treatment.rule
    if isinstance(rule, RetentionRule):
        return Retention.of(domains, [(block, rule.given.keep_of(len(block))) for block in rule.blocks])
    if isinstance(rule, ExplicitRule):
        return _explicit_axis(domains, rule)
    if rule is None or rule.marginal is None:
        raise ValueError(f"nothing says yet how {', '.join(treatment.names)} is randomised")
    (attribute,), (domain,) = treatment.attributes, domains
    return _invariant_axis(attribute, domain, rule.marginal, rule)


def _attribute_domain(attribute: Attribute) -> Domain:
    if attribute.domain is None:
        raise ValueError(f"the domain of '{attribute.name}' is not known")
    return Domain(attribute.name, attribute.domain)


def _explicit_axis(domains: list[Domain], rule: ExplicitRule) -> Matrix:
    """Return the axis of a matrix; combinations of released categories without a row are never released."""
    cells = [label if isinstance(label, tuple) else (label,) for label in rule.released]
    labels = [tuple(dict.fromkeys(column)) for column in zip(*cells, strict=True)]
    rows = dict(zip(cells, rule.rows, strict=True))
    never = (Fraction(0),) * len(rule.rows[0])
    columns = (Column(d.attribute, "category", own, "", d.attribute) for d, own in zip(domains, labels, strict=True))
    return Matrix(tuple(domains), tuple(columns), tuple(rows.get(cell, never) for cell in product(*labels)))


def _invariant_axis(
    attribute: Attribute, domain: Domain, marginal: tuple[Fraction, ...], rule: InvariantRule
) -> Matrix:
    keep = rule.given.keep_of(len(domain.labels))
    try:
        return Matrix.preserving(attribute.name, domain.labels, marginal, keep, of=rule.source)
    except ValueError as error:
        message = f"the invariant matrix of '{attribute.name}' cannot be written: {error}"
        hint = "raise its keep probability, or merge the rarest categories"
        raise PolicyError(Problem("RR236", message, attribute.place, hint=hint)) from error
