"""A utility metric, and what is wrong with others."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict

from rrpolicy.plugin import Channel, Identity, Measure, Product, Retention, Standing, hookimpl
from rrpolicy.plugin.types import Gate
from rrpolicy.testing import check_metric, open_policy, policy_of

DOMAINS = {"sex": ["f", "m"], "region": ["n", "e", "s"]}
ticks = itertools.count(1)


class Options(BaseModel):
    """The metric has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Women:
    """Mean squared error of the estimated share of women; with two categories N alone tells it."""

    name = "acme-women"
    options: type[BaseModel] = Options
    stated: Any = Options()
    meaning = "the mean squared error of the share of women"

    def unfit(self, options: Any, channel: type[Channel], axes: Any) -> str | None:
        kinds = {name: kind for names, kind in axes for name in names}
        return None if kinds.get("sex") in {Retention, Identity} else "sex is not released by a retention"

    def expected(self, options: Any, channel: Any, original: Any) -> Measure | None:
        axis = channel.axes[0]
        keep = axis.column(0).get(0, Fraction(0))
        records = original if isinstance(original, int) else original.records
        return Measure(float(keep * (1 - keep) / (records * (2 * keep - 1) ** 2)))

    def realised(self, options: Any, release: Any, original: Any) -> Measure | None:
        true = int(original.counts("sex").dense()[0])
        return Measure(float((release.crosstab("sex").estimate[0] - true) / original.records) ** 2)


class Naming(BaseModel):
    """Of which attribute."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attribute: str = "sex"


class Named(Women):
    """Speaks of the attribute that is named, if it is the one that it knows."""

    options = Naming
    stated: Any = Naming(attribute="sex")

    def unfit(self, options: Any, channel: type[Channel], axes: Any) -> str | None:
        known = super().unfit(options, channel, axes)
        return known if options.attribute == "sex" else f"'{options.attribute}' is not released"


class Credulous(Named):
    def unfit(self, options, channel, axes):
        return Women.unfit(self, options, channel, axes)


class Silent(Women):
    """Tells nothing of a draw."""

    def realised(self, options: Any, release: Any, original: Any) -> Measure | None:
        return None


class Hopeful(Women):
    def expected(self, options, channel, original):
        return Measure(super().expected(options, channel, original).value / 10)


class Gloomy(Women):
    def expected(self, options, channel, original):
        return Measure(super().expected(options, channel, original).value * 10)


class Bounded(Hopeful):
    def expected(self, options, channel, original):
        return Measure(super().expected(options, channel, original).value, Standing.UPPER_BOUND)


class Reading(Women):
    def expected(self, options, channel, original):
        more = 0 if isinstance(original, int) else int(original.counts("sex").n[0]) * 1e-9
        return Measure(super().expected(options, channel, original).value + more)


class Negative(Women):
    def expected(self, options, channel, original):
        return Measure(-super().expected(options, channel, original).value)


class Endless(Women):
    def expected(self, options, channel, original):
        return Measure(math.inf)


class Bare(Women):
    def expected(self, options, channel, original):
        return super().expected(options, channel, original).value


class Brittle(Women):
    def unfit(self, options, channel, axes):
        return None if axes[0][1] is Retention else "it is not a retention"


class Wordless(Women):
    def unfit(self, options, channel, axes):
        return "" if super().unfit(options, channel, axes) else None


class Never(Women):
    def expected(self, options, channel, original):
        return Measure(max(1e-4, super().expected(options, channel, original).value))


class Trembling(Women):
    def realised(self, options, release, original):
        return Measure(super().realised(options, release, original).value + next(ticks) * 1e-9)


class Selective(Women):
    def realised(self, options, release, original):
        found = super().realised(options, release, original)
        return found if found.value < 1e-3 else None


class Dull(Women):
    meaning = " "


def check(kind: type[Women]) -> None:
    class Plugin:
        @hookimpl
        def rrpolicy_utility_metrics(self):
            return [kind()]

    policy = policy_of(DOMAINS, gates=(Gate("acme-women", kind.stated, "1"),))
    axes = tuple(Retention.uniform(n, d, Fraction(4, 5)) for n, d in DOMAINS.items())
    check_metric(kind(), open_policy(policy, [Plugin()]), [Product(axes, (), tuple(DOMAINS))], refused=[{"of": "men"}])


HONEST = {"mean squared error": Women, "nothing of a draw": Silent, "of what is named": Named}
WRONG = {
    "it expects too little": (Hopeful, "expected is .*, and 400 draws yield"),
    "it expects too much": (Gloomy, "expected is .*, and 400 draws yield"),
    "a bound that is none": (Bounded, "expected is .*, and 400 draws yield"),
    "it reads the table": (Reading, "of the number of records alone is another number with the table"),
    "less than nothing": (Negative, "what is expected is -.*: smaller is better, at least 0"),
    "no number": (Endless, "what is expected is inf"),
    "a number without a standing": (Bare, "what is expected is float, not a Measure"),
    "it takes any name": (Credulous, "unfit.. takes an attribute that is not there: Naming.attribute='no such attribute'"),
    "it fails on other channels": (Brittle, "unfit.. of a 'anatomy' channel fails: IndexError"),
    "it refuses without a reason": (Wordless, "unfit.. returns a reason, or None"),
    "something of nothing": (Never, "something is expected of a release that is the table"),
    "another number each time": (Trembling, "the realised value differs at a second call"),
    "of good draws alone": (Selective, "exists for some draws and not for others"),
    "it says not what it means": (Dull, "a metric states the meaning of its number"),
}  # fmt: skip
