"""Differences of measures of association from the original's, over every pair of some attributes.

    mutual-information-change        |I(q) - I(p)|, I in nats
    uncertainty-coefficient-change   |U(q) - U(p)|, U = I/H(column), each pair in both orders
    cramers-v-change                 |V(q) - V(p)|, V^2 = phi^2/(min(rows, columns) - 1)

p is the original's table of two attributes, q the estimated one without the association that randomisation alone puts
into it (`rrpolicy.estimate.association.deflation`); of counts that are spread inside groups, unmodified. Cells of q
below 0 count as 0 in logarithms. The number is the mean over the pairs, or the largest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from rrpolicy.finding import Measure
from rrpolicy.utility.metric import MOST_CELLS, Better
from rrpolicy.utility.table_metric import Simulation, table_attributes

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel, Layout
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.simulation import Range


class AssociationOptions(Simulation):
    """The pairs of attributes, and the measures of association."""

    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=2, description="Paired with one another; default: all released with categories."
    )
    over: Literal["mean", "largest"] = Field(default="mean", description="The mean over the pairs, or the largest.")


class AssociationChange(ABC):
    """The change of a measure of association over pairs."""

    options: ClassVar[type[AssociationOptions]] = AssociationOptions
    better: ClassVar[Better] = "smaller"
    within: ClassVar[Range | None] = None
    name: ClassVar[str]
    meaning: ClassVar[str]

    @staticmethod
    @abstractmethod
    def measures(shares: Array) -> tuple[float, ...]:
        """Return the compared numbers of a two-way table of shares."""

    def unfit(self, options: AssociationOptions, channel: type[Channel], axes: Layout) -> str | None:
        """Return None: every channel's two-way tables are estimated."""
        del options, channel, axes
        return None

    def refuses(self, options: AssociationOptions, policy: Policy) -> str | None:
        """Return why a policy lacks the pairs; None if it has them."""
        known = {a.name: a for a in policy.released if a.categorical}
        lost = [name for name in options.attributes or () if name not in known]
        if lost:
            return f"`attributes`: '{lost[0]}' is not released with categories"
        names = table_attributes(options.attributes, policy)
        if len(set(names)) < max(len(names), 2):
            return "`attributes` must list two different attributes or more, each once"
        sizes = sorted(len(known[name].domain or (0,)) for name in names)
        if sizes[-1] * sizes[-2] > MOST_CELLS:
            return f"`attributes`: the table of two of them has over {MOST_CELLS:,} cells"
        return None

    def expected(self, options: AssociationOptions, channel: Channel, original: Original | int) -> Measure | None:
        """Return the mean over simulated draws with its standard error; exact for deterministic channels.

        None for a number of records. Raises as `simulated_means`.
        """
        from rrpolicy.utility.association_tables import simulated_pairs
        from rrpolicy.utility.simulation import DrawSettings

        if isinstance(original, int):
            return None
        names = table_attributes(options.attributes, original.policy)
        figure, draws = self._figure(options, original, names), DrawSettings(options.draws, options.seed)
        return simulated_pairs(channel, original, names, figure, draws, self.within)

    def realised(self, options: AssociationOptions, release: Release, original: Original) -> Measure | None:
        """Return the actual value of one draw; audit only, it never gates."""
        from rrpolicy.utility.association_tables import written_pair

        names = table_attributes(options.attributes, original.policy)
        tables = [written_pair(release, original, pair) for pair in combinations(names, 2)]
        return Measure(self._figure(options, original, names)(tables))

    def _figure(
        self, options: AssociationOptions, original: Original, attributes: tuple[str, ...]
    ) -> Callable[[list[Array]], float]:
        from rrpolicy.utility.simulation import original_shares

        true = [self.measures(original_shares(original, pair)) for pair in combinations(attributes, 2)]

        def of(tables: list[Array]) -> float:
            changes = [
                abs(one - other)
                for known, table in zip(true, tables, strict=True)
                for one, other in zip(known, self.measures(table), strict=True)
            ]
            return max(changes) if options.over == "largest" else sum(changes) / len(changes)

        return of


class MutualInformationChange(AssociationChange):
    """The change of the mutual information of pairs."""

    name = "mutual-information-change"
    meaning = "how far the estimated mutual information of pairs of attributes, in nats, lies from the original's"

    @staticmethod
    def measures(shares: Array) -> tuple[float, ...]:
        """Return I."""
        from rrpolicy.utility.association_tables import mutual_information

        return (mutual_information(shares),)


class UncertaintyCoefficientChange(AssociationChange):
    """The change of the uncertainty coefficients of pairs, in both orders."""

    name = "uncertainty-coefficient-change"
    within = (0.0, 1.0)
    meaning = (
        "how far the estimated uncertainty coefficients of pairs of attributes, the share of the uncertainty of one"
        " that the other takes away, lie from the original's"
    )

    @staticmethod
    def measures(shares: Array) -> tuple[float, ...]:
        """Return I/H of the columns and of the rows."""
        from rrpolicy.utility.association_tables import uncertainty_coefficients

        return uncertainty_coefficients(shares)


class CramersVChange(AssociationChange):
    """The change of Cramer's V of pairs."""

    name = "cramers-v-change"
    within = (0.0, 1.0)
    meaning = "how far the estimated Cramer's V of pairs of attributes, from 0 to 1, lies from the original's"

    @staticmethod
    def measures(shares: Array) -> tuple[float, ...]:
        """Return V."""
        from rrpolicy.utility.association_tables import cramers_v

        return (cramers_v(shares),)
