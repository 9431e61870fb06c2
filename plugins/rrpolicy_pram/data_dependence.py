"""What a channel of `pram` tells of the table whatever the requirements are."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.plugin import Derived, parameters_of
from rrpolicy_pram.layout import (
    ExplicitRule,
    InvariantRule,
    PramLayout,
    RetentionRule,
)
from rrpolicy_pram.options import PramOptions


def data_dependent_parameters(layout: PramLayout, options: PramOptions) -> Iterator[Derived]:
    """Yield the marginals that are observed, and parameters whose least expected error depends on the data.

    Args:
        layout: as the policy says.
        options: its workload.
    """
    for t in layout.treatments:
        if isinstance(t.rule, InvariantRule) and t.rule.source == "observed":
            (name,) = t.names
            yield Derived(f"marginal:{name}", f"the matrix of '{name}' keeps its exact marginal, and so tells it")
    if layout.allocation == "optimal" and _loss_depends_on_data(layout, options):
        yield from map(parameters_of, layout.solved)


def _loss_depends_on_data(layout: PramLayout, options: PramOptions) -> bool:
    """Return whether the table may weigh the expected error: by unequal blocks, or by matrices in several marginals."""
    rules = [t.rule for t in layout.treatments]
    uneven = any(isinstance(r, RetentionRule) and r.open and len({len(b) for b in r.blocks}) > 1 for r in rules)
    written = any(isinstance(r, (ExplicitRule, InvariantRule)) or _has_fixed_blocks(r) for r in rules)
    return uneven or (len(options.workload) > 1 and written)


def _has_fixed_blocks(rule: object) -> bool:
    return isinstance(rule, RetentionRule) and not rule.open and len(rule.blocks) > 1
