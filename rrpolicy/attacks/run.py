"""Every attack that fits written releases of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rrpolicy.attacks.averaging import average
from rrpolicy.attacks.inference import infer
from rrpolicy.attacks.intersection import intersect
from rrpolicy.attacks.linkage import link
from rrpolicy.attacks.membership import member
from rrpolicy.attacks.partition import classes, groups
from rrpolicy.attacks.reconstruction import reconstruct
from rrpolicy.attacks.result import Attack, undecided
from rrpolicy.attacks.suppression import suppressed
from rrpolicy.attacks.target import Target
from rrpolicy.channel.anatomy.channel import AnatomyChannel
from rrpolicy.channel.base import Channel
from rrpolicy.channel.product.channel import Product
from rrpolicy.channel.suppression.channel import SuppressionChannel

Run = Callable[[Target], Iterator[Attack]]
ATTACKS: Mapping[type[Channel], tuple[Run, ...]] = {
    Product: (infer, link, member, reconstruct, classes),
    AnatomyChannel: (groups,),
    SuppressionChannel: (suppressed,),
}
"""The attacks on one release, by its channel."""


def attacks(targets: Sequence[Target]) -> Iterator[Attack]:
    """Yield the attacks on each of some releases of one table, and those on several together."""
    for number, target in enumerate(targets):
        yield from attacks_on(target, f"release {number + 1}" if len(targets) > 1 else "")
    yield from average(targets)
    yield from intersect(targets)


def attacks_on(target: Target, release: str = "") -> Iterator[Attack]:
    """Yield the attacks on one release.

    Args:
        target: the release.
        release: what it is called where there are several.
    """
    runs = ATTACKS.get(type(target.channel))
    if runs is None:
        reason = f"no attack on a channel of the kind {target.channel.kind} is known"
        yield undecided("attribute inference and record linkage", release, "", reason)
        return
    for run in runs:
        for found in run(target):
            yield replace(found, of=": ".join(filter(None, (release, found.of))))
