"""Every attack that fits written releases of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rrpolicy.attacks.averaging import average
from rrpolicy.attacks.homogeneity import attack_classes, attack_groups
from rrpolicy.attacks.inference import infer
from rrpolicy.attacks.intersection import intersect
from rrpolicy.attacks.linkage import link
from rrpolicy.attacks.membership import infer_membership
from rrpolicy.attacks.multi_release_inference import infer_together
from rrpolicy.attacks.reconstruction import reconstruct
from rrpolicy.attacks.result import ORIGINAL_FIT, AttackOutcome, AttackResult
from rrpolicy.attacks.suppression import attack_suppressed_release
from rrpolicy.attacks.target import OTHER_TABLE, AttackTarget
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.base import Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.frozen import replace

AttackFunction = Callable[[AttackTarget], Iterator[AttackResult]]
ATTACKS: Mapping[type[Channel], tuple[AttackFunction, ...]] = {
    Product: (infer, link, infer_membership, reconstruct, attack_classes),
    AnatomyChannel: (attack_groups,),
    SuppressionChannel: (attack_suppressed_release,),
}
"""The attacks on one release, by its channel."""


def run_attacks(target: AttackTarget) -> Iterator[AttackResult]:
    """Yield the attacks on one release; for one of another table, only that it is one."""
    name, reason = ORIGINAL_FIT, target.unfit
    if not reason and type(target.channel) not in ATTACKS:
        name = "attribute inference and record linkage"
        reason = f"no attack on a channel of the kind {target.channel.kind} is known"
    if reason:
        yield AttackResult(name, "", "", "", AttackOutcome.UNDECIDED, reason)
        return
    for run in ATTACKS[type(target.channel)]:
        yield from run(target)


def run_on_each(targets: Sequence[AttackTarget], *, sure: bool = True) -> tuple[list[AttackTarget], list[AttackResult]]:
    """Return releases, and the attacks on each of them; of several, each attack states its release.

    Unless the caller is `sure` of the table of each, a release whose attacks are not as predicted counts as one of
    another table, and is returned as such.
    """
    known, every = [], []
    for number, target in enumerate(targets, 1):
        name = f"release {number}" if len(targets) > 1 else ""
        found = [*run_attacks(target)]
        fits = sure or all(attack.outcome is not AttackOutcome.NOT_AS_PREDICTED for attack in found)
        why = target.unfit if fits else OTHER_TABLE.format("its attacks do not attain what its channel predicts")
        known.append(replace(target, unfit=why))
        found = found if fits else [*run_attacks(known[-1])]
        every += [replace(attack, of=": ".join(filter(None, (name, attack.of)))) for attack in found]
    return known, every


def run_across_releases(targets: Sequence[AttackTarget]) -> Iterator[AttackResult]:
    """Yield the attacks on several releases together; releases of different tables are not compared."""
    yield from average(targets)
    yield from intersect(targets)
    yield from infer_together(targets)
