"""The metric `expected-l2`: the root mean squared distance of estimated proportions from the true ones, over draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.channels.base import Channel, Layout
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Measure, Standing

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.protocol import Original


class ExpectedL2Options(BaseModel):
    """The marginal, and the target of its proportions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Attributes of the marginal; default: all that are randomised."
    )
    target: Literal["table", "population"] = Field(
        default="table",
        description="Proportions of this table (a census), or of the population that it is a sample of.",
    )


class ExpectedL2:
    """sqrt E||pi^ - pi||^2 of the moment estimate, over the draws of a release.

    Chaudhuri, Mukerjee 1988, chapter 3; Guo, Ying, Wu 2011, eq. 2.
    """

    name = "expected-l2"
    options = ExpectedL2Options
    meaning = (
        "the expected distance (root of the summed squared differences) between the estimated and the true proportions"
        " of all cells"
    )

    def unfit(self, options: ExpectedL2Options, channel: type[Channel], axes: Layout) -> str | None:
        """Return why the planned channel will have no unbiased estimate of the marginal; None if it will."""
        from rrpolicy.channels.axes.recode import Recode
        from rrpolicy.channels.product.channel import Product

        if not issubclass(channel, Product):
            return "counts from this mechanism are spread inside groups or classes and have no expected error"
        known = {name: axis for names, axis in axes for name in names}
        lost = [name for name in options.attributes or () if name not in known]
        if lost:
            return f"'{lost[0]}' is not released with categories"
        generalised = [n for n in options.attributes or known if issubclass(known[n], Recode)]
        if generalised:
            return f"'{generalised[0]}' is generalised: its counts are spread inside groups and have no expected error"
        return None

    def expected(self, options: ExpectedL2Options, channel: Channel, original: Original | int) -> Measure | None:
        """Return the expectation over draws, exact; None if the channel and the number of records do not determine it.

        The number of records is enough for plain retention and target = "table". Raises `PolicyError` (RR239) if an
        attribute of the marginal is not released with categories.
        """
        from rrpolicy.channels.product.channel import Product
        from rrpolicy.channels.product.expected_error import expected_squared_error

        if not isinstance(channel, Product):
            return None
        known = {name for axis in channel.axes for name in axis.attributes}
        for name in options.attributes or ():
            if name not in known:
                raise PolicyError(
                    Problem(
                        "RR239",
                        f"expected-l2: '{name}' is not released with categories",
                        hint=f"name some of: {', '.join(sorted(known))}",
                    )
                )
        squared = expected_squared_error(channel, original, options.attributes, options.target)
        return None if squared is None else Measure(math.sqrt(max(squared, 0.0)), Standing.EXACT)

    def realised(self, options: ExpectedL2Options, release: Release, original: Original) -> Measure | None:
        """Return the distance of one draw; audit only, it never gates.

        None for the population, whose proportions are unknown, and if the marginal has over 10^6 cells.
        """
        import numpy as np

        from rrpolicy.channels.decoders import IdentityDecoder
        from rrpolicy.utility.release_estimates import estimate_shares
        from rrpolicy.utility.simulation import original_shares

        if options.target == "population":
            return None
        names = options.attributes or tuple(
            name for d in release.manifest.decoders if not isinstance(d, IdentityDecoder) for name in d.attributes
        )
        found = estimate_shares(release, original, names)
        if found is None:
            return None
        return Measure(float(np.linalg.norm(found.shares - original_shares(original, names))))
