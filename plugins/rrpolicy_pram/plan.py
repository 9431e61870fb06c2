"""Planning: observed marginals filled in, open parameters solved from the requirements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from rrpolicy.plugin import Origin, Proposal, Task
from rrpolicy.plugin.solve import allocate, refuse_without_data
from rrpolicy_pram.layout import AttributeTreatment, InvariantRule, PramLayout, build
from rrpolicy_pram.layout_reader import read_layout
from rrpolicy_pram.options import PramOptions


def propose(options: PramOptions, task: Task) -> Proposal:
    """Return the channel, the origins of its parameters, and remarks on the choice."""
    layout = _with_observed_marginals(read_layout(options, task.policy), task)
    channel, origins = build(layout, task.policy), _parameter_origins(layout)
    if not layout.solved:
        return Proposal(channel, origins)
    optimal = layout.allocation == "optimal"
    found = allocate(channel, layout.solved, task, optimal=optimal, workload=options.workload, digits=options.digits)
    return Proposal(found.channel, {**origins, **found.origins}, found.unrounded, found.remarks)


def _with_observed_marginals(layout: PramLayout, task: Task) -> PramLayout:
    task.require_domains()
    treatments: list[AttributeTreatment] = []
    for t in layout.treatments:
        if isinstance(t.rule, InvariantRule) and t.rule.marginal is None:
            if isinstance(task.original, int):
                (name,) = t.names
                raise refuse_without_data(f"the observed marginal of '{name}'", f"invariant.{name}", task)
            (attribute,) = t.attributes
            counts = task.original.counts(attribute.name)
            shares = dict(zip(counts.codes[:, 0].tolist(), counts.n.tolist(), strict=True))
            marginal = tuple(Fraction(shares.get(code, 0), task.records) for code in range(len(attribute.domain or ())))
            t = replace(t, rule=replace(t.rule, marginal=marginal))  # noqa: PLW2901
        treatments.append(t)
    return replace(layout, treatments=tuple(treatments))


def _parameter_origins(layout: PramLayout) -> dict[str, Origin]:
    return {
        name: Origin.DATA if isinstance(t.rule, InvariantRule) and t.rule.source == "observed" else Origin.POLICY
        for t in layout.treatments
        if t.rule is not None and not t.solved
        for name in t.names
    }
