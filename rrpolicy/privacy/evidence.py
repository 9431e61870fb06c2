"""What an attacker holds against a product channel: groups with equal quasi-identifiers, and their sensitive values.

Quasi-identifiers count as evidence, and whatever else is released with certainty, unless the policy states why it links
nobody: unchanged, recoded, or by a matrix that can be read back. A sensitive attribute is what he does not know, unless
the requirement says that he does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.channel.base import Axis, Transition
from rrpolicy.channel.identity import Identity
from rrpolicy.channel.product import Product
from rrpolicy.channel.recode import Recode
from rrpolicy.policy.model import Policy, Role

if TYPE_CHECKING:
    from rrpolicy.channel.table import Column
    from rrpolicy.source.counts import Array, Codes, Ints
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True, slots=True)
class Sides:
    """Which axes of a channel tell who somebody is, and which tells the sensitive value.

    Attributes:
        known: axes of what the attacker knows of a person.
        carried: columns without a domain that he knows, released as they are.
        sensitive: the axis of the sensitive attribute; None for linking.
    """

    known: tuple[Axis, ...]
    carried: tuple[Column, ...]
    sensitive: Axis | None


@dataclass(frozen=True)
class Evidence:
    """The groups of a table: people who agree in all that an attacker knows.

    What is released with certainty, unchanged or recoded, parts the groups into contexts that never mix. Contexts of
    several groups come first: a group with a context of its own is told apart from all others, R_QI = 1, and needs no
    computation. In one context several groups may stand at one place of the randomised axes: those recoded alike.

    Attributes:
        axes: the randomised axes among what is known.
        codes: (groups, len(axes)) each group's category on them.
        context: (groups,) number of the combination of certain values that each group has, from 0, non-decreasing.
        n: (groups,) people.
        sensitive: the axis of the sensitive attribute; None for linking.
        histograms: (groups, categories) people by sensitive value; one column for linking.
        names: attributes that are known, unchanged ones included.
        labels: the categories of each.
        values: (groups, len(names)) each group's category on them.
    """

    axes: tuple[Axis, ...]
    codes: Codes
    context: Ints
    n: Ints
    sensitive: Axis | None
    histograms: Ints
    names: tuple[str, ...]
    labels: tuple[Sequence[Value], ...]
    values: Codes

    @property
    def records(self) -> int:
        """Return N."""
        return int(self.n.sum())

    @cached_property
    def mixed(self) -> int:
        """Return the number of groups that share their context; they are the first ones."""
        size = np.bincount(self.context)
        return int(size[size > 1].sum())

    @cached_property
    def contexts(self) -> int:
        """Return the number of contexts of several groups."""
        return int((np.bincount(self.context) > 1).sum())

    @property
    def shares(self) -> Array:
        """Return (groups, categories) c = pi[alpha, u]/pi[alpha], the shares of the sensitive values."""
        return self.histograms / self.n[:, None]

    def describe(self, group: int) -> str:
        """Return a group's values in words. Audit only."""
        return ", ".join(f"{a} = {self.labels[i][self.values[group, i]]}" for i, a in enumerate(self.names))


def sides(channel: Product, policy: Policy, sensitive: str | None, *, known_sensitive: bool = False) -> Sides:
    """Tell what is known from what is sensitive.

    Args:
        channel: what is released.
        policy: for the roles.
        sensitive: the sensitive attribute; None for linking.
        known_sensitive: whether the attacker knows the other sensitive attributes.
    """
    known: list[Axis] = []
    target: Axis | None = None
    for axis in channel.axes:
        roles = {policy.attributes[name].role for name in axis.attributes}
        if sensitive is not None and sensitive in axis.attributes:
            target = axis
        elif roles == {Role.SENSITIVE}:
            if known_sensitive:
                known.append(axis)
        elif Role.QUASI_IDENTIFIER in roles or (revealing(axis) and _linkable(axis)):
            known.append(axis)
    evident = {Role.QUASI_IDENTIFIER, Role.INSENSITIVE, *([Role.SENSITIVE] if known_sensitive else [])}
    carried = (c for c in channel.carried if c.assume_unlinkable is None and c.attribute != sensitive)
    return Sides(tuple(known), tuple(c for c in carried if policy.attributes[c.attribute].role in evident), target)


def revealing(axis: Axis) -> bool:
    """Whether a released value tells the original, or the group it was recoded to, with certainty."""
    if isinstance(axis, (Identity, Recode)):
        return True
    if not isinstance(axis, Transition):
        return False
    seen: set[int] = set()
    for code in range(axis.original_size):
        released = axis.column(code).keys()
        if not seen.isdisjoint(released):
            return False
        seen.update(released)
    return True


def _linkable(axis: Axis) -> bool:
    return any(column.assume_unlinkable is None for column in axis.columns())


