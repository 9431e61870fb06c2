"""`pram`: outline without data, plan with them."""

from __future__ import annotations

from rrpolicy.plugin import Outline, Policy, Product, Proposal, Task
from rrpolicy_pram.channel import build
from rrpolicy_pram.data_dependence import data_dependent_parameters
from rrpolicy_pram.layout_reader import read_layout
from rrpolicy_pram.options import PramOptions


class Pram:
    """The post-randomisation method (Gouweleeuw et al. 1998; retention: Ikarashi et al. 2014)."""

    name = "pram"
    options = PramOptions

    def outline(self, options: PramOptions, policy: Policy) -> Outline:
        """Return a product channel; the channel itself, if the policy alone determines it.

        Raises:
            PolicyError: RR230 to RR237, all problems at once.
        """
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
        """Return the channel, its open parameters solved from the requirements.

        Raises:
            PolicyError: RR230 to RR237; RR255 if data are needed and only the number of records is given.
            RequirementError: RR102 if no parameters satisfy the requirements.
        """
        from rrpolicy_pram.plan import propose

        return propose(options, task)
