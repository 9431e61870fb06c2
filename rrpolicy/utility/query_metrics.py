"""Relative errors of count queries.

With act the original's count of a group and est the estimated one, a metric is the mean of |act - est|/act over the
groups with act > 0 (Sei, Ohsuga, eq. 20):

    group-by-error       the groups of GROUP BY all attributes
    cube-error           the groups of every subset of the attributes, the grand total included
    random-query-error   random conjunctions: `dimensions` attributes drawn from those that are not sensitive, and the
                         sensitive one; of each attribute A, b values drawn from its domain

b is the smallest integer with b^(qd+1) >= |A|^(qd+1) s, so that a query selects a share s of its cells (Xiao, Tao 2006,
section 7). The queries follow from the seed, so that the expectation, a draw's actual value and other plans use the
same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, count
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import AfterValidator, Field

from rrpolicy.declarations import Role
from rrpolicy.finding import Companion
from rrpolicy.policy.model import Policy
from rrpolicy.policy.rational import Rational
from rrpolicy.utility.table_metric import (
    SharesMetric,
    TableMetric,
    TableMetricOptions,
    count_measure,
    estimation_obstacle,
    table_attributes,
)

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.simulation import Figure

    Asked: TypeAlias = tuple[tuple[int, ...], list[Mask]]
    """The dimensions of some queries, and for each dimension the categories that they select, (queries, categories)."""


class GroupByError(SharesMetric):
    """The mean relative error of the groups of all attributes."""

    name = "group-by-error"
    meaning = "the mean relative error of estimated counts over the non-empty groups of all its attributes together"

    def groups(self, shares: Array) -> Array:
        """Return the shares of the groups, of a table of shares."""
        return shares

    def of(self, p: Array, q: Array) -> float:
        """Return the mean over occurring groups."""
        return relative_error(self.groups(p), self.groups(q))

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the number of groups in the mean."""
        from rrpolicy.utility.simulation import original_shares

        del channel
        p = self.groups(original_shares(original, table_attributes(options.attributes, original.policy)))
        return (count_measure("groups", (p > 0).sum(), "the mean is over them; each is non-empty"),)


class CubeError(GroupByError):
    """The mean relative error of the groups of every subset of the attributes."""

    name = "cube-error"
    meaning = (
        "the mean relative error of estimated counts over the non-empty groups of every subset of its attributes, "
        "including the grand total"
    )

    def groups(self, shares: Array) -> Array:
        """Return the sums over every subset of the attributes."""
        return cube_sums(shares)


def _valid_share(value: Fraction) -> Fraction:
    if not 0 < value <= 1:
        raise ValueError("expected a share over 0, at most 1")
    return value


class QueryOptions(TableMetricOptions):
    """Which queries."""

    dimensions: int = Field(default=2, ge=1, le=8, description="Attributes of a query besides the sensitive one (qd).")
    selectivity: Annotated[Rational, AfterValidator(_valid_share)] = Field(
        default=Fraction(1, 20), description="The share of cells that a query selects (s)."
    )
    queries: int = Field(default=1000, ge=1, le=100_000, description="How many are drawn.")


