"""What a channel of `pram` tells of the table whatever the requirements are."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.plugin import Derived, parameters_of
from rrpolicy_pram.layout import Explicit, Invariant, Layout, Retained
from rrpolicy_pram.options import Options


def told(layout: Layout, options: Options) -> Iterator[Derived]:
    """Yield the marginals that are observed, and parameters whose least expected error depends on the data.

    Args:
        layout: as the policy says.
        options: its workload.
    """
    for t in layout.treatments:
        if isinstance(t.rule, Invariant) and t.rule.source == "observed":
            (name,) = t.names
            yield Derived(f"marginal:{name}", f"the matrix of '{name}' keeps its exact marginal, and so tells it")
    if layout.allocation == "optimal" and _weighed(layout, options):
        yield from map(parameters_of, layout.solved)


def _weighed(layout: Layout, options: Options) -> bool:
    """Return whether the table may weigh the expected error: by unequal blocks, or by matrices in several marginals."""
    rules = [t.rule for t in layout.treatments]
    uneven = any(isinstance(r, Retained) and r.open and len({len(b) for b in r.blocks}) > 1 for r in rules)
    written = any(isinstance(r, (Explicit, Invariant)) or _given_in_blocks(r) for r in rules)
    return uneven or (len(options.workload) > 1 and written)


def _given_in_blocks(rule: object) -> bool:
    return isinstance(rule, Retained) and not rule.open and len(rule.blocks) > 1
