"""Open retention axes of a channel, filled in by the requirements of a policy: shared by randomising mechanisms."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import expected_squared_error
from rrpolicy.declarations import Role
from rrpolicy.errors import Place
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import Basis, Finding, Measure, Origin, Verdict
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Remark, Task, refuse_without_data
from rrpolicy.numbers import plain_number
from rrpolicy.optimize.retention.common_retention import MIN_DIGITS
from rrpolicy.optimize.retention.optimizer import DEFAULT_STARTS, minimise_error, solve_common_retention
from rrpolicy.optimize.retention.problem import Allocation, AllocationSolution
from rrpolicy.optimize.retention.template import (
    ChannelTemplate,
    expected_error_objective,
    needs_data,
    weighted_marginals,
)
from rrpolicy.privacy.model import Smooth

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.optimize.retention.workload import Marginal
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.model import Assessor

NEAR_FLOOR = Fraction(1, 10**12)


class Allocated(Struct, frozen=True):
    """A channel with its open axes filled in.

    Attributes:
        channel: satisfies every requirement, as the assessors decided.
        origins: attribute -> where its parameter comes from, for those that were solved for.
        unrounded: attribute -> its retention and keep probability before rounding down.
        remarks: the limits of the choice, its gain, and the certainty of the search.
    """

    channel: Product
    origins: Mapping[str, Origin]
    unrounded: Mapping[str, Mapping[str, float]]
    remarks: tuple[Remark, ...]


def allocate(
    channel: Product,
    solved: Collection[str],
    task: Task,
    *,
    optimal: bool = True,
    workload: Sequence[Marginal] = (),
    digits: int = MIN_DIGITS,
    starts: int = DEFAULT_STARTS,
) -> Allocated:
    """Choose retention probabilities that satisfy every requirement of a task at once.

    Args:
        channel: the channel with every axis in its place; of its open axes only the blocks matter.
        solved: attributes on retention axes whose parameter is open; at least one.
        task: the requirements with their assessors, and the table or only N.
        optimal: those of least expected error (Guo, Ying, Wu 2011, Problem 1); else one retention probability for all
            (Ikarashi et al. 2014, Algorithms 1-3).
        workload: the marginals whose error counts; empty for the whole table.
        digits: decimals that keep probabilities are rounded down to.
        starts: number of starts of the search; the first is the common retention probability.

    Raises:
        PolicyError: RR255 if more than N is needed and only N is given.
        RequirementError: RR102 if no retention probabilities satisfy the requirements.
    """
    template = ChannelTemplate(channel, solved)
    origin = _parameter_origin(template, workload, task, optimal=optimal)
    problem = allocation_problem(template, task, workload, digits)
    solution = minimise_error(problem, starts) if optimal else solve_common_retention(problem)
    filled = template.filled(solution.keep)
    return Allocated(
        filled,
        dict.fromkeys(template.names, origin),
        {
            name: {"retention_probability": rho, "keep_probability": p}
            for axis, rho, p in zip(template.open, solution.retention, solution.unrounded, strict=True)
            for name in axis.attributes
        },
        (
            *_binding_limits(problem, solution),
            *(_comparison_remarks(template, workload, task, solution) if optimal else ()),
        ),
    )


def allocation_problem(
    template: ChannelTemplate, task: Task, workload: Sequence[Marginal] = (), digits: int = MIN_DIGITS
) -> Allocation:
    """Return the objective and its constraints; see `allocate` for the arguments."""

    def feasible(keep: Sequence[Fraction]) -> bool:
        channel = template.filled(keep)
        return all(assessor.accepts(requirement, channel, task.original) for requirement, assessor in task.requirements)

    return Allocation(
        template.variables,
        expected_error_objective(template, workload, task.original),
        tuple(_constraints(template, task)),
        feasible,
        digits,
        lambda: _unreachable_error(template, task),
        next((r.place for r, _ in task.requirements if r.place is not None), task.policy.place("privacy")),
    )


def _parameter_origin(template: ChannelTemplate, workload: Sequence[Marginal], task: Task, *, optimal: bool) -> Origin:
    """Return whether the parameters depend on more than N; refuse them if only N is given."""
    models = [r.model for r, assessor in task.requirements if assessor.rests_on(r) > Basis.CHANNEL]
    data = optimal and needs_data(template, workload)
    if isinstance(task.original, int):
        if models:
            raise refuse_without_data(f"choosing parameters for {models[0]}", "allocation", task)
        if data:
            raise refuse_without_data("minimising this expected error", "workload", task)
    seen = template.channel.discloses() or any(a.observed for a in task.policy.released)
    return Origin.DATA if models or data or seen else Origin.RECORDS


def _constraints(template: ChannelTemplate, task: Task) -> Iterator[Smooth]:
    """Yield every differentiable requirement, as a function of the open axes.

    An assessor's constraint reads one keep probability for each retention axis; those that are given are constant.
    Other requirements are left to pulling back, which calls the assessors.
    """
    axes = [axis for axis in template.channel.axes if isinstance(axis, Retention)]
    start = np.array([float(axis.largest.keep) for axis in axes])
    free = np.array([template.opens(axis) for axis in axes])
    for requirement, assessor in task.requirements:
        if assessor.smooth is not None:
            yield _restricted_constraint(assessor.smooth(requirement, template.channel, task.original), start, free)


def _restricted_constraint(
    constraint: Smooth, start: Array, free: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> Smooth:
    def full(x: Array) -> Array:
        keep = start.copy()
        keep[free] = x
        return keep

    return replace(
        constraint, value=lambda x: constraint.value(full(x)), jacobian=lambda x: constraint.jacobian(full(x))[:, free]
    )


def _unreachable_error(template: ChannelTemplate, task: Task) -> tuple[str, str, Place | None]:
    """Return the requirements' values as all open axes become uniform, a remedy, and the place of the requirement."""
    least = template.filled([Fraction(1, v.size) + NEAR_FLOOR for v in template.variables])
    said, hints, places = [], list[tuple[str, tuple[str, ...]]](), list[Place | None]()
    for requirement, assessor in task.requirements:
        for of, text, helps in _binding_obstacles(requirement, assessor, least, template, task):
            said.append(text)
            hints.append((of, helps))
            places.append(requirement.place)
    told = _combined_hints(hints) or "; or ".join(_general_hints(template, task))
    return "; ".join(said), told, next(iter(places), None)


