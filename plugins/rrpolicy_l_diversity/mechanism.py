"""`l-diversity`: outline without data, plan with them."""

from __future__ import annotations

from rrpolicy.plugin import Outline, Policy, Product, Proposal, Recode, Role, Task, axes_at
from rrpolicy_l_diversity.layout import Layout, read
from rrpolicy_l_diversity.options import Options


class LDiversity:
    """Generalisation until every equivalence class satisfies the policy's requirements."""

    name = "l-diversity"
    options = Options

    def outline(self, options: Options, policy: Policy) -> Outline:
        """Return a product channel of recoded attributes; the channel itself, if every level is pinned.

        Raises:
            PolicyError: RR290 to RR292, all problems at once.
        """
        layout = read(options, policy)
        axes = tuple(
            ((r.attribute.name,), Recode) for r in layout.attributes if r.attribute.role is Role.QUASI_IDENTIFIER
        )
        return Outline(Product, axes, pinned(layout, policy) if layout.fixed else None)

    def plan(self, options: Options, task: Task) -> Proposal:
        """Return the channel.

        Raises:
            PolicyError: RR290 to RR292; RR255 if data are needed and only the number of records is given.
            RequirementError: RR105 if no generalisation satisfies the requirements.
        """
        from rrpolicy_l_diversity.plan import propose

        return propose(options, task)


def pinned(layout: Layout, policy: Policy) -> Product:
    """Return the channel of a policy that says at which level each attribute is released."""
    return Product.of(policy.released, axes_at(layout.attributes, (0,) * len(layout.attributes)))
