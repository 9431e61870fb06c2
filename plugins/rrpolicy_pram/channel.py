"""From a layout and parameters to the product channel."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from rrpolicy.plugin import (
    Attribute,
    Axis,
    Block,
    Column,
    Identity,
    Matrix,
    PolicyError,
    Problem,
    Product,
    Retention,
    Value,
)
from rrpolicy_pram.layout import Explicit, Given, Invariant, Layout, Retained, Rule, Treatment

ENGINE_TYPES = {str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


def build(layout: Layout, retention: Mapping[str, Fraction]) -> Product:
    """Return the channel.

    Args:
        layout: every rule complete, every domain known.
        retention: attribute -> retention probability, for each that is solved for; all blocks share it.
    """
    axes = tuple(_axis(t, retention) for t in layout.treatments if t.attribute.categorical)
    carried = tuple(_carried(t.attribute) for t in layout.treatments if not t.attribute.categorical)
    return Product(axes, carried, tuple(_name(t.attribute) for t in layout.treatments))


def _axis(treatment: Treatment, retention: Mapping[str, Fraction]) -> Axis:
    attribute, rule = treatment.attribute, treatment.rule
    if attribute.domain is None:
        raise ValueError(f"the domain of '{attribute.name}' is not known")
    if treatment.solved and isinstance(rule, Retained):
        rule = Retained(rule.blocks, Given(retention=retention[attribute.name]))
    return given_axis(attribute, attribute.domain, rule)


def given_axis(attribute: Attribute, labels: tuple[Value, ...], rule: Rule) -> Identity | Retention | Matrix:
    """Return the axis of a rule that leaves nothing open.

    Raises:
        PolicyError: RR236 if an invariant matrix cannot be written.
        ValueError: if something is open.
    """
    if rule is None or (isinstance(rule, Retained) and rule.alone):
        return Identity(attribute.name, labels, _column(attribute, labels))
    if isinstance(rule, Retained):
        blocks = tuple(Block(members, rule.given.keep_of(len(members))) for members in rule.blocks)
        return Retention(attribute.name, labels, blocks, _column(attribute, labels))
    if isinstance(rule, Explicit):
        explicit = Matrix.explicit(attribute.name, labels, rule.released, rule.rows)
        return explicit.with_columns((_column(attribute, rule.released),))
    if rule.marginal is not None:
        return _invariant(attribute, labels, rule.marginal, rule)
    raise ValueError(f"nothing says yet how '{attribute.name}' is randomised")


def _invariant(
    attribute: Attribute, labels: tuple[Value, ...], marginal: tuple[Fraction, ...], rule: Invariant
) -> Matrix:
    keep = rule.given.keep_of(len(labels))
    try:
        matrix = Matrix.preserving(attribute.name, labels, marginal, keep, of=rule.source)
    except ValueError as error:
        message = f"the invariant matrix of '{attribute.name}' cannot be written: {error}"
        hint = "raise its keep probability, or merge the rarest categories"
        raise PolicyError(Problem("RR236", message, attribute.place, hint=hint)) from error
    return matrix.with_columns((_column(attribute, labels),))


def _name(attribute: Attribute) -> str:
    return attribute.release_as or attribute.name


def _column(attribute: Attribute, labels: tuple[Value, ...]) -> Column:
    kind: Literal["category", "interval"] = "category" if attribute.bins is None else "interval"
    types = {type(label) for label in labels}
    engine = ENGINE_TYPES[types.pop()] if len(types) == 1 else "DOUBLE" if types == {int, float} else "VARCHAR"
    return Column(_name(attribute), kind, labels, engine, attribute.name, attribute.assume_unlinkable)


def _carried(attribute: Attribute) -> Column:
    return Column(_name(attribute), "carried", (), "", attribute.name, attribute.assume_unlinkable)