def _combined_hints(hints: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    """Return the remedies of several requirements: single ones after their names, common ones last."""
    every = [h for h in dict.fromkeys(h for _, helps in hints for h in helps) if all(h in helps for _, helps in hints)]
    own = [(of, [h for h in helps if h not in every]) for of, helps in hints]
    told = [f"for {of}: {'; or '.join(helps)}" for of, helps in own if helps]
    shared = "; or ".join(every)
    return "\n    ".join([*told, f"for each: {shared}"] if told and shared else told or [shared])


def _general_hints(template: ChannelTemplate, task: Task) -> Iterator[str]:
    """Yield general remedies, with the names of the attributes, if no requirement has one."""
    changed = {n for a in template.channel.axes if not isinstance(a, Identity) for n in a.attributes}
    given = [
        " with ".join(a.attributes) for a in template.channel.axes if isinstance(a, Retention) and not template.opens(a)
    ]
    if given:
        yield f"let the parameters of {quoted_list(given)} be solved for, too, or give smaller ones"
    kept = [a for a in task.policy.released if a.name not in changed and a.assume_unlinkable is None]
    if kept:
        yield f"randomise {quoted_list(a.name for a in kept)} too"
    free = [a.name for a in kept if a.role is not Role.QUASI_IDENTIFIER]
    if free:
        yield f"state why nobody is identified by {quoted_list(free)} (`assume_unlinkable`)"
    if template.variables:
        widest = max(template.variables, key=lambda v: v.size)
        yield f"coarsen '{widest.attribute}', which has {widest.size} categories"
    yield "relax the requirement"


def _binding_obstacles(
    requirement: Requirement, assessor: Assessor, least: Product, template: ChannelTemplate, task: Task
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield parts that cannot be brought under their limit: the part, the least value, and remedies."""
    if assessor.floor is not None and not isinstance(task.original, int):
        for floor in assessor.floor(requirement, template.channel, task.original, template.names):
            if not floor.feasible:
                yield floor.of, floor.text, floor.hints
        return
    finding = assessor.finding(requirement, least, task.original)
    if finding.verdict is not Verdict.SATISFIED:
        over = f" ({finding.groups_over} groups, {finding.people_over} people over the limit)"
        text = f"{finding.model}: {_best_achieved(finding)}{over if finding.groups_over else ''}"
        yield requirement.model, text, _table_size_hint(finding, task)


def _table_size_hint(finding: Finding, task: Task) -> tuple[str, ...]:
    """Return the hint for a number that must be as large as the table or larger: no randomisation helps."""
    achieved, limit = finding.achieved, finding.limit
    if achieved is None or limit is None or achieved.value > limit or limit < task.records:
        return ()
    return (f"relax the requirement: no person can be hidden among more than the table's {task.records:,} records",)


def _best_achieved(finding: Finding) -> str:
    """Return the best value of a requirement: the largest of those that must be large, else the smallest."""
    if finding.achieved is None or finding.limit is None:
        return "undecided however much is randomised"
    achieved, limit = finding.achieved.value, finding.limit
    if achieved > limit:
        return f"the smallest reachable is {plain_number(achieved)}"
    less = (
        f"less than {plain_number(achieved)}"
        if plain_number(achieved) == plain_number(float(limit))
        else plain_number(achieved)
    )
    return f"the largest reachable is {less}"


def _binding_limits(problem: Allocation, solution: AllocationSolution) -> Iterator[Remark]:
    if solution.active:
        yield Remark("limited-by", f"what limits the choice: {', '.join(solution.active)}")
    if problem.bounded:
        yield Remark(
            "planned-on-bound",
            "planned on a certified upper bound of the risk, because the domain is too wide to search exactly; then"
            " the logarithms of all retention probabilities were scaled by one factor towards the exact limit",
            Measure(solution.raised),
        )
    if solution.pulled_back < 1:
        yield Remark(
            "pulled-back",
            "all retention probabilities were scaled down until every requirement was met exactly",
            Measure(solution.pulled_back),
        )


def _comparison_remarks(
    template: ChannelTemplate, workload: Sequence[Marginal], task: Task, solution: AllocationSolution
) -> Iterator[Remark]:
    """Yield the gain of optimal over equal allocation, if known, and the number of agreeing starts."""
    if solution.common is not None and len(solution.keep) > 1:
        found = [_weighted_error(template.filled(keep), workload, task) for keep in (solution.common, solution.keep)]
        errors = [
            error for error in found if error is not None and math.isfinite(error)
        ]  # of 100 columns it may not be
        if len(errors) == len(found):
            gain = math.sqrt(errors[0] / errors[1]) if errors[1] > 0 else 1.0
            text = f"equal allocation has {plain_number(gain, 4)} times the expected error of the optimal one"
            yield Remark("gain-over-equal", text, Measure(gain))
    yield Remark(
        "starts-agreed",
        f"{solution.agreed} of {solution.starts} starts of the search ended at the same least error",
        Measure(float(solution.agreed)),
    )


def _weighted_error(channel: Product, workload: Sequence[Marginal], task: Task) -> float | None:
    """Return the weighted sum of the expected squared errors; None if N and the channel do not determine it."""
    parts = [
        (weight, expected_squared_error(channel, task.original, names))
        for weight, names in weighted_marginals(channel, workload)
    ]
    return None if any(error is None for _, error in parts) else math.fsum(w * (e or 0.0) for w, e in parts)
