"""The smallest reachable risk: what is left when all that may be randomised is drawn at random, and who is in the way.

As every retention probability goes to 0, risk(alpha, u) falls to

    c_u pi[alpha]/pi[reach(alpha)] f_S

with reach(alpha) the combinations that alpha can be released as, and f_S = c_u/c(block of u) if the sensitive attribute
is randomised, else 1; linking falls to 1 over the people in reach(alpha). Both are the formulas of the assessors at
retention 0 (Guo, Ying, Wu 2011, eq. 6-9). A floor is approached and never attained, unless nothing touches the group.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.policy.model import Requirement
from rrpolicy.policy.tree.spelling import toml_value
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, Mask, protected_attribute_risks
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT
from rrpolicy.privacy.disclosure.identity import LinkageChances, linkage_chances, top_risk_weights
from rrpolicy.privacy.disclosure.identity_options import IdentityDisclosureOptions as LinkOptions
from rrpolicy.privacy.model import MinimumRisk

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Ints
    from rrpolicy.source.protocol import Original


MORE = 1e-3
"""By how much a proposed limit exceeds what is only approached."""


def attribute_minimum(
    requirement: Requirement, channel: Product, original: Original, free: Collection[str] | None = None
) -> tuple[MinimumRisk, ...]:
    """Return the floor of an `attribute-disclosure` entry, one for each sensitive attribute (and what is known).

    Args:
        requirement: the entry.
        channel: as it would be planned; the probabilities of what is free do not matter.
        original: the table.
        free: attributes whose retention probability may be chosen; by default every one with such an axis.
    """
    low, half = (with_common_retention(channel, rho, free) for rho in (Fraction(0), Fraction(1, 2)))
    every = fully_randomised(channel, original)
    return tuple(
        _attribute_floor(bottom, middle, whole, channel)
        for bottom, middle, whole in zip(
            protected_attribute_risks(requirement, low, original),
            protected_attribute_risks(requirement, half, original),
            protected_attribute_risks(requirement, every, original),
            strict=True,
        )
        if len(bottom.group)
    )


def _attribute_floor(
    bottom: AttributeRisks, middle: AttributeRisks, whole: AttributeRisks, channel: Product
) -> MinimumRisk:
    ratio = bottom.ratio
    over: Mask = bottom.over() | ((ratio > 1 - NEAR_LIMIT) & middle.over())
    at = int(np.argmax(ratio))
    evidence = bottom.evidence
    alike = over & ((evidence.histograms > 0).sum(axis=1) == 1)[bottom.group]
    best, sensitive = whole.risk[int(np.argmax(whole.ratio))], _axis_names(evidence.sensitive)
    limit = bottom.limits[int(bottom.value[at])]
    return MinimumRisk(
        of=f"risk of {bottom.of}",
        achieved=float(bottom.risk[at]),
        limit=limit,
        groups=len(evidence.n),
        groups_over=_distinct_groups(bottom.group[over]),
        people_over=int(bottom.people[over].sum()),
        groups_alike=_distinct_groups(bottom.group[alike]),
        people_alike=int(bottom.people[alike].sum()),
        everything=float(best),
        hints=_reduction_hints(
            channel, [*evidence.names, *sensitive], bottom.risk[at], best, limit, _limit_location(bottom, sensitive)
        ),
    )


def linking_minimum(
    requirement: Requirement[LinkOptions], channel: Product, original: Original, free: Collection[str] | None = None
) -> MinimumRisk:
    """Return the floor of an `identity-disclosure` entry; see `attribute_minimum`. A percentile is honoured."""
    options = requirement.options
    low, half = (
        linkage_chances(requirement, with_common_retention(channel, r, free), original)
        for r in (Fraction(0), Fraction(1, 2))
    )
    whole = linkage_chances(requirement, fully_randomised(channel, original), original)
    achieved, best = (_linkage_minimum(found, options.percentile) for found in (low, whole))
    close = low.link > float(options.threshold) * (1 - NEAR_LIMIT)
    over = low.over(options.threshold) | (close & half.over(options.threshold))
    if options.percentile is not None and not low.mean_over(options.threshold, options.percentile):
        over = np.zeros(len(over), dtype=bool)
    records = original.records
    among = f"ask for 1/{records} or more: among {records:,} people everybody is drawn with that chance"
    hints = _reduction_hints(channel, low.evidence.names, achieved, best, options.threshold)
    return MinimumRisk(
        of="chance of linking",
        achieved=achieved,
        limit=options.threshold,
        groups=len(low.evidence.n),
        groups_over=int(over.sum()),
        people_over=int(low.people[over].sum()),
        groups_alike=0,
        people_alike=0,
        everything=best,
        hints=(among,) if options.threshold * records < 1 else hints,
    )


def _linkage_minimum(found: LinkageChances, percentile: Fraction | None) -> float:
    if percentile is None or not len(found.group):
        return float(found.link.max(initial=0.0))
    return float(top_risk_weights(found.people, found.link, percentile) @ found.link)


def with_common_retention(channel: Product, retention: Fraction, free: Collection[str] | None = None) -> Product:
    """Return a channel with one retention probability in all blocks of what is free; 0 draws at random in a block."""

    def moved(axis: Axis) -> Axis:
        if not isinstance(axis, Retention) or (free is not None and set(axis.attributes).isdisjoint(free)):
            return axis
        return axis.with_retention(retention)

    return replace(channel, axes=tuple(moved(axis) for axis in channel.axes))


def fully_randomised(channel: Product, original: Original) -> Product:
    """Return a channel that draws all quasi-identifiers and sensitive attributes at random, without blocks."""

    def drawn(axis: Axis) -> Axis:
        roles = {original.policy.attributes[name].role for name in axis.attributes}
        if not isinstance(axis, (Retention, Identity)) or not roles & {Role.QUASI_IDENTIFIER, Role.SENSITIVE}:
            return axis
        size = axis.original_size
        domains = [Domain(c.attribute, c.labels) for c in axis.columns()]
        return Retention.of(domains, [(range(size), Fraction(1, size))], [c.name for c in axis.columns()])

    return replace(channel, axes=tuple(drawn(axis) for axis in channel.axes))


def _reduction_hints(  # noqa: PLR0917 one number each
    channel: Product, names: Collection[str], achieved: float, best: float, limit: Fraction, entry: str = ""
) -> tuple[str, ...]:
    """Return what would help, the surest first; `entry` says which entry is to ask for less."""
    unchanged = [a.attribute for a in channel.axes if isinstance(a, Identity) and a.attribute in names]
    blocks = [" with ".join(a.attributes) for a in channel.axes if isinstance(a, Retention) and len(a.blocks) > 1]
    found = []
    if best < achieved:
        more = [f"randomise {quoted_list(unchanged)} too"] if unchanged else []
        more += [f"join the blocks of {', '.join(blocks)}"] if blocks else []
        enough = "which reaches down to" if best < float(limit) else "which alone does not suffice: it reaches down to"
        if more:
            found.append(f"{' and '.join(more)}, {enough} {best:.6g}")
    found.append("coarsen a domain: fewer categories or wider bins make larger groups")
    if achieved < 1 - NEAR_LIMIT:
        found.append(f"raise the threshold above {achieved:.6g}: `threshold = {attainable_limit(achieved)}`{entry}")
    return tuple(found)


def _limit_location(risks: AttributeRisks, sensitive: Sequence[str]) -> str:
    """Return in which entry an attribute's limit is raised, so that those of others stay."""
    named = ", ".join(map(toml_value, sensitive))
    own = f" in an entry with `sensitive = [{named}]`" if named else ""
    return own + (", or its values in `thresholds`" if len(set(risks.limits)) > 1 else "")


def attainable_limit(achieved: float) -> str:
    """Return a limit of three digits a little above what is never quite achieved."""
    digits = 2 - math.floor(math.log10(max(achieved, 1e-300)))
    asked = min(math.ceil(achieved * (1 + MORE) * 10**digits) / 10**digits, 1.0)
    return f"{asked:.{digits}f}".rstrip("0").rstrip(".")


def _axis_names(axis: Axis | None) -> tuple[str, ...]:
    return () if axis is None else axis.attributes


def _distinct_groups(groups: Ints) -> int:
    return len(np.unique(groups))
