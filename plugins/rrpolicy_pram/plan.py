"""Planning: observed marginals filled in, open parameters solved from the requirements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from rrpolicy.plugin import Origin, Proposal, Task
from rrpolicy.plugin.solve import allocate, refuse_without_data
from rrpolicy_pram.channel import build
from rrpolicy_pram.layout import Invariant, Layout, Treatment
from rrpolicy_pram.options import Options
from rrpolicy_pram.read import read


def propose(options: Options, task: Task) -> Proposal:
    """Return the channel, where its parameters come from, and what is to be said of the choice.

    Raises:
        PolicyError: RR230 to RR237, RR255.
        RequirementError: RR102.
    """
    layout = _observed(read(options, task.policy), task)
    channel, origins = build(layout, task.policy), _origins(layout)
    if not layout.solved:
        return Proposal(channel, origins)
    optimal = layout.allocation == "optimal"
    found = allocate(channel, layout.solved, task, optimal=optimal, workload=options.workload, digits=options.digits)
    return Proposal(found.channel, {**origins, **found.origins}, found.unrounded, found.remarks)


def _observed(layout: Layout, task: Task) -> Layout:
    """Return the layout with observed marginals filled in."""
    task.require_domains()
    treatments: list[Treatment] = []
    for t in layout.treatments:
        if isinstance(t.rule, Invariant) and t.rule.marginal is None:
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


def _origins(layout: Layout) -> dict[str, Origin]:
    """Return where the parameters come from that are not solved for."""
    return {
        name: Origin.DATA if isinstance(t.rule, Invariant) and t.rule.source == "observed" else Origin.POLICY
        for t in layout.treatments
        if t.rule is not None and not t.solved
        for name in t.names
    }
