"""The least attainable risk: all that may be randomised is drawn at random; and the people who stay over a limit.

As every retention probability goes to 0, risk(alpha, u) falls to

    c_u pi[alpha]/pi[reach(alpha)] f_S

with reach(alpha) the combinations that alpha can be released as, and f_S = c_u/c(block of u) if the sensitive attribute
is randomised, else 1; linking falls to 1 over the people in reach(alpha). Both are the formulas of the assessors at
retention 0 (Guo, Ying, Wu 2011, eq. 6-9). A floor is approached and never attained, unless nothing touches the group.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number, strictest_limit
from rrpolicy.policy.model import Requirement
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, protected_attribute_risks
from rrpolicy.privacy.disclosure.best_guess import BestGuesses, protected_attribute_guesses
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT
from rrpolicy.privacy.disclosure.identity import LinkageChances, linkage_chances
from rrpolicy.privacy.disclosure.identity_options import IdentityDisclosureOptions as LinkOptions
from rrpolicy.privacy.model import MinimumRisk

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.source.protocol import Original


MORE = 1e-3
"""The excess of a proposed limit over a number that is only approached."""


def attribute_minimum(
    requirement: Requirement, channel: Product, original: Original, free: Collection[str] | None = None
) -> tuple[MinimumRisk, ...]:
    """Return the floor of the risk in an `attribute-disclosure` entry, one for each sensitive attribute and attacker.

    `free` are the attributes whose retention probability may be chosen; by default every one with such an axis.
    """
    low, half = (with_common_retention(channel, rho, free) for rho in (Fraction(0), Fraction(1, 2)))
    channels = (low, half, fully_randomised(channel, original))
    risks = (protected_attribute_risks(requirement, each, original) for each in channels)
    return tuple(
        _attribute_floor(bottom, middle, whole, channel)
        for bottom, middle, whole in zip(*risks, strict=True)
        if len(bottom.group)
    )


def _attribute_floor(
    bottom: AttributeRisks, middle: AttributeRisks, whole: AttributeRisks, channel: Product
) -> MinimumRisk:
    ratio = bottom.ratio
    over = bottom.over() | ((ratio > 1 - NEAR_LIMIT) & middle.over())
    at = int(np.argmax(ratio))
    best, axis = float(whole.risk[int(np.argmax(whole.ratio))]), bottom.evidence.sensitive
    names, limit = () if axis is None else axis.attributes, bottom.limits[int(bottom.value[at])]
    # in which entry an attribute's limit is raised, so that those of others stay
    entry = f" in an entry with `sensitive = [{', '.join(map(toml_value, names))}]`" if names else ""
    entry += ", or its values in `thresholds`" if len(set(bottom.limits)) > 1 else ""
    hints = _reduction_hints(channel, [*bottom.evidence.names, *names], bottom.risk[at], best, limit, entry)
    return replace(bottom.floor(best, hints, over, at), of=f"risk of {bottom.of}")


def correct_inference_minimum(
    requirement: Requirement, channel: Product, original: Original, free: Collection[str] | None = None
) -> tuple[MinimumRisk, ...]:
    """Return the floor of the chance of a correct reading; see `attribute_minimum`. It is the lower of two ends.

    At one end all that is free is drawn at random; at the other the sensitive attributes are unmodified, and the rest
    is drawn at random.
    """
    drawn = with_common_retention(channel, Fraction(0), free)
    sensitive = set(requirement.protects(original.policy))
    names = {name for axis in channel.axes for name in axis.attributes} if free is None else set(free)
    channels = (
        drawn,
        with_common_retention(drawn, Fraction(1), names & sensitive),
        fully_randomised(channel, original),
    )
    risks = (protected_attribute_risks(requirement, each, original) for each in channels)
    return tuple(
        _inference_floor(min(ends, key=lambda end: float(end.ratio.max())), whole)
        for *ends, whole in zip(*risks, strict=True)
        if len(whole.group)
    )


def _inference_floor(held: AttributeRisks, whole: AttributeRisks) -> MinimumRisk:
    hints = ["randomise the quasi-identifiers, or coarsen a domain: what is done to the value itself does not lower it"]
    over = held.over()
    achieved = float(held.number[held.decisive(over)])
    if achieved < 1:
        hints.append(f"raise the threshold above {plain_number(achieved)}: `threshold = {attainable_limit(achieved)}`")
    return held.floor(float(whole.number.max()), hints, over)


def guess_minimum(
    requirement: Requirement, channel: Product, original: Original, free: Collection[str] | None = None
) -> tuple[MinimumRisk, ...]:
    """Return the floor of the best guess, or its gain; see `attribute_minimum`.

    It is attained: a guess without the release is right as often as the largest share, and so is one from a release
    that is independent of the value.
    """
    channels = (with_common_retention(channel, Fraction(0), free), fully_randomised(channel, original))
    guesses = (protected_attribute_guesses(requirement, each, original) for each in channels)
    return tuple(_guess_floor(held, whole) for held, whole in zip(*guesses, strict=True) if len(held.group))


def _guess_floor(held: BestGuesses, whole: BestGuesses) -> MinimumRisk:
    over = held.over()
    achieved = float(held.number[held.decisive(over)])
    alike = over & (held.most == held.people)
    hints = ["coarsen a domain: fewer categories or wider bins make larger groups, and more even ones"]
    if held.told.beside:
        names = ", ".join(f"'{name}'" for name in held.told.beside)
        hints.insert(0, f"leave out columns of the same record that are assumed known: {names}")
    if achieved < 1:
        hints.append(f"raise the threshold to {plain_number(achieved)}: `threshold = {attainable_limit(achieved)}`")
    if not held.gain:
        hints.append('limit what the release adds to the largest share in a group: `measure = "gain"`')
    return replace(
        held.floor(float(whole.number.max()), hints, over),
        groups=len(held.group),
        groups_alike=int(alike.sum()),
        people_alike=int(held.people[alike].sum()),
    )


def linking_minimum(
    requirement: Requirement[LinkOptions], channel: Product, original: Original, free: Collection[str] | None = None
) -> MinimumRisk:
    """Return the floor of an `identity-disclosure` entry, of its percentile if it has one; see `attribute_minimum`."""
    limit, records = requirement.options.threshold, original.records
    low, half = (
        linkage_chances(requirement, with_common_retention(channel, r, free), original)
        for r in (Fraction(0), Fraction(1, 2))
    )
    whole = linkage_chances(requirement, fully_randomised(channel, original), original)
    achieved, best = map(_linkage_minimum, (low, whole))
    over = low.over() | ((low.link > float(limit) * (1 - NEAR_LIMIT)) & half.over())
    if low.percentile is not None and not low.mean_over():
        over = np.zeros(len(over), dtype=bool)
    among = f"set 1/{records} or more: among {records:,} people every person is drawn with that probability"
    hints = _reduction_hints(channel, low.evidence.names, achieved, best, limit)
    return MinimumRisk(
        of=low.quantity,
        achieved=achieved,
        limit=limit,
        groups=len(low.evidence.n),
        groups_over=int(over.sum()),
        people_over=int(low.people[over].sum()),
        groups_alike=0,
        people_alike=0,
        everything=best,
        hints=(among,) if limit * records < 1 else hints,
    )


def _linkage_minimum(found: LinkageChances) -> float:
    if found.percentile is None or not len(found.group):
        return float(found.link.max(initial=0.0))
    return float(found.weights @ found.link)


def with_common_retention(channel: Product, retention: Fraction, free: Collection[str] | None = None) -> Product:
    """Return a channel with one retention probability in all free blocks; 0 draws at random in a block."""

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
    """Return remedies, the surest first; `entry` names the entry whose limit is raised."""
    unchanged = [a.attribute for a in channel.axes if isinstance(a, Identity) and a.attribute in names]
    blocks = [" with ".join(a.attributes) for a in channel.axes if isinstance(a, Retention) and len(a.blocks) > 1]
    found = []
    if best < achieved:
        more = [f"randomise {quoted_list(unchanged)} too"] if unchanged else []
        more += [f"join the blocks of {', '.join(blocks)}"] if blocks else []
        enough = "which reaches down to" if best < float(limit) else "which alone does not suffice: it reaches down to"
        if more:
            found.append(f"{' and '.join(more)}, {enough} {plain_number(best)}")
    found.append("coarsen a domain: fewer categories or wider bins make larger groups")
    if achieved < 1 - NEAR_LIMIT:
        found.append(
            f"raise the threshold above {plain_number(achieved)}: `threshold = {attainable_limit(achieved)}`{entry}"
        )
    return tuple(found)


def attainable_limit(achieved: float) -> str:
    """Return a limit of three digits a little above a number that is only approached."""
    return strictest_limit(min(achieved * (1 + MORE), 1.0), "at most")
