"""How far answers to count queries lie from the truth, relative to it.

With act the original's count of a group and est the estimated one, a metric is the mean of |act - est|/act over the
groups with act > 0 (Sei, Ohsuga, eq. 20):

    group-by-error       the groups of GROUP BY all attributes
    cube-error           the groups of every subset of the attributes, the grand total included
    random-query-error   random conjunctions: `dimensions` attributes drawn from those that are not sensitive, and the
                         sensitive one; of each attribute A, b values drawn from its domain

b is the smallest integer with b^(qd+1) >= |A|^(qd+1) s, so that a query asks for a share s of its cells (Xiao, Tao
2006, section 7). The queries follow from the seed, so that the expectation, what a draw attained and other plans are of
the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from rrpolicy.finding import Companion
from rrpolicy.policy.model import Policy, Role
from rrpolicy.policy.rational import Rational
from rrpolicy.utility.marginal import Options, SharesMetric, TableMetric, attributes_of, counted, refusal

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.source.counts import Array
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

    def beside(self, options: Options, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return over how many groups the mean is."""
        from rrpolicy.utility.simulation import original_shares

        del channel
        p = original_shares(original, attributes_of(options.attributes, original.policy))
        return (counted("groups", (p > 0).sum(), "the mean is over them; somebody of the table is in each"),)


class CubeError(SharesMetric):
    """The mean relative error of the groups of every subset of the attributes."""

    name = "cube-error"
    meaning = (
        "the mean relative error of estimated counts over the groups of every subset of its attributes, the grand total"
        " included, that somebody of the table is in"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return the mean over the occurring groups of all subsets."""
        from rrpolicy.utility.query_errors import cube, relative_error

        return relative_error(cube(p), cube(q))

    def beside(self, options: Options, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return over how many groups the mean is."""
        from rrpolicy.utility.query_errors import cube
        from rrpolicy.utility.simulation import original_shares

        del channel
        p = cube(original_shares(original, attributes_of(options.attributes, original.policy)))
        return (counted("groups", (p > 0).sum(), "the mean is over them; somebody of the table is in each"),)


def _share(value: Fraction) -> Fraction:
    if not 0 < value <= 1:
        raise ValueError("expected a share over 0, at most 1")
    return value


class QueryOptions(Options):
    """Which queries."""

    dimensions: int = Field(default=2, ge=1, le=8, description="Attributes of a query beside the sensitive one (qd).")
    selectivity: Annotated[Rational, AfterValidator(_share)] = Field(
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

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Return why there are no such queries of a policy; None if there are."""
        assert isinstance(options, QueryOptions)
        wrong = refusal(options.attributes, policy)
        if wrong is not None:
            return wrong
        names = attributes_of(options.attributes, policy)
        if not _sensitive(names, policy):
            return "`attributes`: none of them is sensitive"
        if len(names) - len(_sensitive(names, policy)) < options.dimensions:
            return f"`dimensions`: fewer than {options.dimensions} of the attributes are not sensitive"
        return None

    def figure(self, options: Options, original: Original, attributes: tuple[str, ...]) -> Figure:
        """Return the mean relative error as a function of estimated shares; the queries are drawn here, once."""
        from rrpolicy.utility.query_errors import answers, relative_error

        assert isinstance(options, QueryOptions)
        asked, true = _asked(options, original, attributes)
        return lambda found: relative_error(true, answers(asked, found.shares))

    def beside(self, options: Options, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return over how many queries the mean is."""
        del channel
        assert isinstance(options, QueryOptions)
        _, true = _asked(options, original, attributes_of(options.attributes, original.policy))
        return (counted("queries", (true > 0).sum(), "the mean is over them; somebody of the table satisfies each"),)


def _asked(options: QueryOptions, original: Original, attributes: tuple[str, ...]) -> tuple[list[Asked], Array]:
    """Return the queries, which follow from the seed, and the original's answers, as shares."""
    from rrpolicy.utility.query_errors import answers, drawn
    from rrpolicy.utility.simulation import Draws, original_shares

    p = original_shares(original, attributes)
    places = [attributes.index(name) for name in _sensitive(attributes, original.policy)]
    stream = Draws(options.draws, options.seed).streams(0).stream("queries")
    asked = [*drawn(options, places, p.shape, stream)]
    return asked, answers(asked, p)


def _sensitive(names: Sequence[str], policy: Policy) -> list[str]:
    return [name for name in names if policy.attributes[name].role is Role.SENSITIVE]
