"""Checks of an assessor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Channel, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.grouping import DETERMINISTIC_AXES
from rrpolicy.privacy.model import Assessor, MinimumRisk, Order, PerClass, PrivacyModel, Smooth
from rrpolicy.serialization import read
from rrpolicy.testing.assertions import convert_to_assertion, demand
from rrpolicy.testing.channels import json_round_trip
from rrpolicy.testing.draws import draw_release, identity_channel, plan_kit_release
from rrpolicy.testing.limit_monotonicity import AssessorProbe
from rrpolicy.testing.memory import similar_tables

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import Original

SMALL = 1e-6
"""Absolute constraint values below this decide nothing, nor do limits nearer to the achieved value."""


@convert_to_assertion("the arguments of the assessor")
def check_assessor(
    assessor: Assessor, policy: OpenedPolicy, channels: Sequence[Channel] = (), tables: Sequence[Original] = ()
) -> tuple[Finding, ...]:
    """Check that an assessor satisfies its interface on examples, and on both sides of their achieved values.

    Args:
        assessor: the assessor to check.
        policy: a policy with at least one requirement of its model.
        channels: examples; by default the plan of the policy's mechanism for the first table.
        tables: tables of equal numbers of records; the first fits the channels. By default made-up tables.

    Returns:
        its findings for the first table, by requirement and channel, for further assertions.

    Raises:
        AssertionError: with the violated requirement.
    """
    requirements = [r for r in policy.policy.requirements if r.model == assessor.model]
    demand(bool(requirements), f"the policy has no requirement of {assessor.model}")
    demand(bool(assessor.reference), "an assessor states the source of its formula")
    demand(assessor.measure is None or assessor.basis <= Basis.RELEASE, "`beyond` states what no release determines")
    tables = similar_tables(policy.policy, *tables)
    channels = channels or [plan_kit_release(policy, tables[0]).channel]
    findings = []
    for requirement in requirements:
        for channel in channels:
            demand(isinstance(channel, assessor.channel), f"the example is not a {assessor.channel.kind} channel")
            kinds = [type(axis) for axis in getattr(channel, "axes", ())]
            with convert_to_assertion("supports()"):
                refused = assessor.supports(requirement, tables[0].policy, kinds)
            demand(refused is None or bool(refused.strip()), "supports() refuses without a reason")
            if refused is None:
                findings.append(_check_case(assessor, requirement, channel, policy, tables))
    demand(bool(findings), "supports() refuses every example")
    plain = identity_channel(tables[0].policy)
    by_classes = assessor.per_class is not None or assessor.sufficient is not None
    for requirement in requirements if plain is not None and _can_assess(assessor, plain) else ():
        if plain is not None and assessor.supports(requirement, tables[0].policy, [Identity]) is None:
            if by_classes:
                _check_case(assessor, requirement, plain, policy, tables)
            AssessorProbe(assessor, policy.registry.privacy_models[assessor.model], plain, tables[0]).check_heeded(
                requirement
            )
    return tuple(findings)


def _can_assess(assessor: Assessor, channel: Channel) -> bool:
    kinds = {type(axis) for axis in getattr(channel, "axes", ())}
    known = not assessor.axes or all(issubclass(kind, assessor.axes) for kind in kinds)
    return isinstance(channel, assessor.channel) and known and not assessor.needs


def _check_case(
    assessor: Assessor, requirement: Requirement, channel: Channel, policy: OpenedPolicy, tables: Sequence[Original]
) -> Finding:
    original = tables[0]
    finding = _check_finding(assessor, requirement, channel, original)
    _check_basis(assessor, requirement, channel, tables)
    for other in tables[1:] if isinstance(channel, Product) else ():
        _check_shortcuts(assessor, requirement, channel, other, _check_finding(assessor, requirement, channel, other))
    model = policy.registry.privacy_models[requirement.model]
    elsewhere = _check_options(AssessorProbe(assessor, model, channel, original), requirement, finding)
    for moved, expected in () if elsewhere else _limits_around(model, requirement, finding):
        found = assessor.finding(moved, channel, original)
        limit = "" if moved.limit is None else f" of {plain_number(float(moved.limit))}"
        said = f"{plain_number(finding.achieved.value)} is achieved, and a limit{limit} is" if finding.achieved else ""
        demand(found.verdict is expected, f"{said} {found.verdict}, not {expected}")
        _check_shortcuts(assessor, moved, channel, original, found)
    _check_shortcuts(assessor, requirement, channel, original, finding)
    _check_units(assessor, requirement, channel, original, finding)
    _check_floor(assessor, requirement, channel, original, finding)
    if assessor.monotone and requirement.monotone and finding.verdict is Verdict.SATISFIED:
        for coarser in _coarsen(channel, original.policy):
            kinds = [type(axis) for axis in coarser.axes]
            known = all(issubclass(kind, assessor.axes) for kind in kinds)
            if known and assessor.supports(requirement, original.policy, kinds) is None:
                verdict = assessor.finding(requirement, coarser, original).verdict
                demand(verdict is Verdict.SATISFIED, f"monotone: with two labels taken together it is {verdict}")
    if assessor.measure is not None or assessor.attained is not None:
        _check_realised(assessor, requirement, channel, policy, original)
    if assessor.smooth is not None and finding.verdict is not Verdict.UNDECIDED:
        _check_smooth(assessor.smooth(requirement, channel, original), channel, finding)
    return finding


def _check_options(asked: AssessorProbe, requirement: Requirement, finding: Finding) -> bool:
    """Assess requirements that differ in one option; return whether it fails by another option than its limit."""
    elsewhere = False
    for moved in asked.variants(requirement).values():
        judged = [(each, asked.finding(each)) for each in moved]
        asked.check_order([(requirement, finding), *judged])
        for each, found in judged:
            _check_shortcuts(asked.assessor, each, asked.channel, asked.original, found)
            elsewhere |= each.limit == requirement.limit and found.verdict is Verdict.SATISFIED
    return elsewhere and finding.verdict is Verdict.FAILED


def _check_finding(assessor: Assessor, requirement: Requirement, channel: Channel, original: Original) -> Finding:
    with convert_to_assertion("assess()"):
        finding = assessor.finding(requirement, channel, original)
    again = assessor.finding(requirement, channel, original)
    demand(finding.to_json() == again.to_json(), "two assessments of one channel differ")
    demand(bool(finding.code), "the finding has no code")
    limited = (
        requirement.limit is None or finding.limit == requirement.limit or _has_per_value_limits(requirement.options)
    )
    demand(limited, f"the finding's limit is {finding.limit}, and the requirement's {requirement.limit}")
    demand(finding.model.partition("/")[0] == assessor.model, "the finding is of another model")
    basis = assessor.rests_on(requirement)
    demand(finding.basis <= basis, "the finding depends on more than the assessor declares")
    demand(isinstance(finding.verdict, Verdict), "a requirement needs a verdict, if only `undecided`")
    demand(bool(finding.adversary.strip()), "the finding does not state its adversary")
    demand(
        (finding.achieved is None) == (finding.verdict is Verdict.UNDECIDED),
        "a number without a verdict, or vice versa",
    )
    _check_number("the number achieved", finding.achieved)
    estimate = finding.achieved is not None and finding.achieved.standing is Standing.ESTIMATE
    demand(
        not estimate or (finding.achieved is not None and finding.achieved.error > 0), "an estimate without its error"
    )
    for companion in finding.companions:
        demand(isinstance(companion, Companion) and bool(companion.meaning), "a companion does not state its meaning")
        _check_number(f"'{companion.name}'", companion.measure)
    written = json_round_trip("the finding", cast("Any", finding.to_json()))
    again = read(Finding, written)
    demand(again.to_json() == {**finding.to_json(), "place": again.to_json()["place"]}, "the finding reads otherwise")
    for least in Basis:
        shown = finding.up_to(least)
        hidden = finding.basis <= least or (shown.achieved is None and shown.limit is None)
        demand(hidden, "public/ would show a number of the original")
        demand(all(c.basis <= least for c in shown.companions), "public/ would show a companion of the original")
    return finding


def _has_per_value_limits(options: BaseModel) -> bool:
    """Return whether options also state limits of single values."""
    return any(isinstance(getattr(options, name), Mapping) for name in type(options).model_fields)


def _check_number(what: str, measure: Measure | None) -> None:
    if measure is None:
        return
    demand(
        isinstance(measure, Measure) and isinstance(measure.value, (float, int)), f"{what} is not a Measure of a number"
    )
    demand(type(measure.value) in {float, int}, f"{what} is a number of numpy, not a float")
    demand(math.isfinite(measure.error) and measure.error >= 0, f"the error of {what} is not a number of at least 0")
    demand(measure.error == 0 or measure.standing is Standing.ESTIMATE, f"{what} has an error, and is not an estimate")


def _check_basis(assessor: Assessor, requirement: Requirement, channel: Channel, tables: Sequence[Original]) -> None:
    """Assess with the number of records alone: the table adds nothing, or there is no verdict."""
    records = tables[0].records
    with convert_to_assertion("without the table, assess()"):
        alone = assessor.finding(requirement, channel, records)
    if assessor.rests_on(requirement) > Basis.CHANNEL:
        rests = assessor.basis > Basis.CHANNEL
        demand(not rests or alone.verdict is Verdict.UNDECIDED, "it decides without the table that it rests on")
        return
    for table in tables if isinstance(channel, Product) else tables[:1]:  # others are of one table
        told, own = (f.up_to(Basis.CHANNEL).to_json() for f in (assessor.finding(requirement, channel, table), alone))
        demand(told == own, "it reads the table, but declares that the channel is enough (basis)")


def _limits_around(
    model: PrivacyModel[Any], requirement: Requirement, finding: Finding
) -> Iterator[tuple[Requirement, Verdict]]:
    """Yield the requirement with limits at the achieved value and on both sides of it, with the verdict of each."""
    achieved = finding.achieved
    if achieved is None or not 0 < achieved.value < math.inf or finding.limit != requirement.limit:
        return
    if achieved.standing is Standing.ESTIMATE:
        return
    value = achieved.value
    for below, above in (
        (Fraction(plain_number(value * (1 - SMALL), 12)), Fraction(plain_number(value * (1 + SMALL), 12))),
        (Fraction(math.ceil(value) - 1), Fraction(math.floor(value) + 1)),
    ):
        sides = [_with_limit(requirement, limit) for limit in (below, above)]
        if sides[0] is None or sides[1] is None:
            continue
        order = model.compare(sides[0].options, sides[1].options)
        demand(
            order in {Order.STRONGER, Order.WEAKER},
            f"compare() returns that a limit of {below} and {above} are {order}",
        )
        strict, lax = (sides[1], sides[0]) if order is Order.STRONGER else (sides[0], sides[1])
        yield lax, Verdict.SATISFIED
        if achieved.standing is Standing.EXACT:
            yield strict, Verdict.FAILED
        exactly = _with_limit(requirement, Fraction(value)) if value == math.floor(value) else None
        if exactly is not None:
            yield exactly, Verdict.SATISFIED
        return


def _with_limit(requirement: Requirement, limit: Fraction) -> Requirement | None:
    """Return the requirement with another limit; None if no option can have this limit."""
    options: BaseModel = requirement.options
    stated = {name: getattr(options, name) for name in options.model_fields_set}
    spelled: list[object] = [int(limit)] if limit.denominator == 1 else []
    for name in type(options).model_fields:
        for value in (*spelled, str(limit), float(limit)):
            try:
                moved = type(options).model_validate({**stated, name: value})
            except (ValidationError, TypeError):
                continue
            if getattr(moved, "limit", None) == limit != requirement.limit:
                return replace(requirement, options=moved)
    return None


def _check_shortcuts(
    assessor: Assessor, requirement: Requirement, channel: Channel, original: Original, finding: Finding
) -> None:
    satisfied = finding.verdict is Verdict.SATISFIED
    if assessor.holds is not None:
        held = assessor.holds(requirement, channel, original)
        demand(held is satisfied, f"holds() is {held}, and assess() returns {finding.verdict}")
    accepted = assessor.accepts(requirement, channel, original)
    demand(accepted is satisfied, f"accepts() is {accepted}, and assess() returns {finding.verdict}")
    for name, asked in (("per_class", assessor.per_class), ("sufficient", assessor.sufficient)):
        if asked is not None and _classes_pass(asked(requirement, original.policy), requirement, channel, original):
            demand(satisfied, f"{name}() lets all classes pass, and assess() returns {finding.verdict}")


def _classes_pass(tests: Sequence[PerClass], requirement: Requirement, channel: Channel, original: Original) -> bool:
    """Return whether per-class tests certainly let every class of a deterministic channel pass."""
    import numpy as np

    from rrpolicy.privacy.classes.equivalence import expected_classes

    axes = getattr(channel, "axes", ())
    if not tests or not isinstance(channel, Product) or not all(type(axis) in DETERMINISTIC_AXES for axis in axes):
        return False
    for one in tests:
        if one.peaks is not None:
            return False
        named = () if one.sensitive is None else (one.sensitive,)
        classes = expected_classes(replace(requirement, where=one.where), channel, original, named)
        counts = classes.sizes[:, None]
        if one.sensitive is not None:
            cells = classes.histograms[one.sensitive]
            counts = np.zeros((cells.classes, cells.values), np.int64)
            counts[cells.group, cells.value] = cells.n
        if classes.suppressed and one.sensitive is None:
            counts = np.vstack([counts, [[classes.suppressed]]])
        elif classes.suppressed:
            counts = np.vstack([counts, cells.whole - cells.totals])
        passes = one.holds(counts)[: len(classes.sizes)]
        if one.people is not None:
            if classes.population is None or classes.suppressed:
                return False
            records = np.append(classes.sizes, 0)
            told = one.people(records, np.append(classes.population.n, int(classes.population.elsewhere)))
            passes = passes & told[:-1] & told[-1]
        if not bool((passes | ~classes.concerned).all()):
            return False
    return True


def _check_units(
    assessor: Assessor, requirement: Requirement, channel: Channel, original: Original, finding: Finding
) -> None:
    """Assess units of two records: they are protected no better than one record."""
    if assessor.units is None or requirement.max_records > 1:
        return
    found = assessor.finding(replace(requirement, max_records=2), channel, original)
    demand(
        found.basis <= assessor.units, "the finding on units of several records depends on more than `units` declares"
    )
    better = found.verdict is Verdict.SATISFIED and finding.verdict is Verdict.FAILED
    demand(not better, "it is satisfied for units of two records, and not for single records")


def _check_floor(
    assessor: Assessor, requirement: Requirement, channel: Channel, original: Original, finding: Finding
) -> None:
    """Assess the attributes that are drawn at random alone: a satisfied requirement is achievable."""
    free = [name for axis in getattr(channel, "axes", ()) if isinstance(axis, Retention) for name in axis.attributes]
    if assessor.floor is None or not free:
        return
    for floor in assessor.floor(requirement, channel, original, free):
        demand(isinstance(floor, MinimumRisk), "floor() returns something else than MinimumRisk")
        demand(0 <= floor.achieved < math.inf, f"floor() returns that {floor.achieved} is reachable")
        reachable = floor.feasible or finding.verdict is not Verdict.SATISFIED
        demand(reachable, "floor() returns that the limit is out of reach, and assess() that it is satisfied")


def _coarsen(channel: Channel, policy: Policy) -> Iterator[Product]:
    for place, axis in enumerate(channel.axes if isinstance(channel, Product) else ()):
        columns = axis.columns()
        if not isinstance(axis, Transition) or len(columns) > 1 or len(columns[0].labels) < 3:  # noqa: PLR2004 two left
            continue
        (name,), labels = axis.attributes, columns[0].labels
        entries = [axis.column(code) for code in range(axis.original_size)]
        rows = [[column.get(u, Fraction(0)) for column in entries] for u in range(len(labels))]
        together = [[a + b for a, b in zip(rows[0], rows[1], strict=True)], *rows[2:]]
        merged = Matrix.explicit(name, policy.attributes[name].domain or (), labels[1:], together, columns[0].name)
        assert isinstance(channel, Product)
        yield replace(channel, axes=(*channel.axes[:place], merged, *channel.axes[place + 1 :]))


def _check_realised(
    assessor: Assessor, requirement: Requirement, channel: Channel, policy: OpenedPolicy, original: Original
) -> None:
    """Release, and measure the written data."""
    plan = plan_kit_release(policy, original, channel)
    with draw_release(plan, policy, original, 1) as made, made.written() as written:
        if assessor.measure is not None and assessor.rests_on(requirement) <= Basis.RELEASE:
            measured = assessor.measure(requirement, original.policy, plan.channel, written)
            expected = assessor.finding(requirement, plan.channel, original).up_to(Basis.RELEASE)
            same = measured.up_to(Basis.RELEASE).to_json() == expected.to_json()
            demand(same, "measure() finds something else in the release than assess() found before the draw")
        if assessor.attained is not None:
            found = assessor.attained(plan.channel, original, written)
            if found is not None:
                demand(
                    found.limit is None and found.verdict is None,
                    "attained() decides: what one draw came to never does",
                )
                _check_number("what was attained", found.achieved)
                json_round_trip("what was attained", cast("Any", found.to_json()))


def _check_smooth(smooth: Smooth, channel: Channel, finding: Finding) -> None:
    """Compare values with the verdict, and derivatives with differences."""
    import numpy as np

    axes = [axis for axis in getattr(channel, "axes", ()) if isinstance(axis, Retention)]
    largest = [max(axis.blocks, key=lambda block: block.size) for axis in axes]
    if not axes:
        return
    at: Array = np.array([float(block.keep) for block in largest])
    value = np.atleast_1d(smooth.value(at))
    demand(not bool(np.any(np.isnan(value))), "smooth.value() is not a number")
    if float(np.max(value)) < -SMALL:
        demand(finding.verdict is Verdict.SATISFIED, "smooth returns that it is satisfied, assess that it is not")
    if float(np.max(value)) > SMALL and finding.achieved is not None and finding.achieved.standing is Standing.EXACT:
        demand(finding.verdict is Verdict.FAILED, "smooth returns that it fails, assess that it does not")
    jacobian = np.atleast_2d(smooth.jacobian(at))
    demand(jacobian.shape == (len(value), len(at)), "smooth.jacobian() is not (constraints, keep probabilities)")
    for index, block in enumerate(largest):
        step = 1e-6 * min(float(block.keep) - 1 / block.size, 1 - float(block.keep))
        if block.size == 1 or step <= 0:
            continue
        ahead, behind = at.copy(), at.copy()
        ahead[index] += step
        behind[index] -= step
        difference = (smooth.value(ahead) - smooth.value(behind)) / (2 * step)
        near = np.allclose(
            jacobian[:, index], difference, rtol=1e-3, atol=1e-3 * max(1.0, float(np.abs(jacobian).max()))
        )
        demand(bool(near), f"smooth.jacobian() is not the derivative by keep probability {index}")
