"""`generalisation`: outline without data, plan with them."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.plugin import (
    Axis,
    Derived,
    Identity,
    Outline,
    Policy,
    Product,
    Proposal,
    Recode,
    Role,
    SuppressionChannel,
    Task,
)
from rrpolicy_l_diversity.layout import GeneralisationLayout, GeneralisationOptions, fixed_channel, read_layout

SUPPRESSED = Derived("suppression", "which combinations of values are released as `*` depends on all records")
NODE = Derived("node", "at which level each quasi-identifier is released was chosen from the data")
CUTS = Derived("cuts", "where the domain was cut into boxes was chosen from the data")


class Generalisation:
    """Generalisation until every equivalence class satisfies the policy's requirements."""

    name = "generalisation"
    options = GeneralisationOptions
    method = "generalised"

    def outline(self, options: GeneralisationOptions, policy: Policy) -> Outline:
        """Return a product channel of recoded attributes; the channel itself, if every level is pinned."""
        layout = read_layout(options, policy)
        if options.algorithm == "tp":
            return Outline(SuppressionChannel, derived=(SUPPRESSED,))
        axes = tuple(_outline_axes(layout, policy))
        kept = tuple(a.name for a in policy.with_role(Role.SENSITIVE))
        fixed = fixed_channel(layout, policy) if layout.fixed else None
        return Outline(Product, axes, fixed, kept, derived=tuple(_data_dependent_choices(layout, options)))

    def plan(self, options: GeneralisationOptions, task: Task) -> Proposal:
        """Return the channel."""
        from rrpolicy_l_diversity.plan import propose

        return propose(options, task)


def _data_dependent_choices(layout: GeneralisationLayout, options: GeneralisationOptions) -> Iterator[Derived]:
    """Yield the choices that depend on the table."""
    if options.algorithm == "mondrian":
        yield CUTS
        return
    if any(len(r.chosen) > 1 for r in layout.attributes):
        yield NODE
    if layout.goal.suppression:
        yield SUPPRESSED


def _outline_axes(layout: GeneralisationLayout, policy: Policy) -> Iterator[tuple[tuple[str, ...], type[Axis]]]:
    together = layout.together
    for attribute in policy.released:
        if attribute.name in together:
            if attribute.name == together[0]:
                yield together, Recode
        elif attribute.categorical:
            yield (attribute.name,), Recode if attribute.role is Role.QUASI_IDENTIFIER else Identity