def coupled(channel_axes: Sequence[tuple[str, ...]], policy: Policy, sensitive: str) -> str | None:
    """Return why a sensitive attribute cannot be assessed: its axis must be its own, or independence is lost."""
    if sensitive not in policy.attributes:
        return f"there is no attribute '{sensitive}'"
    own = next((attributes for attributes in channel_axes if sensitive in attributes), ())
    if len(own) > 1:
        return f"'{sensitive}' is randomised together with other attributes; the risk needs it on an axis of its own"
    return None if own else f"'{sensitive}' is released without categories, of which the risk speaks"


def gather(original: Original, known: Sides) -> Evidence:
    """Count the groups of a table, in one pass.

    Args:
        original: the table.
        known: what `sides` told.
    """
    attributes = [name for axis in known.known for name in axis.attributes]
    own = list(known.sensitive.attributes) if known.sensitive is not None else []
    codes, n, labels = _cells(original, attributes, [c.attribute for c in known.carried], own)
    width = codes.shape[1] - len(own)
    groups, starts = _runs(codes[:, :width])
    member = np.repeat(np.arange(len(groups)), np.diff(np.append(starts, len(codes))))
    size = known.sensitive.original_size if known.sensitive is not None else 1
    shape = tuple(len(original.policy.attributes[a].domain or ()) for a in own)
    value = np.ravel_multi_index(tuple(codes[:, width:].T), shape) if own else np.zeros(len(codes), dtype=np.int64)
    histograms = np.zeros((len(groups), size), dtype=np.int64)
    histograms[member, value] = n

    flat, certain, column = [], [groups[:, len(attributes) : width]], 0
    randomised: list[Axis] = []
    for axis in known.known:
        span = range(column, column + len(axis.attributes))
        column += len(axis.attributes)
        if isinstance(axis, Identity):
            certain.append(groups[:, list(span)])
        elif isinstance(axis, Recode):
            certain.append(axis.recode(groups[:, list(span)]))
        else:
            randomised.append(axis)
            shape = tuple(len(labels[i]) for i in span)
            flat.append(np.ravel_multi_index(tuple(groups[:, i] for i in span), shape))
    context = _contexts(np.concatenate(certain, axis=1))
    order = np.argsort(context, kind="stable")
    own_codes = np.empty((len(groups), len(flat)), dtype=np.int32, order="F")
    for column, codes_of_axis in enumerate(flat):
        own_codes[:, column] = codes_of_axis[order]
    histograms = histograms[order]
    return Evidence(
        tuple(randomised),
        own_codes,
        context[order],
        histograms.sum(axis=1),
        known.sensitive,
        histograms,
        (*attributes, *(c.attribute for c in known.carried)),
        tuple(labels),
        groups[order],
    )


def _cells(
    original: Original, attributes: Sequence[str], carried: Sequence[str], own: Sequence[str]
) -> tuple[Codes, Ints, list[Sequence[Value]]]:
    """Return occupied cells sorted by (attributes, carried, own), their counts, and the labels of the first two."""
    domains = [original.policy.attributes[a].domain or () for a in attributes]
    if not carried:
        counts = original.counts(*attributes, *own)
        return counts.codes, counts.n, [list(d) for d in domains]
    import pyarrow as pa

    table = pa.Table.from_batches(list(original.rows(*attributes, *carried, *own)))
    columns: list[Codes] = []
    labels: list[Sequence[Value]] = [list(d) for d in domains]
    for i in range(table.num_columns):
        column = table.column(i).combine_chunks()
        if len(attributes) <= i < len(attributes) + len(carried):
            encoded = column.dictionary_encode(null_encoding="encode")
            labels.append(encoded.dictionary.to_pylist())
            column = encoded.indices
        columns.append(np.asarray(column, dtype=np.int32))
    rows = np.stack(columns, axis=1)
    rows = rows[np.lexsort(rows.T[::-1])]
    cells, starts = _runs(rows)
    return cells, np.diff(np.append(starts, len(rows))).astype(np.int64), labels


def _runs(rows: Codes) -> tuple[Codes, Ints]:
    """Return the distinct rows of a sorted table and where each begins."""
    first = np.ones(len(rows), dtype=bool)
    if rows.shape[1]:
        first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    else:
        first[1:] = False
    starts = np.flatnonzero(first)
    return rows[starts], starts.astype(np.int64)


def _contexts(rows: Codes) -> Ints:
    """Return the number of each row among the distinct rows: first those that stand twice or more, in row order."""
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    step = np.any(rows[order][1:] != rows[order][:-1], axis=1)
    number = np.empty(len(rows), dtype=np.int64)
    number[order] = np.concatenate(([0], np.cumsum(step)))[: len(rows)]
    alone = np.bincount(number) == 1
    rank = np.empty(len(alone), dtype=np.int64)
    rank[np.argsort(alone, kind="stable")] = np.arange(len(alone))
    return rank[number]
