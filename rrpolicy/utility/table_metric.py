"""The common part of metrics of an estimated table: attributes, draws, expected and actual values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.finding import Basis, Companion, Measure
from rrpolicy.utility.metric import MOST_CELLS, Better

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel, Layout
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.simulation import Figure, Range


FEWEST_DRAWS, MOST_DRAWS = 20, 10_000


class Simulation(BaseModel):
    """How an expectation is simulated, where it has no closed form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draws: int = Field(
        default=100,
        ge=FEWEST_DRAWS,
        le=MOST_DRAWS,
        description="Simulated draws, where there is no closed form.",
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Of the simulated draws; no release is drawn with it.")


class TableMetricOptions(Simulation):
    """Which table of shares."""

    attributes: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Attributes of the table; default: all that are released with categories.",
    )


class TableMetric(ABC):
    """A number that compares an estimated table of shares with the original's."""

    options: ClassVar[type[TableMetricOptions]] = TableMetricOptions
    better: ClassVar[Better] = "smaller"
    within: ClassVar[Range | None] = None
    name: ClassVar[str]
    meaning: ClassVar[str]

    @abstractmethod
    def figure(self, options: TableMetricOptions, original: Original, attributes: tuple[str, ...]) -> Figure:
        """Return the number as a function of the estimated table, one dimension an attribute."""

    def exact(self, channel: Channel, original: Original, attributes: tuple[str, ...]) -> float | None:
        """Return the expectation if it has a closed form; None if it is simulated."""
        del channel, original, attributes
        return None

    def unfit(self, options: TableMetricOptions, channel: type[Channel], axes: Layout) -> str | None:
        """Return None: every channel's counts are estimated, unbiased or spread evenly inside groups."""
        del options, channel, axes
        return None

    def refuses(self, options: TableMetricOptions, policy: Policy) -> str | None:
        """Return why a policy lacks the table: an attribute without categories, or more cells than are estimated."""
        return estimation_obstacle(options.attributes, policy)

    def expected(self, options: TableMetricOptions, channel: Channel, original: Original | int) -> Measure | None:
        """Return the expectation over draws: in closed form, or the mean of simulated draws with its standard error.

        None for a number of records. Raises as `simulated_means`.
        """
        if isinstance(original, int):
            return None
        names = table_attributes(options.attributes, original.policy)
        known = self.exact(channel, original, names)
        if known is not None:
            return Measure(known)
        return self.simulated(options, channel, original, self.figure(options, original, names), self.within)

    @staticmethod
    def simulated(
        options: TableMetricOptions, channel: Channel, original: Original, figure: Figure, within: Range | None = None
    ) -> Measure:
        """Return the mean of a number of the estimated table over the draws of the options."""
        from rrpolicy.utility.simulation import DrawSettings, simulated_means

        names = table_attributes(options.attributes, original.policy)
        draws = DrawSettings(options.draws, options.seed)
        return simulated_means(channel, original, names, {"": figure}, draws, within)[""]

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return measures to report with the expectation; () unless a metric has some."""
        del options, channel, original
        return ()

    def realised(self, options: TableMetricOptions, release: Release, original: Original) -> Measure | None:
        """Return the actual value of one draw; audit only, it never gates. None if the table has over 10^6 cells."""
        from rrpolicy.utility.release_estimates import estimate_shares

        names = table_attributes(options.attributes, original.policy)
        found = estimate_shares(release, original, names)
        return None if found is None else Measure(self.figure(options, original, names)(found))


class SharesMetric(TableMetric):
    """A number of two tables of shares, and of nothing else."""

    @abstractmethod
    def of(self, p: Array, q: Array) -> float:
        """Return the number, of the original's shares and the estimated ones, which sum to 1 and may be negative."""

    def figure(self, options: TableMetricOptions, original: Original, attributes: tuple[str, ...]) -> Figure:
        """Return the number, which the options do not affect; see `TableMetric.figure`."""
        from rrpolicy.utility.simulation import original_shares

        del options
        p = original_shares(original, attributes)
        return lambda found: self.of(p, found.shares)


def count_measure(name: str, number: float | Measure, meaning: str) -> Companion:
    """Return a number that is reported with an expectation of a table; exact, unless it is a `Measure`."""
    measure = number if isinstance(number, Measure) else Measure(float(number))
    return Companion(name, measure, Basis.ORIGINAL, meaning)


def table_attributes(named: tuple[str, ...] | None, policy: Policy) -> tuple[str, ...]:
    """Return the named attributes, or else all that are released with categories."""
    return named or tuple(a.name for a in policy.released if a.categorical)


def estimation_obstacle(named: tuple[str, ...] | None, policy: Policy) -> str | None:
    """Return why no table over some attributes, by default all with categories, can be estimated; None if one can."""
    known = {a.name: a for a in policy.released if a.categorical}
    lost = [name for name in named or () if name not in known]
    if lost:
        return f"`attributes`: '{lost[0]}' is not released with categories"
    if named and len(set(named)) < len(named):
        return "`attributes` lists one twice"
    if not known:
        return "nothing is released with categories"
    cells = math.prod(len(known[name].domain or (0,)) for name in table_attributes(named, policy))
    if cells > MOST_CELLS:
        return f"`attributes`: their table has {cells:,} cells, and at most {MOST_CELLS:,} are estimated"
    return None
