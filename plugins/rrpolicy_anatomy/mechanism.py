"""`anatomy`: outline without data; a table's eligibility is checked with data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from rrpolicy.plugin import (
    AnatomyChannel,
    Attribute,
    Derived,
    Measure,
    Origin,
    Outline,
    Policy,
    Problem,
    Proposal,
    Remark,
    RequirementError,
    Task,
    percent,
)
from rrpolicy.plugin.solve import groups_of, largest_eligible
from rrpolicy.plugin.text import rounded_down
from rrpolicy_anatomy.layout import SMALLEST_GROUP, AnatomyLayout, read_layout


class AnatomyOptions(BaseModel):
    """Options of [mechanism] with name = "anatomy"."""

    model_config = ConfigDict(extra="forbid", frozen=True)


GROUP_SIZES = Derived(
    "group-sizes",
    "the number of records of each group, and which values can occur together: residues join groups that lack "
    "their value, and only an eligible table can be grouped"
    "",
)


class Anatomy:
    """Anatomy (Xiao, Tao 2006)."""

    name = "anatomy"
    options = AnatomyOptions
    method = "grouped"
    sized_by = "frequency"

    def outline(self, options: AnatomyOptions, policy: Policy) -> Outline:
        """Return dealt groups; the channel itself if all domains are known."""
        del options
        layout = read_layout(policy)
        known = all(a.domain is not None for a in policy.released if a.categorical)
        fixed = AnatomyChannel.of(policy.released, layout.names, layout.size) if known else None
        return Outline(AnatomyChannel, fixed=fixed, derived=(GROUP_SIZES,))

    def plan(self, options: AnatomyOptions, task: Task) -> Proposal:
        """Return the channel, with remarks on it; refuse a table that is not eligible."""
        del options
        layout = read_layout(task.policy)
        eligible: dict[str, int] = {}
        if not isinstance(task.original, int):
            counts = {a.name: task.original.counts(a.name).dense().tolist() for a in layout.sensitive}
            eligible = {name: largest_eligible(each) for name, each in counts.items()}
            worst = min(layout.sensitive, key=lambda attribute: eligible[attribute.name])
            if layout.size > eligible[worst.name]:
                raise RequirementError(_eligibility_error(layout, worst, counts[worst.name]))
        task.require_domains()
        channel = AnatomyChannel.of(task.policy.released, layout.names, layout.size)
        remarks = tuple(_plan_remarks(layout, task, min(eligible.values(), default=None)))
        return Proposal(channel, dict.fromkeys(layout.names, Origin.POLICY), remarks=remarks)


def _eligibility_error(layout: AnatomyLayout, sensitive: Attribute, counts: Sequence[int]) -> Problem:
    """Return the problem; a value is named only if the policy itself lists it."""
    records, most, largest = sum(counts), max(counts, default=0), largest_eligible(counts)
    named = "one value" if sensitive.observed or not sensitive.domain else f"'{sensitive.domain[counts.index(most)]}'"
    share = percent(most / records) if records else "all"
    ask = f"set an l of at most {largest}, or " if largest >= SMALLEST_GROUP else "no l is small enough: "
    generalised = f"generalisation with an l of at most {rounded_down(records / most, 3)}" if most else "generalisation"
    return Problem(
        "RR106",
        f"no anatomy for l = {layout.size}: {named} has {share} of the records of '{sensitive.name}', more than 1 in"
        f" {layout.size}",
        layout.requirement.place,
        expected=f"a table eligible for l (largest eligible l: {largest}); a group consists of whole records",
        hint=f"{ask}split the value, exclude its records, or choose sensitive-addition or {generalised}",
    )


def _plan_remarks(layout: AnatomyLayout, task: Task, largest: int | None) -> Iterator[Remark]:
    groups, residues = groups_of(task.records, layout.size)
    names = ", and of ".join(f"'{name}'" for name in layout.names)
    text = f"{groups:,} groups of {layout.size} different values of {names}"
    if residues:
        text += f"; {residues} of {task.records:,} records are left over and join groups that lack their value"
    yield Remark("groups", text)
    if largest is None:
        yield Remark("eligibility", f"a table is eligible if no value has more than 1 in {layout.size} of its records")
    else:
        text = f"the largest eligible l of this table is {largest}"
        yield Remark("largest-eligible-l", text, Measure(float(largest)))
