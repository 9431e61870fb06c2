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
from rrpolicy.attacks.result import FIT, Attack, Outcome, undecided
from rrpolicy.attacks.suppression import suppressed
from rrpolicy.attacks.target import ANOTHER, Target
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.base import Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel

Run = Callable[[Target], Iterator[Attack]]
ATTACKS: Mapping[type[Channel], tuple[Run, ...]] = {
    Product: (infer, link, member, reconstruct, classes),
    AnatomyChannel: (groups,),
    SuppressionChannel: (suppressed,),
}
"""The attacks on one release, by its channel."""


def attacks(target: Target) -> Iterator[Attack]:
    """Yield the attacks on one release; of one that is of another table, only that it is."""
    if target.unfit:
        yield undecided(FIT, "", "", target.unfit)
        return
    runs = ATTACKS.get(type(target.channel))
    if runs is None:
        reason = f"no attack on a channel of the kind {target.channel.kind} is known"
        yield undecided("attribute inference and record linkage", "", "", reason)
        return
    for run in runs:
        yield from run(target)


def attacks_on_each(targets: Sequence[Target], *, sure: bool = True) -> tuple[list[Target], list[Attack]]:
    """Return releases, and the attacks on each of them; of several, each attack states its release.

    Args:
        targets: the releases.
        sure: whether each is said to be of its table. If it is not, a release whose attacks are not as predicted is
            taken for one of another table, and returned as such.
    """
    known, every = [], []
    for number, target in enumerate(targets, 1):
        name = f"release {number}" if len(targets) > 1 else ""
        found = [*attacks(target)]
        fits = sure or all(attack.outcome is not Outcome.NOT_AS_PREDICTED for attack in found)
        why = target.unfit if fits else ANOTHER.format("its attacks do not attain what its channel predicts")
        known.append(replace(target, unfit=why))
        found = found if fits else [*attacks(known[-1])]
        every += [replace(attack, of=": ".join(filter(None, (name, attack.of)))) for attack in found]
    return known, every


def attacks_together(targets: Sequence[Target]) -> Iterator[Attack]:
    """Yield the attacks on what some releases give away together; releases of different tables are not compared."""
    yield from average(targets)
    yield from intersect(targets)
    yield from infer_together(targets)
