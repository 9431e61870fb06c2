"""The interface of a utility metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from rrpolicy.channels.base import Channel, Layout
from rrpolicy.finding import Measure

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)

Better: TypeAlias = Literal["smaller", "larger"]
"""The better direction of a metric: a gate states `max` or `min` accordingly."""
MOST_CELLS = 1_000_000
"""The most cells of a table that is estimated, in each simulated draw or of a release."""


class UtilityMetric(Protocol[Options]):
    """A measure of a release's utility; smaller is better, unless the metric has `better`.

    `better`, "smaller" or "larger", determines whether a gate states `max` or `min`. A metric that is not 0 for a
    release that is the table itself has `absolute`, true.

    A metric may also have `refuses(options, policy)`, as a privacy model has: why it does not apply to this policy, or
    None. No data are needed; the place shown is that of the first option which the reason names. And it may have
    `beside(options, channel, original)`: companions, related measures of an expected number. They are computed
    if the table is available, and appear only in audit/.
    """

    @property
    def name(self) -> str:
        """Return the name that policies use."""
        ...

    @property
    def options(self) -> type[Options]:
        """Return the class that validates a [[utility]] entry's keys (without `metric`, `max` and `min`)."""
        ...

    @property
    def meaning(self) -> str:
        """Return the meaning of the number, in a sentence."""
        ...

    def unfit(self, options: Options, channel: type[Channel], axes: Layout) -> str | None:
        """Return why the metric cannot be computed for a mechanism's channel; None if it can.

        Args:
            options: options of the entry.
            channel: the class of the planned channel.
            axes: (attributes, class) of each of its axes; `lists_values` returns whether a class has a matrix.
        """
        ...

    def expected(self, options: Options, channel: Channel, original: Original | int) -> Measure | None:
        """Return the expectation over draws; None if the channel and the number of records do not determine it.

        The result for a number of records alone is the same for every table of this size: otherwise the gate reads the
        table, and its passing is a statistic of the table.
        """
        ...

    def realised(self, options: Options, release: Release, original: Original) -> Measure | None:
        """Return the actual value of one draw; audit only. A release is complete if this fails."""
        ...
