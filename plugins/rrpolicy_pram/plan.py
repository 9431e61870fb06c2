"""Planning: open parameters solved from the requirements, by the optimiser that mechanisms share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.plugin import (
    Allocation,
    Basis,
    Finding,
    Measure,
    Origin,
    Product,
    Proposal,
    Remark,
    Retention,
    Smooth,
    Solution,
    Task,
    Verdict,
    equalise,
    minimise,
)
from rrpolicy_pram.channel import build
from rrpolicy_pram.expected_error import needs_data, objective, refuse_without_data, variables
from rrpolicy_pram.layout import Invariant, Layout, Treatment
from rrpolicy_pram.options import Options
from rrpolicy_pram.reading import read

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def propose(options: Options, task: Task) -> Proposal:
    """Return the channel, where its parameters come from, and what is to be said of the choice.

    Raises:
        PolicyError: RR230 to RR237, RR255.
        RequirementError: RR102.
    """
    layout = _observed(read(options, task.policy), task)
    if not any(t.solved for t in layout.treatments):
        return Proposal(build(layout, {}), _origins(layout, Origin.POLICY))
    data = _depends_on_data(options, layout, task)
    problem = _problem(options, layout, task)
    solution = (minimise if layout.allocation == "optimal" else equalise)(problem)
    names = [v.attribute for v in problem.variables]
    return Proposal(
        build(layout, _retention(problem, solution.keep)),
        _origins(layout, Origin.DATA if data else Origin.RECORDS),
        {
            name: {"retention_probability": rho, "keep_probability": p}
            for name, rho, p in zip(names, solution.retention, solution.unrounded, strict=True)
        },
        tuple(_remarks(layout, task, problem, solution)),
    )


def _observed(layout: Layout, task: Task) -> Layout:
    """Return the layout with observed marginals filled in."""
    treatments: list[Treatment] = []
    for t in layout.treatments:
        if t.attribute.categorical and t.attribute.domain is None:
            raise refuse_without_data(f"the observed domain of '{t.attribute.name}'", "attributes", task)
        if isinstance(t.rule, Invariant) and t.rule.marginal is None:
            if isinstance(task.original, int):
                name = t.attribute.name
                raise refuse_without_data(f"the observed marginal of '{name}'", f"invariant.{name}", task)
            counts = task.original.counts(t.attribute.name)
            shares = dict(zip(counts.codes[:, 0].tolist(), counts.n.tolist(), strict=True))
            marginal = tuple(
                Fraction(shares.get(code, 0), task.records) for code in range(len(t.attribute.domain or ()))
            )
            t = replace(t, rule=replace(t.rule, marginal=marginal))  # noqa: PLW2901
        treatments.append(t)
    return replace(layout, treatments=tuple(treatments))


def _depends_on_data(options: Options, layout: Layout, task: Task) -> bool:
    """Whether solved parameters depend on more than N; refused where only N is given."""
    models = [r.model for r, assessor in task.requirements if assessor.basis > Basis.CHANNEL]
    if isinstance(task.original, int):
        if models:
            raise refuse_without_data(f"choosing parameters for {models[0]}", "allocation", task)
        if layout.allocation == "optimal" and needs_data(options, layout):
            raise refuse_without_data("minimising this expected error", "workload", task)
    marginals = any(isinstance(t.rule, Invariant) and t.rule.source == "observed" for t in layout.treatments)
    return bool(models) or marginals or (layout.allocation == "optimal" and needs_data(options, layout))


def _problem(options: Options, layout: Layout, task: Task) -> Allocation:
    sought = variables(layout)

    def channel(keep: Sequence[Fraction]) -> Product:
        return build(layout, {v.attribute: _rho(p, v.size) for v, p in zip(sought, keep, strict=True)})

    def findings(keep: Sequence[Fraction]) -> list[Finding]:
        at = channel(keep)
        return [assessor.assess(requirement, at, task.original) for requirement, assessor in task.requirements]

    def feasible(keep: Sequence[Fraction]) -> bool:
        at = channel(keep)
        return all(assessor.accepts(requirement, at, task.original) for requirement, assessor in task.requirements)

    def floor() -> str:
        least = [Fraction(1, v.size) + Fraction(1, 10**12) for v in sought]
        return "; ".join(_reached(f) for f in findings(least) if f.verdict is not Verdict.HOLDS)

    return Allocation(
        sought,
        objective(options, layout, task),
        _constraints(layout, task),
        feasible,
        options.digits,
        floor,
    )


def _reached(finding: Finding) -> str:
    """Return what a requirement reaches, and how many stand in the way."""
    value = "undecided" if finding.reached is None else f"{finding.reached.value:.6g}"
    over = f" ({finding.groups_over} groups, {finding.people_over} people over the limit)"
    return f"{finding.model} {value}" + (over if finding.groups_over else "")


def _constraints(layout: Layout, task: Task) -> tuple[Smooth, ...]:
    """Return every requirement that can be differentiated, seen from the variables alone.

    An assessor's constraint reads one keep probability for each retention axis that exchanges something; those that
    the policy gives stay as they are. What cannot be differentiated is left to pulling back, which asks the assessors.
    """
    half = {v.attribute: Fraction(1, 2) for v in variables(layout)}
    channel = build(layout, half)
    axes = [axis for axis in channel.axes if isinstance(axis, Retention)]
    start = np.array([float(max(axis.blocks, key=lambda b: b.size).keep) for axis in axes])
    free = np.array([axis.attribute in half for axis in axes])

    def seen(constraint: Smooth) -> Smooth:
        def full(x: Array) -> Array:
            keep = start.copy()
            keep[free] = x
            return keep

        return Smooth(
            lambda x: constraint.value(full(x)), lambda x: constraint.jacobian(full(x))[:, free], constraint.name
        )

    return tuple(
        seen(assessor.smooth(requirement, channel, task.original))
        for requirement, assessor in task.requirements
        if assessor.smooth is not None
    )


def _rho(keep: Fraction, size: int) -> Fraction:
    return (size * keep - 1) / (size - 1)


def _retention(problem: Allocation, keep: Sequence[Fraction]) -> dict[str, Fraction]:
    return {v.attribute: _rho(p, v.size) for v, p in zip(problem.variables, keep, strict=True)}


def _origins(layout: Layout, solved: Origin) -> dict[str, Origin]:
    origins: dict[str, Origin] = {}
    for t in layout.treatments:
        if t.solved:
            origins[t.attribute.name] = solved
        elif isinstance(t.rule, Invariant) and t.rule.source == "observed":
            origins[t.attribute.name] = Origin.DATA
        elif t.rule is not None:
            origins[t.attribute.name] = Origin.POLICY
    return origins


def _remarks(layout: Layout, task: Task, problem: Allocation, solution: Solution) -> list[Remark]:
    remarks = []
    if solution.active:
        remarks.append(Remark("limited-by", f"what limits the choice: {', '.join(solution.active)}"))
    if solution.pulled_back < 1:
        remarks.append(
            Remark(
                "pulled-back",
                "all retention probabilities were scaled down until every requirement held exactly",
                Measure(solution.pulled_back),
            )
        )
    if layout.allocation == "optimal":
        remarks += _compared(task, problem, solution)
    return remarks


def _compared(task: Task, problem: Allocation, solution: Solution) -> list[Remark]:
    """Return what optimal allocation gains over equal, and how many starts agreed."""
    errors = [
        math.sqrt(
            problem.objective.squared_error(
                np.array([float(r) for r in _retention(problem, s.keep).values()]), task.records
            )
        )
        for s in (equalise(problem), solution)
    ]
    gain = errors[0] / errors[1] if errors[1] > 0 else 1.0
    return [
        Remark(
            "gain-over-equal",
            f"equal allocation has {gain:.4g} times the expected error of the optimal one",
            Measure(gain),
        ),
        Remark(
            "starts-agreed",
            f"{solution.agreed} of {solution.starts} starts of the search ended at the same least error",
            Measure(float(solution.agreed)),
        ),
    ]