class RandomQueryError(TableMetric):
    """The mean relative error of random conjunctive queries."""

    name = "random-query-error"
    options = QueryOptions
    meaning = (
        "the mean relative error of the estimated counts of random conjunctive queries over the sensitive "
        "attribute and some others, over queries with a non-zero count"
    )

    def refuses(self, options: TableMetricOptions, policy: Policy) -> str | None:
        """Return why a policy permits no such queries; None if it does."""
        assert isinstance(options, QueryOptions)
        wrong = estimation_obstacle(options.attributes, policy)
        if wrong is not None:
            return wrong
        names = table_attributes(options.attributes, policy)
        if not _sensitive_attributes(names, policy):
            return "`attributes` contains no sensitive attribute"
        if len(names) - len(_sensitive_attributes(names, policy)) < options.dimensions:
            return f"`dimensions`: fewer than {options.dimensions} of the attributes are not sensitive"
        return None

    def figure(self, options: TableMetricOptions, original: Original, attributes: tuple[str, ...]) -> Figure:
        """Return the mean relative error as a function of estimated shares; the queries are drawn here, once."""
        assert isinstance(options, QueryOptions)
        asked, true = _queries_and_answers(options, original, attributes)
        return lambda found: relative_error(true, query_shares(asked, found.shares))

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the number of queries in the mean."""
        del channel
        assert isinstance(options, QueryOptions)
        _, true = _queries_and_answers(options, original, table_attributes(options.attributes, original.policy))
        return (count_measure("queries", (true > 0).sum(), "the mean is over them; each has a non-zero count"),)


def _queries_and_answers(
    options: QueryOptions, original: Original, attributes: tuple[str, ...]
) -> tuple[list[Asked], Array]:
    """Return the queries, which follow from the seed, and the original's counts, as shares."""
    from rrpolicy.utility.simulation import DrawSettings, original_shares

    p = original_shares(original, attributes)
    places = [attributes.index(name) for name in _sensitive_attributes(attributes, original.policy)]
    stream = DrawSettings(options.draws, options.seed).streams(0).stream("queries")
    asked = [*random_queries(options, places, p.shape, stream)]
    return asked, query_shares(asked, p)


def _sensitive_attributes(names: Sequence[str], policy: Policy) -> list[str]:
    return [name for name in names if policy.attributes[name].role is Role.SENSITIVE]


def relative_error(true: Array, estimated: Array) -> float:
    """Return the mean of |true - estimated|/true over true > 0; 0 if no true count is positive."""
    held = true > 0
    return float((abs(true[held] - estimated[held]) / true[held]).mean()) if held.any() else 0.0


def cube_sums(x: Array) -> Array:
    """Return a table with the sums over each subset of its dimensions: every dimension has one more place, its sum."""
    import numpy as np

    for axis in range(x.ndim):
        x = np.concatenate((x, x.sum(axis=axis, keepdims=True)), axis=axis)
    return x


def values_per_dimension(size: int, attributes: int, selectivity: Fraction) -> int:
    """Return b, the smallest integer with b^n >= |A|^n s, for |A| categories, n attributes and selectivity s."""
    return next(b for b in count(1) if b**attributes >= size**attributes * selectivity)


def random_queries(
    options: QueryOptions, sensitive: Sequence[int], shape: Sequence[int], stream: Stream
) -> Iterator[Asked]:
    """Yield random queries over dimensions of these sizes, one of them sensitive, by their dimensions."""
    import numpy as np

    others = [*combinations([i for i in range(len(shape)) if i not in sensitive], options.dimensions)]
    parts = [(*chosen, own) for chosen in others for own in sensitive]
    which = stream.below(np.full(options.queries, len(parts), dtype=np.int64))
    for number in np.unique(which).tolist():
        many = int((which == number).sum())
        masks = []
        for place in parts[number]:
            asked = values_per_dimension(shape[place], options.dimensions + 1, options.selectivity)
            order: Ints = np.argsort(stream.words(many * shape[place]).reshape(many, -1), axis=1)
            masks.append(order < asked)  # the places of a uniformly random order: which values come first
        yield tuple(parts[number]), masks


def query_shares(asked: Sequence[Asked], x: Array) -> Array:
    """Return the share of each query, all together."""
    import numpy as np

    found = []
    for places, masks in asked:
        part = np.transpose(x.sum(axis=tuple(set(range(x.ndim)) - set(places))), np.argsort(np.argsort(places)))
        first, *rest = masks
        sums = np.tensordot(first.astype(float), part, axes=1)
        for mask in rest:
            sums = np.einsum("kv,kv...->k...", mask.astype(float), sums)
        found.append(sums)
    return np.concatenate(found)
