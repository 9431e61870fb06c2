"""A utility metric alone."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from rrpolicy.plugin import Identity, Measure, hookimpl


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Loss:
    name = "acme-loss"
    options = Options
    meaning = "the largest chance that a category is exchanged"

    def unfit(self, options, channel, axes):
        return None

    def expected(self, options, channel, original):
        changed = [axis for axis in channel.axes if not isinstance(axis, Identity)]
        return Measure(float(max(1 - axis.entries[0][0] for axis in changed)))

    def realised(self, options, release, original):
        return None


@hookimpl
def rrpolicy_utility_metrics():
    return [Loss()]
