"""How large sets would have to be for what the policy asks of disclosure: a larger set never tells more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rrpolicy.plugin import Assessor, Original, Product, Remark, Requirement, Task
from rrpolicy_sensitive_addition.channel import build_channel
from rrpolicy_sensitive_addition.layout import HiddenGroup


def larger_set_remarks(hidden: Sequence[HiddenGroup], channel: Product, task: Task) -> tuple[Remark, ...]:
    """Return what to ask for if a risk is over its limit with sets as large as l-diversity asks; else nothing.

    Args:
        hidden: what is hidden.
        channel: as planned.
        task: the requirements.
    """
    original = task.original
    if isinstance(original, int):
        return ()
    failing: dict[str, list[tuple[Requirement, Assessor]]] = {}
    for requirement, assessor in task.requirements:
        if assessor.monotone and requirement.monotone and not assessor.accepts(requirement, channel, original):
            failing.setdefault(requirement.model, []).append((requirement, assessor))
    return tuple(_set_size_remark(model, asked, hidden, task, original) for model, asked in failing.items())


def _set_size_remark(
    model: str,
    failing: Sequence[tuple[Requirement, Assessor]],
    hidden: Sequence[HiddenGroup],
    task: Task,
    original: Original,
) -> Remark:
    """Return the smallest sets with which the entries of a model hold; or that none are large enough."""
    fewest, most = 0, max((each.values or 0) - each.set_size for each in hidden)
    if not _satisfies_requirements(hidden, most, failing, task, original):
        text = "whatever the size of the sets: coarsen the quasi-identifiers, or choose a mechanism that hides them too"
        return Remark("larger-sets", f"{model} fails {text}")
    while most - fewest > 1:
        middle = (fewest + most) // 2
        if _satisfies_requirements(hidden, middle, failing, task, original):
            most = middle
        else:
            fewest = middle
    grown = _with_larger_sets(hidden, most)
    if all(each.set_size == each.values for each in grown):
        names = " and ".join(each.name for each in grown)
        text = f"only sets of all values of {names} would satisfy it, which say nothing: ask for less, or coarsen"
        return Remark("larger-sets", f"{model} fails; {text} the quasi-identifiers or {names}")
    sizes = " and ".join(f"{each.set_size} values of {each.name}" for each in grown)
    return Remark("larger-sets", f"{model} fails; sets of {sizes} would satisfy it: ask for so large an l")


def _satisfies_requirements(
    hidden: Sequence[HiddenGroup],
    more: int,
    failing: Sequence[tuple[Requirement, Assessor]],
    task: Task,
    original: Original,
) -> bool:
    """Return whether sets with so many more values satisfy what fails."""
    channel = build_channel(_with_larger_sets(hidden, more), task.policy)
    return all(a.accepts(r, channel, original) for r, a in failing)


def _with_larger_sets(hidden: Sequence[HiddenGroup], more: int) -> list[HiddenGroup]:
    """Return what is hidden among so many more values, as far as there are any."""
    return [replace(each, l=Fraction(min(each.set_size + more, each.values or 0))) for each in hidden]
