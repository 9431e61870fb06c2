"""Several releases of the same people as one channel, to which the assessors of single releases apply unchanged.

The worst case is that the rows of all releases can be linked. For the same values the joint channel of linked rows is,
attribute by attribute, the column-wise Kronecker (Khatri-Rao) product P[(u1, u2), v] = P1[u1, v] P2[u2, v]. If a
person's values may have changed between two releases, each release's value is a separate attribute with its axis, so
that epsilons add and cross ratios multiply. That is also a bound for the first case, exact for retention, and it is
used if the product has too many rows to list.

Proportional rows of a product contain the same information and are merged: posteriors, ratios and risks do not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.partition import Levels
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Axis, Channel, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.frozen import replace

MAX_LABELS = 1 << 18
"""Maximum number of entries of a product's matrix that is listed; a larger one is bounded."""
Key = tuple[int, tuple[tuple[str, str | None], ...]]
"""Number of categories, or of their combinations, and the attributes with the digests of their categories."""


class ReleaseComponent(Struct, frozen=True):
    """Parts of a release that composition uses.

    Attributes:
        channel: the channel as published.
        domains: attribute -> digest of its categories in their order; None for a column without listed categories.
        series: id shared by releases that draw a person's value with the same noise; None for an independent draw.
    """

    name: str
    channel: Channel
    records: int
    domains: Mapping[str, str | None]
    series: str | None = None


class LinkedChannel(Struct, frozen=True):
    """The channel of linked rows.

    Attributes:
        channel: a product whose axes are those of the last release where it has them.
        drawn: the axes that are random, conditional on the deterministic ones.
        certain: the deterministic axes of all releases: records that agree on them are in one class.
        carried: attributes that are released unmodified, without listed categories.
        exact: whether it is the exact product, or a bound.
        strange: attributes that the last release does not have with these categories; its table has no values of them.
    """

    channel: Product
    drawn: Product
    certain: tuple[Axis, ...]
    carried: tuple[str, ...]
    exact: bool
    strange: tuple[str, ...]


def further_value_component(part: ReleaseComponent, values: int) -> ReleaseComponent:
    """Return the part of a release on a person's next value, after so many others, in a series.

    An attribute of two categories has no third value: attributes without a further value are omitted.
    """
    assert isinstance(part.channel, Product)
    axes = [axis for axis in part.channel.axes if axis.original_size > values]
    return replace(part, channel=_product_channel(axes, part.channel.carried))


def composition_obstacle(channel: Channel) -> str | None:
    """Return the reason why a channel cannot be composed; None if it can."""
    if not isinstance(channel, Product):
        return f"a '{channel.kind}' channel deals records into groups by the table itself"
    for axis in channel.axes:
        names = ", ".join(f"'{name}'" for name in axis.attributes)
        if isinstance(axis, Recode):
            if not isinstance(axis.rule, Levels):
                return f"{names} are generalised to boxes chosen from the table"
            if axis.rule.suppressing:
                return f"records are suppressed by their values of {names}"
        elif not isinstance(axis, Transition):
            return f"{names} {'is' if len(axis.attributes) == 1 else 'are'} released as sets, or not as listed values"
    return None


def link_same_values(parts: Sequence[ReleaseComponent]) -> LinkedChannel:
    """Return the channel of linked rows of the same people with the same values; every part needs a composition rule.

    Attributes and roles are those of the last part.
    """
    last = parts[-1]
    own: dict[Key, list[Axis]] = {}
    for part in reversed(parts):
        for axis in _attribute_axes(part.channel):
            named = tuple((name, part.domains.get(name)) for name in axis.attributes)
            own.setdefault((axis.original_size, named), []).append(axis)
    known = {(name, last.domains[name]) for name in last.domains}
    axes, drawn, certain, exact, strange = [], [], [], True, []
    taken: set[str] = set()
    for number, ((_, key), same) in enumerate(own.items()):
        foreign = not set(key) <= known or bool(taken & {name for name, _ in key})
        suffix = f" ({number})" if foreign else ""
        strange += [f"{name}{suffix}" for name, _ in key] if foreign else []
        taken |= {name for name, _ in key}
        found, all_of_it = _composed_axes(same, suffix)
        chance = [axis for axis in same if not isinstance(axis, (Identity, Recode))]
        axes += found
        drawn += _composed_axes(chance, suffix)[0] if chance else []
        certain += [_renamed_axis(axis, suffix) for axis in same if isinstance(axis, (Identity, Recode))]
        exact &= all_of_it
    carried = _carried_columns(parts, taken)
    return LinkedChannel(
        _product_channel(axes, carried),
        _product_channel(drawn, ()),
        tuple(a for a in certain if any(c.assume_unlinkable is None for c in a.columns())),
        tuple(c.attribute for c in carried if c.assume_unlinkable is None),
        exact,
        tuple(strange),
    )


def link_changing_values(parts: Sequence[ReleaseComponent]) -> Product:
    """Return the channel of linked rows of the same people whose values may differ between releases."""
    axes, carried = [], []
    for number, part in enumerate(parts):
        suffix = f" ({number})"
        axes += [_renamed_axis(axis, suffix) for axis in _attribute_axes(part.channel)]
        carried += [
            replace(c, name=c.attribute + suffix, attribute=c.attribute + suffix)
            for c in _unchanged_columns(part.channel)
        ]
    return _product_channel(axes, carried)


def _attribute_axes(channel: Channel) -> Iterator[Axis]:
    for axis in getattr(channel, "axes", ()):
        if isinstance(axis, Recode) and len(axis.attributes) > 1:
            rows = zip(axis.original, axis.released, axis.of_labels, strict=True)
            yield from (Recode((d,), (column,), (groups,), Levels()) for d, column, groups in rows)
        else:
            yield axis


