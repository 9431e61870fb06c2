"""Every attack that fits written releases of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rrpolicy.attacks.averaging import average
from rrpolicy.attacks.inference import infer
from rrpolicy.attacks.intersection import intersect
from rrpolicy.attacks.linkage import link
from rrpolicy.attacks.linked import infer_together
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


def attacks(target: Target) -> Iterator[Attack]:
    """Yield the attacks on one release."""
    runs = ATTACKS.get(type(target.channel))
    if runs is None:
        reason = f"no attack on a channel of the kind {target.channel.kind} is known"
        yield undecided("attribute inference and record linkage", "", "", reason)
        return
    for run in runs:
        yield from run(target)


def attacks_on_each(targets: Sequence[Target]) -> Iterator[Attack]:
    """Yield the attacks on each of some releases of one table; of several, each says of which it is."""
    for number, target in enumerate(targets, 1):
        name = f"release {number}" if len(targets) > 1 else ""
        for found in attacks(target):
            yield replace(found, of=": ".join(filter(None, (name, found.of))))


def attacks_together(targets: Sequence[Target]) -> Iterator[Attack]:
    """Yield the attacks on what some releases of one table give away together."""
    yield from average(targets)
    yield from intersect(targets)
    yield from infer_together(targets)
