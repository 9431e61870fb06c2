"""The treatment of each released attribute, as far as the policy determines it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, TypeAlias

from rrpolicy.plugin import Attribute, Axis, Column, Identity, Matrix, Policy, PolicyError, Problem, Product, Retention
from rrpolicy.plugin.solve import Domain, keep_probability
from rrpolicy_pram.options import Label


def labels_of(attributes: Sequence[Attribute]) -> tuple[Label, ...] | None:
    """Return the categories of an attribute, or the combinations of several; None while a domain is unknown."""
    domains = [a.domain for a in attributes if a.domain is not None]
    if len(domains) < len(attributes):
        return None
    return domains[0] if len(domains) == 1 else tuple(product(*domains))


@dataclass(frozen=True, slots=True)
class FixedProbability:
    """One parameter in the policy, in either of two forms; both None if it is to be solved for.

    Attributes:
        keep: keep probability of every block of two categories or more.
    """

    keep: Fraction | None = None
    retention: Fraction | None = None

    @property
    def certain(self) -> bool:
        """Return whether every value is kept with certainty."""
        return Fraction(1) in {self.keep, self.retention}

    def keep_of(self, size: int) -> Fraction:
        """Return the keep probability in a block of so many categories."""
        if self.retention is not None:
            return keep_probability(self.retention, size)
        return Fraction(1) if self.keep is None or size == 1 else self.keep


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """A retention matrix, in blocks or not.

    Attributes:
        blocks: codes of the categories of each block; empty while the domain is unknown.
    """

    blocks: tuple[tuple[int, ...], ...]
    given: FixedProbability

    @property
    def alone(self) -> bool:
        """Return whether every block is one category, so that nothing is exchanged."""
        return bool(self.blocks) and max(map(len, self.blocks)) == 1

    @property
    def open(self) -> bool:
        """Return whether the parameter is to be solved for."""
        return self.given == FixedProbability() and not self.alone


@dataclass(frozen=True, slots=True)
class ExplicitRule:
    """A matrix written out: `rows[u][v]`, columns in domain order; of attributes together, of combinations."""

    released: tuple[Label, ...]
    rows: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True)
class InvariantRule:
    """A matrix that preserves a marginal, made in two stages from a retention matrix.

    Attributes:
        given: the parameter of the initial retention matrix.
        marginal: exact shares in domain order; None while it is to be observed.
        source: source of the marginal.
    """

    given: FixedProbability
    marginal: tuple[Fraction, ...] | None
    source: Literal["observed", "declared"]


TreatmentRule: TypeAlias = "RetentionRule | ExplicitRule | InvariantRule | None"
"""None: released unmodified."""


@dataclass(frozen=True, slots=True)
class AttributeTreatment:
    """A released attribute, or several as one, and its treatment.

    Attributes:
        attributes: more than one if they are randomised together.
    """

    attributes: tuple[Attribute, ...]
    rule: TreatmentRule

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the attributes."""
        return tuple(a.name for a in self.attributes)

    @property
    def known(self) -> bool:
        """Return whether every domain is known, if there is one."""
        return all(a.domain is not None or not a.categorical for a in self.attributes)

    @property
    def exchanges(self) -> bool:
        """Return whether values are exchanged at all; otherwise it is released unmodified."""
        match self.rule:
            case RetentionRule(given=given) as rule:
                return not rule.alone and not given.certain
            case ExplicitRule(released, rows):
                unit = all(x == (u == v) for u, row in enumerate(rows) for v, x in enumerate(row))
                return not (unit and released == labels_of(self.attributes))
            case InvariantRule(given=given):
                return not given.certain
        return False

    def axis(self) -> type[Axis] | None:
        """Return the class of its axis; None for a carried column."""
        if not self.exchanges:
            return Identity if self.attributes[0].categorical else None
        return Retention if isinstance(self.rule, RetentionRule) else Matrix

    @property
    def solved(self) -> bool:
        """Return whether the parameter is to be solved for."""
        return isinstance(self.rule, RetentionRule) and self.rule.open


@dataclass(frozen=True, slots=True)
class PramLayout:
    """All released attributes, in the policy's order; attributes randomised together are at the first one's place."""

    treatments: tuple[AttributeTreatment, ...]
    allocation: Literal["equal", "optimal", "fixed"]

    @property
    def solved(self) -> tuple[str, ...]:
        """Return the attributes whose parameters are to be solved for."""
        return tuple(name for t in self.treatments if t.solved for name in t.names)

    @property
    def fixed(self) -> bool:
        """Return whether the policy alone determines the channel."""
        return all(
            not t.solved and t.known and not (isinstance(t.rule, InvariantRule) and t.rule.marginal is None)
            for t in self.treatments
        )


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
        cells = [label if isinstance(label, tuple) else (label,) for label in rule.released]
        labels = [tuple(dict.fromkeys(column)) for column in zip(*cells, strict=True)]
        rows = dict(zip(cells, rule.rows, strict=True))
        never = (Fraction(0),) * len(rule.rows[0])
        columns = (
            Column(d.attribute, "category", own, "", d.attribute) for d, own in zip(domains, labels, strict=True)
        )
        return Matrix(tuple(domains), tuple(columns), tuple(rows.get(cell, never) for cell in product(*labels)))
    if rule is None or rule.marginal is None:
        raise ValueError(f"the policy does not declare how {', '.join(treatment.names)} is randomised")
    (attribute,), (domain,) = treatment.attributes, domains
    return _invariant_axis(attribute, domain, rule.marginal, rule)


def _attribute_domain(attribute: Attribute) -> Domain:
    if attribute.domain is None:
        raise ValueError(f"the domain of '{attribute.name}' is not known")
    return Domain(attribute.name, attribute.domain)


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
