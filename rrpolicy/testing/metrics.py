"""Checks of a utility metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.base import Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.finding import Measure, Standing
from rrpolicy.numbers import plain_number
from rrpolicy.planning.assess import channel_outline
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Policy
from rrpolicy.testing.assertions import check_options, convert_to_assertion, demand
from rrpolicy.testing.draws import draw_release, identity_channel, plan_kit_release
from rrpolicy.testing.memory import similar_tables
from rrpolicy.utility.metric import UtilityMetric

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

DRAWS = 400
LOW, HIGH = 5.5, 10
"""Standard errors that the mean of the draws may lie below and above the expectation.

For normal numbers, their sizes and their squares each is passed with a probability below 5e-7 (squares are skewed:
small means have small deviations). The seeds are fixed, so that the same metric passes or fails every time.
"""
ROUNDING = 1e-9
UNKNOWN_NAME = "no such attribute"


@convert_to_assertion("the arguments of the metric")
def check_metric(
    metric: UtilityMetric[Any],
    policy: OpenedPolicy,
    channels: Sequence[Channel] = (),
    tables: Sequence[Original] = (),
    *,
    refused: Sequence[Mapping[str, object]] = (),
) -> None:
    """Check the expectations of a metric for channels, and compare them with draws.

    Args:
        metric: the metric to check.
        policy: a policy with at least one [[utility]] entry of the metric.
        channels: examples; by default the plan of the policy's mechanism for the first table.
        tables: tables of equal numbers of records; the first fits the channels. By default made-up tables.
        refused: tables of its options that must be refused.

    Raises:
        AssertionError: with the violated requirement.
    """
    entries = [gate.options for gate in policy.policy.gates if gate.metric == metric.name]
    demand(bool(entries), f"the policy has no [[utility]] entry of {metric.name}")
    demand(
        isinstance(metric.meaning, str) and bool(metric.meaning.strip()), "a metric states the meaning of its number"
    )
    check_options(metric.options, refused)
    tables = similar_tables(policy.policy, *tables)
    channels = channels or [plan_kit_release(policy, tables[0]).channel]
    for options in entries:
        case = _MetricCase(metric, options, policy, tables[0])
        for kind in (AnatomyChannel, SuppressionChannel):
            _unfit_reason(metric, options, kind, ())
        fit = [c for c in channels if _unfit_reason(metric, options, type(c), channel_outline(c).axes) is None]
        demand(bool(fit), "unfit() refuses every example")
        for strange in _unknown_attribute_options(options, policy.policy):
            _check_unknown_attribute(metric, strange, fit, policy.policy)
        expected = [_check_expected(metric, options, channel, tables) for channel in fit]
        case.check_untouched()
        for channel, told in zip(fit, expected, strict=True):
            case.check_draws(channel, told)


def _unknown_attribute_options(options: BaseModel, policy: Policy) -> Iterator[BaseModel]:
    """Yield options in which the name of a released attribute is replaced by an unknown name."""
    released = {a.name for a in policy.released}
    stated = {name: getattr(options, name) for name in options.model_fields_set}
    for name, value in stated.items():
        if isinstance(value, str) and value in released:
            other: object = UNKNOWN_NAME
        elif isinstance(value, (tuple, list)) and value and all(isinstance(v, str) and v in released for v in value):
            other = [*value[:-1], UNKNOWN_NAME]
        else:
            continue
        try:
            yield type(options).model_validate({**stated, name: other})
        except ValidationError:
            continue


def _check_unknown_attribute(
    metric: UtilityMetric[Any], strange: BaseModel, fit: Sequence[Channel], policy: Policy
) -> None:
    """Request an attribute that does not exist."""
    refuses: Any = getattr(metric, "refuses", None)
    with convert_to_assertion(f"refuses() of {strange!r}"):
        refused = None if refuses is None else refuses(strange, policy)
    for channel in fit if refused is None else ():
        if isinstance(channel, Product):
            known = _unfit_reason(metric, strange, Product, channel_outline(channel).axes) is None
            demand(not known, f"unfit() takes an attribute that is not there: {strange!r}")


def _unfit_reason(metric: UtilityMetric[Any], options: BaseModel, channel: type[Channel], axes: Any) -> str | None:
    with convert_to_assertion(f"unfit() of a '{channel.kind}' channel"):
        reason = metric.unfit(options, channel, axes)
    demand(reason is None or (isinstance(reason, str) and bool(reason.strip())), "unfit() returns a reason, or None")
    return reason


def _check_number(what: str, measure: Measure | None) -> None:
    if measure is None:
        return
    demand(isinstance(measure, Measure), f"{what} is {type(measure).__name__}, not a Measure")
    demand(type(measure.value) in {float, int}, f"{what} is of type {type(measure.value).__name__}, not a float")
    demand(
        math.isfinite(measure.value) and measure.value >= 0, f"{what} is {measure.value}: smaller is better, at least 0"
    )
    estimate = measure.standing is Standing.ESTIMATE
    demand(measure.error >= 0 and (estimate or not measure.error), f"{what} has an error and is not an estimate")


def _check_expected(
    metric: UtilityMetric[Any], options: BaseModel, channel: Channel, tables: Sequence[Original]
) -> Measure | None:
    with convert_to_assertion("expected()"):
        expected = metric.expected(options, channel, tables[0])
    _check_number("what is expected", expected)
    demand(metric.expected(options, channel, tables[0]) == expected, "the expected value differs at a second call")
    with convert_to_assertion("expected() of the number of records alone"):
        alone = metric.expected(options, channel, tables[0].records)
    _check_number("what is expected of the number of records alone", alone)
    for table in tables if alone is not None else ():
        same = metric.expected(options, channel, table) == alone
        demand(same, "what is expected of the number of records alone is another number with the table")
    return expected


class _MetricCase(Struct, frozen=True):
    metric: UtilityMetric[Any]
    options: BaseModel
    policy: OpenedPolicy
    original: Original

    def realised(self, channel: Channel, draws: int) -> list[float]:
        plan = plan_kit_release(self.policy, self.original, channel)
        found: list[float] = []
        for seed in range(draws):
            with draw_release(plan, self.policy, self.original, seed) as made:
                with convert_to_assertion("realised()"):
                    measure = self.metric.realised(self.options, made.release, self.original)
                again = self.metric.realised(self.options, made.release, self.original) if seed == 0 else measure
            _check_number("what is realised", measure)
            demand(again == measure, "the realised value differs at a second call")
            if measure is None:
                demand(not found, "the realised value exists for some draws and not for others")
                return []
            found.append(measure.value)
        return found

    def check_draws(self, channel: Channel, expected: Measure | None) -> None:
        """Compare the expectation with draws: it is their mean, or the root of the mean of their squares."""
        values = self.realised(channel, DRAWS if expected else 1)
        if expected is None or not values:
            return
        low, _ = _mean_bounds(values)
        _, square = _mean_bounds([v * v for v in values])
        bounded = expected.standing is Standing.UPPER_BOUND
        high, slack = math.inf if bounded else math.sqrt(square), HIGH * expected.error + ROUNDING
        on_average = sum(values) / len(values)
        demand(
            low - slack <= expected.value <= high + slack,
            f"expected is {plain_number(expected.value)}, and {DRAWS} draws yield "
            f"{plain_number(on_average)} on average",
        )

    def check_untouched(self) -> None:
        """Expect an error of 0 from a release that is the table."""
        channel = identity_channel(self.original.policy)
        if channel is None or self.metric.unfit(self.options, Product, channel_outline(channel).axes) is not None:
            return
        expected = self.metric.expected(self.options, channel, self.original)
        _check_number("what is expected of the table itself", expected)
        if getattr(self.metric, "absolute", False):
            return
        demand(expected is None or expected.value <= ROUNDING, "something is expected of a release that is the table")
        for value in self.realised(channel, 1):
            demand(value <= ROUNDING, "for a release that is the table itself it is above 0")


def _mean_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return bounds of the mean of the distribution that some numbers were drawn from."""
    mean = sum(values) / len(values)
    error = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    return mean - LOW * error, mean + HIGH * error
