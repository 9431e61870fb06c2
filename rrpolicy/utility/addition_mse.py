"""The metric `addition-mse`: the mean squared error of the shares that are estimated from released sets.

Of n records with S values released as sets of l, the mean over the values of the expected squared error of a share:

    this table     (S-1)(l-1) / (n S (S-l))
    population     l (S-1)^2 / (n (S-l) S^2)       of a uniform population; it also counts the sampling of the records

(Sei, Ohsuga, eq. 19 for the population). For a population with shares c it is that of this table plus
(1 - sum c_u^2)/(n S), which is largest, and then the formula, for a uniform one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.channels.base import Channel, Layout
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Measure, Standing

if TYPE_CHECKING:
    from rrpolicy.channels.axes.sets import Sets
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.protocol import Original


class AdditionMSEOptions(BaseModel):
    """The attribute, and the shares to estimate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="An attribute released as sets, or those taken together; default: the worst of all.",
    )
    target: Literal["table", "population"] = Field(
        default="table",
        description="Shares of this table (a census), or of a uniform population that it is a sample of.",
    )


class AdditionMSE:
    """The mean squared error over the values of an attribute that is released as sets."""

    name = "addition-mse"
    options = AdditionMSEOptions
    meaning = "the mean over the values of the expected squared error of an estimated share"

    def unfit(self, options: AdditionMSEOptions, channel: type[Channel], axes: Layout) -> str | None:
        """Return why no attribute is planned to be released as sets; None if one is."""
        from rrpolicy.channels.axes.sets import Sets

        del channel
        sets = {name for names, axis in axes if issubclass(axis, Sets) for name in names}
        lost = [name for name in options.attributes or () if name not in sets]
        if lost:
            return f"'{lost[0]}' is not released as sets"
        return None if sets else "nothing is released as sets"

    def expected(self, options: AdditionMSEOptions, channel: Channel, original: Original | int) -> Measure | None:
        """Return the largest expectation over the selected axes, exact for this table; the number of records is enough.

        Raises `PolicyError` (RR239) if a named attribute is not released as sets.
        """
        from rrpolicy.channels.axes.sets import Sets, addition_mean_squared_error
        from rrpolicy.channels.product.channel import Product

        if not isinstance(channel, Product):
            return None
        axes = [axis for axis in channel.axes if isinstance(axis, Sets)]
        chosen = _chosen_axis(options, axes)
        if not chosen:
            return None
        records = original if isinstance(original, int) else original.records
        error = max(addition_mean_squared_error(a.original_size, a.set_size, records, options.target) for a in chosen)
        return Measure(float(error), Standing.EXACT if options.target == "table" else Standing.UPPER_BOUND)

    def realised(self, options: AdditionMSEOptions, release: Release, original: Original) -> Measure | None:
        """Return the largest mean squared deviation of one draw; audit only, it never gates.

        None for the population, whose shares are unknown, and for domains of over 10^6 values.
        """
        import numpy as np

        from rrpolicy.channels.decoders import AdditionDecoder
        from rrpolicy.utility.release_estimates import estimate_shares
        from rrpolicy.utility.simulation import original_shares

        sets = [d.attributes for d in release.manifest.decoders if isinstance(d, AdditionDecoder)]
        found = []
        for names in sets:
            if options.target == "table" and set(options.attributes or names) == set(names):
                table = estimate_shares(release, original, names)
                if table is None:
                    return None
                found.append(float(np.mean((table.shares - original_shares(original, names)) ** 2)))
        return Measure(max(found), Standing.EXACT) if found else None


def _chosen_axis(options: AdditionMSEOptions, axes: list[Sets]) -> list[Sets]:
    if options.attributes is None:
        return axes
    chosen = [axis for axis in axes if set(axis.attributes) == set(options.attributes)]
    if not chosen:
        names = ", ".join(f"'{name}'" for name in options.attributes)
        known = "; ".join(", ".join(axis.attributes) for axis in axes) or "none is"
        raise PolicyError(
            Problem("RR239", f"addition-mse: {names} is not released as sets by itself", hint=f"sets are of: {known}")
        )
    return chosen
