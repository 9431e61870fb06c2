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

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

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
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.query_errors import Asked
    from rrpolicy.utility.simulation import Figure


class GroupByError(SharesMetric):
    """The mean relative error of the groups of all attributes."""

    name = "group-by-error"
    meaning = (
        "the mean relative error of estimated counts over the groups of all its attributes together that somebody of"
        " the table is in"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return the mean over occurring cells."""
        from rrpolicy.utility.query_errors import relative_error

        return relative_error(p, q)

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the number of groups in the mean."""
        from rrpolicy.utility.simulation import original_shares

        del channel
        p = original_shares(original, table_attributes(options.attributes, original.policy))
        return (count_measure("groups", (p > 0).sum(), "the mean is over them; somebody of the table is in each"),)


class CubeError(SharesMetric):
    """The mean relative error of the groups of every subset of the attributes."""

    name = "cube-error"
    meaning = (
        "the mean relative error of estimated counts over the groups of every subset of its attributes, the grand total"
        " included, that somebody of the table is in"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return the mean over the occurring groups of all subsets."""
        from rrpolicy.utility.query_errors import cube_sums, relative_error

        return relative_error(cube_sums(p), cube_sums(q))

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the number of groups in the mean."""
        from rrpolicy.utility.query_errors import cube_sums
        from rrpolicy.utility.simulation import original_shares

        del channel
        p = cube_sums(original_shares(original, table_attributes(options.attributes, original.policy)))
        return (count_measure("groups", (p > 0).sum(), "the mean is over them; somebody of the table is in each"),)


def _valid_share(value: Fraction) -> Fraction:
    if not 0 < value <= 1:
        raise ValueError("expected a share over 0, at most 1")
    return value


class QueryOptions(TableMetricOptions):
    """Which queries."""

    dimensions: int = Field(default=2, ge=1, le=8, description="Attributes of a query beside the sensitive one (qd).")
    selectivity: Annotated[Rational, AfterValidator(_valid_share)] = Field(
        default=Fraction(1, 20), description="The share of a query's cells that it asks for (s)."
    )
    queries: int = Field(default=1000, ge=1, le=100_000, description="How many are drawn.")


class RandomQueryError(TableMetric):
    """The mean relative error of random conjunctive queries."""

    name = "random-query-error"
    options = QueryOptions
    meaning = (
        "the mean relative error of the estimated counts of random conjunctive queries over the sensitive attribute and"
        " some others, of those that somebody of the table satisfies"
    )

    def refuses(self, options: TableMetricOptions, policy: Policy) -> str | None:
        """Return why a policy permits no such queries; None if it does."""
        assert isinstance(options, QueryOptions)
        wrong = estimation_obstacle(options.attributes, policy)
        if wrong is not None:
            return wrong
        names = table_attributes(options.attributes, policy)
        if not _sensitive_attributes(names, policy):
            return "`attributes`: none of them is sensitive"
        if len(names) - len(_sensitive_attributes(names, policy)) < options.dimensions:
            return f"`dimensions`: fewer than {options.dimensions} of the attributes are not sensitive"
        return None

    def figure(self, options: TableMetricOptions, original: Original, attributes: tuple[str, ...]) -> Figure:
        """Return the mean relative error as a function of estimated shares; the queries are drawn here, once."""
        from rrpolicy.utility.query_errors import query_shares, relative_error

        assert isinstance(options, QueryOptions)
        asked, true = _queries_and_answers(options, original, attributes)
        return lambda found: relative_error(true, query_shares(asked, found.shares))

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the number of queries in the mean."""
        del channel
        assert isinstance(options, QueryOptions)
        _, true = _queries_and_answers(options, original, table_attributes(options.attributes, original.policy))
        return (
            count_measure("queries", (true > 0).sum(), "the mean is over them; somebody of the table satisfies each"),
        )


def _queries_and_answers(
    options: QueryOptions, original: Original, attributes: tuple[str, ...]
) -> tuple[list[Asked], Array]:
    """Return the queries, which follow from the seed, and the original's counts, as shares."""
    from rrpolicy.utility.query_errors import query_shares, random_queries
    from rrpolicy.utility.simulation import DrawSettings, original_shares

    p = original_shares(original, attributes)
    places = [attributes.index(name) for name in _sensitive_attributes(attributes, original.policy)]
    stream = DrawSettings(options.draws, options.seed).streams(0).stream("queries")
    asked = [*random_queries(options, places, p.shape, stream)]
    return asked, query_shares(asked, p)


def _sensitive_attributes(names: Sequence[str], policy: Policy) -> list[str]:
    return [name for name in names if policy.attributes[name].role is Role.SENSITIVE]
