"""Options read against a policy: a layout, or every problem with its place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from rrpolicy.plugin import Attribute, Policy, PolicyError, Role
from rrpolicy.plugin.solve import workload_problems
from rrpolicy_pram.layout import AttributeTreatment, FixedProbability, PramLayout, RetentionRule, TreatmentRule
from rrpolicy_pram.matrices import read_explicit, read_invariant
from rrpolicy_pram.options import PramOptions, ProblemCollector, quoted_labels, quoted_names

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
            complaints.add("RR530", "a group of `together` needs two attributes or more", key)
        for place, name in enumerate(group):
            if name in seen or name in group[:place]:
                complaints.add("RR530", f"`together` contains '{name}' twice", key)
            elif name not in names:
                hint = f"randomised are: {', '.join(names) or 'none'}"
                complaints.add("RR530", f"`together` contains '{name}', which is not randomised", key, hint=hint)
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
                f"'{a.name}' is randomised together with others, and a keep probability is that of one attribute: "
                "give the retention probability, which is equal for the combination and for each attribute"
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


def read_layout(options: PramOptions, policy: Policy) -> PramLayout:
    """Return the treatment of each released attribute."""
    complaints = ProblemCollector(policy)
    names = _randomised_names(options, policy, complaints)
    groups = read_groups(options, policy, names, complaints)
    rules = {group: _group_rule(group, options, complaints) for group in groups}
    for table in ("keep_probability", "retention_probability", "matrix", "blocks", "invariant"):
        for name in getattr(options, table):
            if name not in names:
                other = (f"'{name}' is not among the randomised attributes", "add it to `attributes`, or drop it here")
                reason = _attribute_problem(policy, name) or other
                complaints.add("RR230", reason[0], f"{table}.{name}", hint=reason[1])
    grouped = {a.name: group for group in groups for a in group}
    whole = dict.fromkeys(grouped.get(a.name, (a,)) for a in policy.released)
    treatments = tuple(AttributeTreatment(group, rules.get(group)) for group in whole)
    open_ended = [t.attributes for t in treatments if t.solved]
    if options.allocation == "fixed":
        for group in open_ended:
            word = "keep_probability" if len(group) == 1 else "retention_probability"
            hint = f'add {word} = {{ {group[0].name} = "4/5" }}, or choose allocation = "equal"'
            complaints.add("RR232", f"nothing gives the parameter of {quoted_names(group)}", "allocation", hint=hint)
    complaints.problems += workload_problems(options.workload, policy, names)
    if complaints.problems:
        raise PolicyError(complaints.problems)
    return PramLayout(treatments, options.allocation or ("equal" if open_ended else "fixed"))


def _randomised_names(options: PramOptions, policy: Policy, complaints: ProblemCollector) -> tuple[str, ...]:
    asked = options.attributes
    if asked is None:
        asked = tuple(a.name for a in policy.with_role(Role.QUASI_IDENTIFIER, Role.SENSITIVE))
    for index, name in enumerate(asked):
        key = "attributes" if options.attributes is None else f"attributes.{index}"
        reason = _attribute_problem(policy, name)
        if reason is not None:
            complaints.add("RR230", reason[0], key, hint=reason[1])
        elif name in asked[:index]:
            complaints.add("RR230", f"'{name}' appears twice", key)
    if not asked:
        hint = "give an attribute the role quasi-identifier or sensitive"
        complaints.add("RR230", "nothing is to be randomised", "attributes", hint=hint)
    return tuple(dict.fromkeys(name for name in asked if _attribute_problem(policy, name) is None))


def _attribute_problem(policy: Policy, name: str) -> tuple[str, str] | None:
    """Return why an attribute cannot be randomised and a remedy, or None."""
    attribute = policy.attributes.get(name)
    if attribute is None:
        import difflib

        near = difflib.get_close_matches(name, policy.attributes, n=1)
        return f"there is no attribute '{name}'", f"did you mean '{near[0]}'?" if near else "name a declared one"
    if attribute.role.dropped:
        return f"'{name}' is never released: its role is {attribute.role.value}", "take it out"
    if attribute.role is Role.INSENSITIVE:
        return f"'{name}' is insensitive and released unchanged", "give it the role quasi-identifier or sensitive"
    if not attribute.categorical:
        return f"'{name}' has no categories to exchange", "give it a domain, or bins if it is a number"
    return None


def _group_rule(group: tuple[Attribute, ...], options: PramOptions, complaints: ProblemCollector) -> TreatmentRule:
    """Return the treatment of an attribute, or of several together; None if something is wrong."""
    if len(group) > 1:
        return _joint_rule(group, options, complaints)
    (attribute,) = group
    name = attribute.name
    given = FixedProbability(options.keep_probability.get(name), options.retention_probability.get(name))
    kinds = [t for t in ("matrix", "invariant", "blocks") if name in getattr(options, t)]
    if len(kinds) > 1:
        complaints.add("RR232", f"'{name}' has {' and '.join(kinds)}: choose one", f"{kinds[1]}.{name}")
    if given.keep is not None and given.retention is not None:
        hint = "they are two words for one parameter: p = rho + (1 - rho)/d"
        message = f"'{name}' has both a keep and a retention probability"
        complaints.add("RR232", message, f"retention_probability.{name}", hint=hint)
    if "matrix" in kinds:
        if given != FixedProbability():
            word = "keep_probability" if given.keep is not None else "retention_probability"
            complaints.add("RR232", f"'{name}' has a matrix, which leaves no parameter to give", f"{word}.{name}")
        return read_explicit(group, name, options.matrix[name], complaints)
    if "invariant" in kinds:
        _refuse_range(attribute, given, [len(attribute.domain or ())], complaints)
        return read_invariant(attribute, options, given, complaints)
    rule = RetentionRule(_code_blocks(attribute, options, complaints), given)
    _refuse_range(attribute, given, [len(block) for block in rule.blocks], complaints)
    return rule


def _joint_rule(group: tuple[Attribute, ...], options: PramOptions, complaints: ProblemCollector) -> TreatmentRule:
    """Return the treatment of attributes that are randomised as one; None if something is wrong."""
    rho = joint_retention(group, options, complaints)
    written = [a.name for a in group if a.name in options.matrix]
    if written:
        others = [a.name for a in group if a.name in options.blocks or a.name in options.retention_probability]
        for name in (*written[1:], *others):
            table = "blocks" if name in options.blocks else "retention_probability"
            key = f"{'matrix' if name in written[1:] else table}.{name}"
            complaints.add("RR232", f"{quoted_names(group)} have a matrix, which leaves nothing else to give", key)
        return read_explicit(group, written[0], options.matrix[written[0]], complaints)
    given = FixedProbability(retention=rho)
    parts = [_code_blocks(a, options, complaints) for a in group]
    if not all(parts):
        return RetentionRule((), given)
    blocks = product_blocks(parts)
    _refuse_range(group[0], given, [len(block) for block in blocks], complaints)
    return RetentionRule(blocks, given)


def _refuse_range(
    attribute: Attribute, given: FixedProbability, sizes: list[int], complaints: ProblemCollector
) -> None:
    """Refuse a probability that is not above uniform; for several attributes the first is named."""
    smallest = min((size for size in sizes if size > 1), default=0)
    least = Fraction(1, smallest) if smallest else Fraction(0)
    for word, value, bound in (
        ("keep_probability", given.keep, least),
        ("retention_probability", given.retention, Fraction(0)),
    ):
        if value is not None and not bound < value <= 1:
            complaints.add(
                "RR231",
                f"the {word.replace('_', ' ')} of '{attribute.name}' must exceed {bound}, what drawing at random gives,"
                " and be at most 1",
                f"{word}.{attribute.name}",
                expected=f"above {bound}, at most 1",
            )


def _code_blocks(
    attribute: Attribute, options: PramOptions, complaints: ProblemCollector
) -> tuple[tuple[int, ...], ...]:
    """Return the codes of each block; the whole domain without blocks, () while it is unknown."""
    key, domain = f"blocks.{attribute.name}", attribute.domain
    if attribute.name not in options.blocks:
        return () if domain is None else (tuple(range(len(domain))),)
    if domain is None or attribute.observed:
        complaints.add("RR234", f"blocks need the domain of '{attribute.name}' to be declared, not observed", key)
        return ()
    blocks = options.blocks[attribute.name]
    named = [label for block in blocks for label in block]
    faults = {
        "not categories of it: " + quoted_labels(v for v in named if v not in domain): not set(named) <= set(domain),
        "in no block: " + quoted_labels(v for v in domain if v not in named): not set(domain) <= set(named),
        "a category appears twice": len(set(named)) < len(named),
        "a block is empty": not all(blocks),
    }
    if any(faults.values()):
        what = "; ".join(fault for fault, found in faults.items() if found)
        hint = 'a category that is released unchanged is alone in a block, such as ["C"]'
        message = f"the blocks of '{attribute.name}' are not a partition of its domain; {what}"
        complaints.add("RR234", message, key, hint=hint)
        return (tuple(range(len(domain))),)
    if len(blocks) > 1:
        for model in dict.fromkeys(r.model for r in complaints.policy.requirements if r.possible):
            complaints.add(
                "RR235",
                f"blocks of '{attribute.name}' rule out {model}: a released category reveals its block with certainty, "
                "so k is 1 and epsilon infinite",
                f"blocks.{attribute.name}",
                hint=f"take out the blocks, or the {model} requirement",
            )
    return tuple(tuple(sorted(domain.index(label) for label in block)) for block in blocks)
