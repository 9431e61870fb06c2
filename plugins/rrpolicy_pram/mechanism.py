"""`pram`: outline without data, plan with them."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.plugin import Derived, Outline, Policy, Product, Proposal, Task, parameters_of
from rrpolicy_pram.layout import ExplicitRule, InvariantRule, PramLayout, RetentionRule, build
from rrpolicy_pram.layout_reader import read_layout
from rrpolicy_pram.options import PramOptions


def data_dependent_parameters(layout: PramLayout, options: PramOptions) -> Iterator[Derived]:
    """Yield the marginals that are observed, and parameters whose least expected error depends on the data."""
    for t in layout.treatments:
        if isinstance(t.rule, InvariantRule) and t.rule.source == "observed":
            (name,) = t.names
            yield Derived(f"marginal:{name}", f"the matrix of '{name}' keeps its exact marginal, and so tells it")
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
        from rrpolicy_pram.plan import propose

        return propose(options, task)
