"""The evidence of an attacker on a product channel: groups with equal quasi-identifiers, and their sensitive values.

Quasi-identifiers count as evidence, and all columns that are released with certainty (unmodified, recoded, or by a
matrix that can be read back), unless the policy states why they link nobody. Sensitive attributes are unknown, unless
the requirement includes attackers who know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.base import Axis, Posterior, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.cells import context_numbers, equal_row_runs, occupied_cells

if TYPE_CHECKING:
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.source.protocol import Original


CERTAIN = 1e-9
"""An expected posterior this near to 1 is taken for certainty."""


class KnownAndSensitive(Struct, frozen=True):
    """The axes and carried columns that an attacker knows of a person, and the sensitive axis; None for linking.

    `siblings` are the other attributes of that axis that are known as well.
    """

    known: tuple[Axis, ...]
    carried: tuple[Column, ...]
    sensitive: Axis | None
    siblings: tuple[str, ...] = ()


class Evidence(Struct, frozen=True, dict=True):
    """The groups of a table: people who agree in all attributes that an attacker knows.

    Columns that are released with certainty, unmodified or recoded, split the groups into contexts that never mix.
    Contexts of several groups come first: a group with its own context is distinguished from all others, R_QI = 1, and
    needs no computation. In one context several groups may have one cell of the randomised axes: those recoded equally.

    Attributes:
        axes: the randomised axes among the known ones.
        codes: (groups, len(axes)) each group's category on them.
        context: (groups,) number of each group's combination of certain values, from 0, non-decreasing.
        n: (groups,) people.
        sensitive: the axis of the sensitive attribute; None for linking.
        histograms: (groups, categories) people by sensitive value; one column for linking.
        names: known attributes, unmodified ones included.
        labels: the categories of each.
        values: (groups, len(names)) each group's category on them.
        revealed: known attributes that count as released unmodified, although they are not: an upper bound (data
            processing).
        cells: (groups, original size) people by category of the sensitive axis; None if that is the attribute.
        part: (original size,) the attribute's category in each of these cells.
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
    revealed: tuple[str, ...] = ()
    cells: Ints | None = None
    part: Ints | None = None

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

    @property
    def joint(self) -> Ints:
        """Return (groups, original size) people by category of the sensitive axis."""
        return self.histograms if self.cells is None else self.cells

    def of(self, attribute: str, domains: Sequence[int]) -> Evidence:
        """Return the evidence of one attribute of the sensitive axis, which has these numbers of categories."""
        assert self.sensitive is not None
        if len(self.sensitive.attributes) == 1:
            return self
        place = self.sensitive.attributes.index(attribute)
        part = np.unravel_index(np.arange(self.sensitive.original_size), tuple(domains))[place].astype(np.int64)
        histograms = np.zeros((len(self.n), domains[place]), dtype=np.int64)
        np.add.at(histograms.T, part, self.histograms.T)
        return replace(self, histograms=histograms, cells=self.histograms, part=part)

    def by_value(self, cells: Array) -> Array:
        """Return (groups, values) sums of (groups, original size) over cells with the same value of the attribute."""
        if self.part is None:
            return cells
        out = np.zeros(self.histograms.shape)
        np.add.at(out.T, self.part, cells.T)
        return out

    def describe(self, group: int) -> str:
        """Return a group's values in words. Audit only."""
        return ", ".join(f"{a} = {self.labels[i][self.values[group, i]]}" for i, a in enumerate(self.names))


def split_axes(
    channel: Product,
    policy: Policy,
    sensitive: str | None,
    *,
    known_sensitive: bool = False,
    assumptions: bool = True,
) -> KnownAndSensitive:
    """Split a channel into the attacker's knowledge and the sensitive axis.

    `sensitive` is None for linking. `known_sensitive`: the attacker knows the other sensitive attributes.
    `assumptions`: columns that are assumed unlinkable are unknown.
    """
    known: list[Axis] = []
    target: Axis | None = None
    siblings: tuple[str, ...] = ()
    for axis in channel.axes:
        roles = {policy.attributes[name].role for name in axis.attributes}
        if sensitive is not None and sensitive in axis.attributes:
            target = axis
            siblings = tuple(name for name in axis.attributes if known_sensitive and name != sensitive)
        elif roles == {Role.SENSITIVE}:
            if known_sensitive:
                known.append(axis)
        elif Role.QUASI_IDENTIFIER in roles or (
            is_revealing(axis)
            and not (assumptions and all(column.assume_unlinkable is not None for column in axis.columns()))
        ):
            known.append(axis)
    evident = {Role.QUASI_IDENTIFIER, Role.INSENSITIVE, *([Role.SENSITIVE] if known_sensitive else [])}
    linked = (c for c in channel.carried if c.assume_unlinkable is None or not assumptions)
    carried = (c for c in linked if c.attribute != sensitive)
    columns = tuple(c for c in carried if policy.attributes[c.attribute].role in evident)
    return KnownAndSensitive(tuple(known), columns, target, siblings)