def _composed_axes(parts: Sequence[Axis], suffix: str) -> tuple[list[Axis], bool]:
    """Return the axes of linked releases of the same attributes, and whether they are the exact product."""
    unchanged = [axis for axis in parts if isinstance(axis, Identity)]
    if unchanged:  # no other channel adds information; people linked by one of them are linked
        open_ones = [a for a in unchanged if a.released.assume_unlinkable is None]
        return [_renamed_axis((open_ones or unchanged)[0], suffix)], True
    if len(parts) == 1:
        return [_renamed_axis(parts[0], suffix)], True
    recodings = [axis for axis in parts if isinstance(axis, Recode)]
    if len(recodings) == len(parts):
        return [_renamed_axis(_common_refinement(recodings), suffix)], True
    rows = khatri_rao(parts)
    if rows is None:
        return [_renamed_axis(axis, f"{suffix} ({i})" if i else suffix) for i, axis in enumerate(parts)], False
    return [_matrix_axis(parts[0], rows, suffix)], True


def khatri_rao(parts: Sequence[Axis]) -> tuple[tuple[Fraction, ...], ...] | None:
    """Return the column-wise Kronecker product of matrices, proportional rows merged; None if it is too large.

    The axes have the same attributes, and list their values.
    """
    size = parts[0].original_size
    if size > MAX_LABELS:
        return None
    rows: dict[tuple[Fraction, ...], Fraction] = {(Fraction(1, size),) * size: Fraction(size)}
    for part in parts:
        assert isinstance(part, Transition)
        listed: dict[int, list[Fraction]] = {}
        for code in range(size):
            for released, chance in part.column(code).items():
                listed.setdefault(released, [Fraction(0)] * size)[code] = chance
        if len(listed) * size > MAX_LABELS:
            return None
        wider: dict[tuple[Fraction, ...], Fraction] = {}
        for shape, weight in rows.items():
            for row in listed.values():
                told = [a * b for a, b in zip(shape, row, strict=True)]
                total = sum(told, Fraction(0))
                if total:
                    scaled = tuple(entry / total for entry in told)
                    wider[scaled] = wider.get(scaled, Fraction(0)) + weight * total
            if len(wider) * size > MAX_LABELS:
                return None
        rows = wider
    return tuple(tuple(entry * weight for entry in shape) for shape, weight in rows.items())


def _common_refinement(parts: Sequence[Recode]) -> Recode:
    """Return the common refinement of generalisations of one attribute: values equal in all share a label."""
    (domain,) = parts[0].original
    images = [[next(iter(part.column(code))) for part in parts] for code in range(len(domain.labels))]
    numbers = {image: number for number, image in enumerate(dict.fromkeys(map(tuple, images)))}
    return Recode.by_levels((domain,), [[numbers[tuple(image)] for image in images]])


def _matrix_axis(like: Axis, rows: Sequence[tuple[Fraction, ...]], suffix: str) -> Matrix:
    """Return rows as an axis over the attributes of another; its first column contains the row's number."""
    domains = _axis_domains(like)
    first, *rest = (f"{d.attribute}{suffix}" for d in domains)
    columns = (
        Column(first, "category", tuple(range(len(rows))), "", first),
        *(Column(name, "category", (0,), "", name) for name in rest),
    )
    named = tuple(Domain(c.attribute, d.labels) for c, d in zip(columns, domains, strict=True))
    return Matrix(named, columns, tuple(rows))


def _axis_domains(axis: Axis) -> tuple[Domain, ...]:
    if isinstance(axis, (Matrix, Recode, Retention)):
        return axis.original
    if isinstance(axis, Identity):
        return (Domain(axis.attribute, axis.labels),)
    rest = (Domain(name, (0,)) for name in axis.attributes[1:])
    return (Domain(axis.attributes[0], tuple(range(axis.original_size))), *rest)


def _renamed_axis(axis: Axis, suffix: str) -> Axis:
    """Return an axis whose columns have its attributes' names; with a suffix, as separate attributes."""
    names = [f"{name}{suffix}" for name in axis.attributes]
    columns = tuple(replace(c, name=n, attribute=n) for c, n in zip(axis.columns(), names, strict=True))
    if isinstance(axis, Identity):
        return replace(axis, attribute=names[0], released=columns[0])
    if isinstance(axis, (Matrix, Recode, Retention)):
        domains = tuple(Domain(n, d.labels) for n, d in zip(names, axis.original, strict=True))
        return replace(axis, original=domains, released=columns)
    rows = khatri_rao([axis])
    if rows is None:
        raise ValueError(f"an axis of kind '{axis.kind}' is too wide to be listed")
    return _matrix_axis(axis, rows, suffix)


def _carried_columns(parts: Sequence[ReleaseComponent], taken: Collection[str]) -> tuple[Column, ...]:
    """Return the columns carried in any release, each once; unlinkable only if assumed unlinkable in all of them."""
    found: dict[str, Column] = {}
    for part in parts:
        for column in _unchanged_columns(part.channel):
            name = f"{column.attribute} (unchanged)" if column.attribute in taken else column.attribute
            before = found.get(name)
            if before is None or before.assume_unlinkable is not None:
                found[name] = replace(column, name=name, attribute=name)
    return tuple(found.values())


def _unchanged_columns(channel: Channel) -> tuple[Column, ...]:
    carried: tuple[Column, ...] = getattr(channel, "carried", ())
    return carried


def _product_channel(axes: Sequence[Axis], carried: Sequence[Column]) -> Product:
    columns = [*(c for axis in axes for c in axis.columns()), *carried]
    return Product(tuple(axes), tuple(carried), tuple(column.name for column in columns))
