"""Record weights of generalised values: a record counts in equal shares for every category that its group covers.

    w(released group g, predicate c) = |g ∩ c| / |g|

Nothing was drawn, so nothing is random: the estimate is biased by whatever is not uniform inside the groups, and has
no standard error. It has certain bounds: the records whose group lies inside the predicate, and those whose group
meets it. Where these agree the count is exact.

References:
    Xiao, Tao 2006, "Anatomy", section 4, for uniform spread inside generalised groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.expression import ColumnComparison, Expression, Member, Not, Null, leaves_of, rewrite
from rrpolicy.estimate.weights.base import AxisWeights, Mask

if TYPE_CHECKING:
    from rrpolicy.counts import Array


@dataclass(frozen=True)
class RecodeWeights(AxisWeights):
    """One generalised column.

    Attributes:
        groups: for each released label, the positions of the categories that it covers.
    """

    groups: tuple[tuple[int, ...], ...]

    @cached_property
    def categories_of(self) -> Mapping[Value, tuple[Value, ...]]:
        """Return the categories that each released label covers."""
        return {
            label: tuple(self.original[v][0] for v in group)
            for (label,), group in zip(self.released, self.groups, strict=True)
        }

    @cached_property
    def own(self) -> frozenset[Value]:
        """Return the labels whose categories no other label covers: they are counted exactly by category, too."""
        uses: dict[int, int] = {}
        for group in self.groups:
            for v in group:
                uses[v] = uses.get(v, 0) + 1
        pairs = zip(self.released, self.groups, strict=True)
        return frozenset(label for (label,), group in pairs if all(uses[v] == 1 for v in group))

    def overlap(self, labels: Iterable[Value]) -> bool:
        """Return whether two labels cover the same category: other columns may then decide a record's label."""
        among = set(labels)
        held = [v for (label,), group in zip(self.released, self.groups, strict=True) if label in among for v in group]
        return len(held) > len(set(held))

    def is_label(self, value: Value) -> bool:
        """Whether a constant means a released label, and not the categories that the label covers.

        Both are the same if no other label covers any of these categories. A label of every category, such as `*`,
        has no information on the original: it can only mean the released label.
        """
        if value not in self.categories_of:
            return False
        categories = self.categories_of[value]
        if (value,) in self.original:
            return value in self.own and categories == (value,)
        return value in self.own or len(categories) == len(self.original)

    @property
    def randomised(self) -> bool:
        """Whether a label covers anything but itself."""
        return self.released != self.original or any(g != (u,) for u, g in enumerate(self.groups))

    @property
    def unbiased(self) -> bool:
        """Whether every label covers one category alone."""
        return not self.randomised

    def solve(self, targets: Mask) -> Array:
        """Return the share of each group that lies in each predicate, exactly 1 where all of it does."""
        inside = np.array([targets[list(group)].sum(axis=0) for group in self.groups], dtype=np.float64)
        shares: Array = inside / np.array([[len(group)] for group in self.groups], dtype=np.float64)
        return shares

    def under(self, targets: Mask) -> Mask:
        """Return which groups meet each predicate."""
        return np.array([targets[list(group)].any(axis=0) for group in self.groups], dtype=bool)

    def certainly(self, targets: Mask) -> Mask:
        """Return which groups lie inside each predicate."""
        return np.array([targets[list(group)].all(axis=0) for group in self.groups], dtype=bool)

    def within(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Sum the released counts that are certain to satisfy each predicate; arguments as for `contract`."""
        w = self.certainly(np.eye(len(self.original), dtype=bool) if targets is None else targets)
        return np.moveaxis(np.tensordot(x, w.astype(float), axes=(axis, 0)), -1, axis)


def inside_labels(expression: Expression, spread: Mapping[str, RecodeWeights]) -> dict[str, RecodeWeights]:
    """Return the generalised columns that an expression compares with categories, not with released labels alone.

    `expression`: its constants are labels or categories of their columns.
    """
    return {
        leaf.column: spread[leaf.column]
        for leaf in leaves_of(expression)
        if leaf.column in spread and not _compares_labels(leaf, spread[leaf.column])
    }


def _compares_labels(leaf: ColumnComparison | Member | Null, axis: RecodeWeights) -> bool:
    match leaf:
        case ColumnComparison(operator=operator, value=value):
            return operator in {"=", "<>"} and axis.is_label(value)
        case Member(values=values):
            return all(map(axis.is_label, values))
        case _:
            return True


def by_category(expression: Expression, inside: Mapping[str, RecodeWeights]) -> Expression:
    """Return an expression on generalised columns with the categories of a label in its place."""

    def leaf(part: ColumnComparison | Member | Null) -> Expression:
        axis = inside.get(part.column)
        match part:
            case ColumnComparison(column=column, operator=("=" | "<>") as operator, value=value) if axis is not None:
                member = Member(column, _categories(axis, value))
                return member if operator == "=" else Not(member)
            case Member(column=column, values=values) if axis is not None:
                return Member(column, tuple(v for value in values for v in _categories(axis, value)))
            case _:
                return part

    return rewrite(expression, leaf)


def _categories(axis: RecodeWeights, value: Value) -> tuple[Value, ...]:
    return (value,) if (value,) in axis.original else axis.categories_of[value]


def refuse_biased(axes: Sequence[AxisWeights], what: str) -> None:
    """Refuse statistics that need unbiased counts with a covariance.

    Raises:
        PolicyError: RR288.
    """
    if not all(axis.unbiased for axis in axes):
        raise biased_counts_error(axes, what)


def biased_counts_error(axes: Sequence[AxisWeights], what: str) -> PolicyError:
    """Return the error (RR288) for statistics that need unbiased counts; arguments as for `refuse_biased`."""
    columns = dict.fromkeys(repr(c) for axis in axes if not axis.unbiased for c in axis.columns)
    return PolicyError(
        Problem(
            "RR288",
            f"{what} cannot be estimated from {', '.join(columns) or 'this table'}: counts spread inside groups are "
            "biased and have no covariance",
            hint="request a crosstab, for certain bounds, or an association with `spread=True`, as a description; "
            "or analyse the groups as they were released",
        )
    )