def is_revealing(axis: Axis) -> bool:
    """Whether a released value determines the original, or the group it was recoded to, with certainty."""
    if isinstance(axis, (Identity, Recode)):
        return True
    if isinstance(axis, Posterior) and not isinstance(axis, Transition):
        _, upper = axis.expected_posterior(np.full(axis.original_size, 1 / axis.original_size))
        return bool((upper > 1 - CERTAIN).all())
    if not isinstance(axis, Transition):
        return True
    seen: set[int] = set()
    for code in range(axis.original_size):
        released = axis.column(code).keys()
        if not seen.isdisjoint(released):
            return False
        seen.update(released)
    return True


def assumed_unlinkable_columns(channel: Product) -> tuple[str, ...]:
    """Return the columns that are released with certainty and assumed to identify nobody."""
    columns = (column for axis in channel.axes if is_revealing(axis) for column in axis.columns())
    return tuple(c.attribute for c in (*columns, *channel.carried) if c.assume_unlinkable is not None)


def gather_evidence(original: Original, known: KnownAndSensitive) -> Evidence:
    """Count the groups of a table, in one pass."""
    attributes = [*(name for axis in known.known for name in axis.attributes), *known.siblings]
    whole = list(known.sensitive.attributes) if known.sensitive is not None else []
    own = [name for name in whole if name not in known.siblings]
    codes, n, labels = occupied_cells(original, attributes, [c.attribute for c in known.carried], own)
    width = codes.shape[1] - len(own)
    groups, starts = equal_row_runs(codes[:, :width])
    member = np.repeat(np.arange(len(groups)), np.diff(np.append(starts, len(codes))))
    size = known.sensitive.original_size if known.sensitive is not None else 1
    shape = tuple(len(original.policy.attributes[a].domain or ()) for a in whole)
    place = [width + own.index(a) if a in own else attributes.index(a) for a in whole]
    value = np.ravel_multi_index(tuple(codes[:, place].T), shape) if whole else np.zeros(len(codes), dtype=np.int64)
    histograms = np.zeros((len(groups), size), dtype=np.int64)
    histograms[member, value] = n

    flat, column = [], 0
    certain = [groups[:, len(attributes) - len(known.siblings) : width]]
    revealed = list(known.siblings)
    randomised: list[Axis] = []
    for axis in known.known:
        span = range(column, column + len(axis.attributes))
        column += len(axis.attributes)
        if isinstance(axis, Identity):
            certain.append(groups[:, list(span)])
        elif isinstance(axis, Recode):
            certain.append(axis.recode(groups[:, list(span)]))
        elif not isinstance(axis, Transition):
            certain.append(groups[:, list(span)])
            revealed += axis.attributes
        else:
            randomised.append(axis)
            shape = tuple(len(labels[i]) for i in span)
            flat.append(np.ravel_multi_index(tuple(groups[:, i] for i in span), shape))
    context = context_numbers(np.concatenate(certain, axis=1))
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
        tuple(revealed),
    )


class CombinationKinds(Struct, frozen=True):
    """Combinations of quasi-identifiers, those with the same shares of the sensitive values as one kind.

    Attributes:
        people: (kinds, values) people of each kind by sensitive value.
        kind: (groups,) the kind of each combination.
    """

    people: Ints
    kind: Ints

    @classmethod
    def of(cls, people: Ints) -> CombinationKinds:
        """Return the kinds, from (groups, values) people of each combination by sensitive value."""
        shares = people // np.gcd.reduce(people, axis=1, keepdims=True)
        _, first, kind = np.unique(shares, axis=0, return_index=True, return_inverse=True)
        together = np.zeros((len(first), people.shape[1]), dtype=np.int64)
        np.add.at(together, kind.ravel(), people)
        return cls(together, kind.ravel())
