"""Planning: is the table eligible, and what groups will it make?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rrpolicy.plugin import AnatomyChannel, Measure, Origin, Problem, Proposal, Remark, RequirementError, Task
from rrpolicy.plugin.solve import groups_of, largest_eligible
from rrpolicy_anatomy.read import SMALLEST, Layout, read


def propose(task: Task) -> Proposal:
    """Return the channel and what is to be said of it.

    Raises:
        PolicyError: RR298, RR299, RR255.
        RequirementError: RR106.
    """
    layout = read(task.policy)
    counts: Sequence[int] | None = None
    if not isinstance(task.original, int):
        counts = task.original.counts(layout.sensitive.name).dense().tolist()
        if layout.size > largest_eligible(counts):
            raise RequirementError(_not_eligible(layout, counts))
    task.require_domains()
    channel = AnatomyChannel.of(task.policy.released, layout.sensitive.name, layout.size)
    return Proposal(channel, {layout.sensitive.name: Origin.POLICY}, remarks=tuple(_remarks(layout, task, counts)))


def _not_eligible(layout: Layout, counts: Sequence[int]) -> Problem:
    """Return the problem; a value is named only if the policy itself lists it."""
    records, most, largest = sum(counts), max(counts, default=0), largest_eligible(counts)
    sensitive = layout.sensitive
    named = "one value" if sensitive.observed or not sensitive.domain else f"'{sensitive.domain[counts.index(most)]}'"
    share = f"{most / records:.1%}" if records else "all"
    ask = f"ask for an l of at most {largest}, or " if largest >= SMALLEST else "no l is small enough: "
    return Problem(
        "RR106",
        f"no anatomy for l = {layout.size}: {named} has {share} of the records of '{sensitive.name}', more than 1 in"
        f" {layout.size}",
        layout.requirement.place,
        expected=f"an eligible table; the largest eligible l is {largest}",
        hint=f"{ask}split the value, leave its records out, or choose sensitive-addition or l-diversity",
    )


def _remarks(layout: Layout, task: Task, counts: Sequence[int] | None) -> Iterator[Remark]:
    groups, residues = groups_of(task.records, layout.size)
    text = f"{groups:,} groups of {layout.size} different values of '{layout.sensitive.name}'"
    if residues:
        text += f"; {residues} of {task.records:,} records are left over and join groups that lack their value"
    yield Remark("groups", text)
    if counts is None:
        yield Remark("eligibility", f"a table is eligible if no value has more than 1 in {layout.size} of its records")
    else:
        largest = largest_eligible(counts)
        text = f"the largest eligible l of this table is {largest}"
        yield Remark("largest-eligible-l", text, Measure(float(largest)))
