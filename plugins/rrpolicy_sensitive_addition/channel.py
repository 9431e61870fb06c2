"""From hidden attributes to the product channel: sets for these, all others unmodified."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.plugin import Attribute, Axis, Column, Identity, Policy, Product, Sets
from rrpolicy.plugin.solve import Domain
from rrpolicy_sensitive_addition.layout import HiddenGroup


def build_channel(hidden: Sequence[HiddenGroup], policy: Policy) -> Product:
    """Return the channel; every domain must be known."""
    return Product.of(policy.released, [set_axis(each) for each in hidden])


def set_axis(hidden: HiddenGroup) -> Sets:
    """Return the axis of attributes that are hidden as one."""
    domains = tuple(Domain(a.name, a.domain or ()) for a in hidden.attributes)
    return Sets(domains, tuple(_list_column(a) for a in hidden.attributes), hidden.set_size)


def outline_axes(hidden: Sequence[HiddenGroup], policy: Policy) -> tuple[tuple[tuple[str, ...], type[Axis]], ...]:
    """Return (attributes, axis class) of every axis, in the channel's order."""
    own = {a.name: tuple(a.name for a in each.attributes) for each in hidden for a in each.attributes}
    found: list[tuple[tuple[str, ...], type[Axis]]] = []
    for attribute in policy.released:
        names = own.get(attribute.name)
        if names is not None and names[0] == attribute.name:
            found.append((names, Sets))
        elif names is None and attribute.categorical:
            found.append(((attribute.name,), Identity))
    return tuple(found)


def _list_column(attribute: Attribute) -> Column:
    return Column(attribute.release_as or attribute.name, "set", attribute.domain or (), "", attribute.name)
