"""From a layout to the product channel."""

from __future__ import annotations

from fractions import Fraction

from rrpolicy.plugin import Attribute, Matrix, PolicyError, Problem, Product, Retention, Value
from rrpolicy_pram.layout import Explicit, Invariant, Layout, Retained, Rule, Treatment


def build(layout: Layout) -> Product:
    """Return the channel; what is to be solved for stands in it with a keep probability of 1.

    Args:
        layout: every rule complete but for what is to be solved for, every domain known.

    Raises:
        PolicyError: RR236 if an invariant matrix cannot be written.
        ValueError: if a domain or a marginal is not known.
    """
    axes = [_axis(t) for t in layout.treatments if t.exchanges]
    return Product.of([t.attribute for t in layout.treatments], axes)


def _axis(treatment: Treatment) -> Retention | Matrix:
    attribute = treatment.attribute
    if attribute.domain is None:
        raise ValueError(f"the domain of '{attribute.name}' is not known")
    return _ruled(attribute, attribute.domain, treatment.rule)


def _ruled(attribute: Attribute, labels: tuple[Value, ...], rule: Rule) -> Retention | Matrix:
    if isinstance(rule, Retained):
        members = [[labels[i] for i in block] for block in rule.blocks]
        return Retention.in_blocks(attribute.name, labels, [(m, rule.given.keep_of(len(m))) for m in members])
    if isinstance(rule, Explicit):
        return Matrix.explicit(attribute.name, labels, rule.released, rule.rows)
    if rule is None or rule.marginal is None:
        raise ValueError(f"nothing says yet how '{attribute.name}' is randomised")
    return _invariant(attribute, labels, rule.marginal, rule)


def _invariant(
    attribute: Attribute, labels: tuple[Value, ...], marginal: tuple[Fraction, ...], rule: Invariant
) -> Matrix:
    keep = rule.given.keep_of(len(labels))
    try:
        return Matrix.preserving(attribute.name, labels, marginal, keep, of=rule.source)
    except ValueError as error:
        message = f"the invariant matrix of '{attribute.name}' cannot be written: {error}"
        hint = "raise its keep probability, or merge the rarest categories"
        raise PolicyError(Problem("RR236", message, attribute.place, hint=hint)) from error
