"""Attributes randomised as one: the groups of `together`, and the options of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from rrpolicy.plugin import Attribute, Policy
from rrpolicy_pram.options import PramOptions
from rrpolicy_pram.problems import ProblemCollector, quoted_names

SMALLEST_GROUP = 2
MAX_COMBINATIONS = 4096


def read_groups(
    options: PramOptions, policy: Policy, names: Sequence[str], complaints: ProblemCollector
) -> tuple[tuple[Attribute, ...], ...]:
    """Return groups of attributes randomised as one; attributes that no group names are alone (RR530)."""
    seen: set[str] = set()
    groups: list[tuple[Attribute, ...]] = []
    for index, group in enumerate(options.together):
        key = f"together.{index}"
        if len(group) < SMALLEST_GROUP:
            complaints.add("RR530", "a group of `together` names two attributes or more", key)
        for place, name in enumerate(group):
            if name in seen or name in group[:place]:
                complaints.add("RR530", f"`together` names '{name}' twice", key)
            elif name not in names:
                hint = f"randomised are: {', '.join(names) or 'none'}"
                complaints.add("RR530", f"`together` names '{name}', which is not randomised", key, hint=hint)
        own = tuple(policy.attributes[n] for n in policy.attributes if n in group and n in names and n not in seen)
        seen |= set(group)
        combinations = math.prod(len(a.domain) for a in own if a.domain)
        if combinations > MAX_COMBINATIONS:
            told = f"{quoted_names(own)} have {combinations:,} combinations, more than {MAX_COMBINATIONS:,}"
            complaints.add("RR530", told, key, hint="coarsen a domain, or randomise fewer attributes together")
        if own:
            groups.append(own)
    alone = ((policy.attributes[name],) for name in names if name not in seen)
    return (*groups, *alone)


def joint_retention(group: Sequence[Attribute], options: PramOptions, complaints: ProblemCollector) -> Fraction | None:
    """Return the retention probability of attributes together; None if the policy has none (RR531)."""
    for key, message in _single_attribute_options(group, options):
        complaints.add("RR531", message, key)
    stated = {a.name: rho for a in group if (rho := options.retention_probability.get(a.name)) is not None}
    if len(set(stated.values())) > 1:
        message = f"{quoted_names(group)} are randomised together and have one retention probability, not several"
        complaints.add("RR531", message, f"retention_probability.{list(stated)[-1]}", hint="give it once")
    return next(iter(stated.values()), None)


def _single_attribute_options(group: Sequence[Attribute], options: PramOptions) -> Iterator[tuple[str, str]]:
    """Yield key and message of options that only a separately randomised attribute can have."""
    for a in group:
        if a.name in options.keep_probability:
            message = (
                f"'{a.name}' is randomised with others, and a keep probability speaks of one attribute's categories: "
                "give the retention probability, which is that of the combination and of each attribute alike"
            )
            yield f"keep_probability.{a.name}", message
        if a.name in options.invariant:
            message = f"'{a.name}' is randomised with others: no matrix of theirs is made to keep a marginal"
            yield f"invariant.{a.name}", message


def product_blocks(parts: Sequence[tuple[tuple[int, ...], ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the blocks of combinations: those whose categories are in the same block of each attribute.

    `parts` has the codes of the blocks of each attribute; the result has positions in the C-order product of the
    domains.
    """
    sizes = [sum(map(len, blocks)) for blocks in parts]
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return tuple(
        tuple(sorted(sum(c * step for c, step in zip(cell, steps, strict=True)) for cell in product(*chosen)))
        for chosen in product(*parts)
    )
