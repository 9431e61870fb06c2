"""`pram`: outline without data, plan with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from rrpolicy.plugin import Derived, Origin, Outline, Policy, Product, Proposal, Task, parameters_of
from rrpolicy.plugin.solve import refuse_without_data
from rrpolicy_pram.layout import AttributeTreatment, ExplicitRule, InvariantRule, PramLayout, RetentionRule, build
from rrpolicy_pram.layout_reader import read_layout
from rrpolicy_pram.options import PramOptions


def data_dependent_parameters(layout: PramLayout, options: PramOptions) -> Iterator[Derived]:
    """Yield the marginals that are observed, and parameters whose least expected error depends on the data."""
    for t in layout.treatments:
        if isinstance(t.rule, InvariantRule) and t.rule.source == "observed":
            (name,) = t.names
            yield Derived(f"marginal:{name}", f"the matrix of '{name}' keeps its exact marginal, and so discloses it")
    if layout.allocation == "optimal" and _loss_depends_on_data(layout, options):
        yield from map(parameters_of, layout.solved)


def _loss_depends_on_data(layout: PramLayout, options: PramOptions) -> bool:
    """Return whether the error depends on the table: by unequal blocks, or by matrices in several marginals."""
    rules = [t.rule for t in layout.treatments]
    uneven = any(isinstance(r, RetentionRule) and r.open and len({len(b) for b in r.blocks}) > 1 for r in rules)
    written = any(isinstance(r, (ExplicitRule, InvariantRule)) or _has_fixed_blocks(r) for r in rules)
    return uneven or (len(options.workload) > 1 and written)


def _has_fixed_blocks(rule: object) -> bool:
    return isinstance(rule, RetentionRule) and not rule.open and len(rule.blocks) > 1


class Pram:
    """The post-randomisation method (Gouweleeuw et al. 1998; retention: Ikarashi et al. 2014)."""

    name = "pram"
    options = PramOptions
    method = "randomised"

    def outline(self, options: PramOptions, policy: Policy) -> Outline:
        """Return a product channel; the channel itself, if the policy alone determines it."""
        layout = read_layout(options, policy)
        axes = tuple(
            (names, axis)
            for t in layout.treatments
            if (axis := t.axis()) is not None
            for names in ([t.names] if t.exchanges else [(name,) for name in t.names])
        )
        fixed = build(layout, policy) if layout.fixed else None
        return Outline(
            Product, axes, fixed, solved=layout.solved, derived=tuple(data_dependent_parameters(layout, options))
        )

    def plan(self, options: PramOptions, task: Task) -> Proposal:
        """Return the channel, its open parameters solved from the requirements."""
        from rrpolicy.plugin.solve import allocate

        layout = _with_observed_marginals(read_layout(options, task.policy), task)
        channel, origins = build(layout, task.policy), _parameter_origins(layout)
        if not layout.solved:
            return Proposal(channel, origins)
        optimal = layout.allocation == "optimal"
        found = allocate(
            channel, layout.solved, task, optimal=optimal, workload=options.workload, digits=options.digits
        )
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
