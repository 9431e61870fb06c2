"""The report's section on dealt groups: the method of dealing, the groups' sizes, and the residues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrpolicy.channels.anatomy.partition_plan import (
    PairGroupKind,
    PartitionPhase,
    group_kinds_of_table,
    groups_of,
    largest_eligible,
    partition_phases,
)
from rrpolicy.frozen import replace
from rrpolicy.numbers import figure, percent
from rrpolicy.report import Fact, Section

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.source.protocol import Original

_SHOWN = 20
PAIRS = (
    "This table lists the combinations in one group, most frequent first. The counts determine "
    "them. It is confidential."
)
ORDER = (
    "This table lists the groups in the order in which they were formed. The counts determine "
    "them; only the assignment of records is random."
)


def groups_section(groups: AnatomyChannel, records: int, original: Original | None) -> Section:
    """Return the section.

    `original` is None for the public page.
    """
    size, names = groups.size, [own.attribute for own in groups.sensitive]
    number, residues = groups_of(records, size)
    known, *values = (table.name for table in groups.tables())
    title = f"Groups by {' and '.join(names)}"
    if len(names) == 1:
        how = (
            f"Records are assigned at random to groups of {size} whose values of {names[0]} all differ: while {size} "
            f"values are left, each of the {size} with most records left gives one record, drawn at random. Two tables "
            f"are released: {known}, every record with its group and all other columns unchanged; and {values[0]}, "
            "the values of each group."
        )
    else:
        how = (
            f"Records are assigned at random to groups of {size} that all differ in {names[0]}, and all in {names[1]}: "
            "the counts determine which combinations of values form a group, and each combination contributes a "
            "record drawn at random. "
            f"Three tables are released: {known}, every record with its group and all other columns unchanged; "
            f"{values[0]} and {values[1]}, the values of each group, which reveal nothing about which belong to "
            f"one record."
        )
    join = (
        f"Joined by {groups.group.name}, a record meets every value of its group, and counts for each as often as the"
        " group has it, divided by the size of the group."
    )
    left = (
        "Group numbers are a random permutation and rows are sorted, so neither reveals anything. The values hide "
        "a person among the members of the group. The person's presence in the table and the other "
        "columns are not hidden."
    )
    facts = [
        Fact("Groups", figure(number)),
        Fact("Records in a group", _group_size_text(groups, records)),
        Fact("Residues, each in a group that lacked its value", figure(residues)),
        *(Fact("Join", f"{known}.{groups.group.name} = {table}.{groups.group.name}") for table in values),
    ]
    if original is None:
        return Section(title, (how, join, left), tuple(facts))
    if len(names) > 1:
        return _with_pair_table(groups, original, Section(title, (how, join, left, PAIRS), tuple(facts)))
    counts = original.counts(*names).dense().tolist()
    facts += [
        Fact("Largest l for which the table is eligible", figure(largest_eligible(counts))),
        Fact("Share of the commonest value", percent(max(counts, default=0) / max(records, 1))),
    ]
    phases = partition_phases(counts, size)
    order = ORDER if len(phases) <= _SHOWN else f"{ORDER} {figure(len(phases) - _SHOWN)} more rows are left out."
    rows = tuple(_phase_row(phase, [str(label) for label in groups.sensitive[0].labels]) for phase in phases[:_SHOWN])
    shares = tuple(phase.groups / number for phase in phases[:_SHOWN])
    header = ("Groups", "Each bound is certain", "And by turns", "Of these")
    return Section(title, (how, join, left, order), tuple(facts), header, rows, shares, "Share of groups")


def _with_pair_table(groups: AnatomyChannel, original: Original, section: Section) -> Section:
    """Return the section with the most frequent combinations in groups."""
    counts = original.counts(*(own.attribute for own in groups.sensitive))
    kinds = sorted(group_kinds_of_table(counts, groups.size), key=lambda kind: -kind.groups)
    labels = [own.labels for own in groups.sensitive]
    number = sum(kind.groups for kind in kinds)

    def row(kind: PairGroupKind) -> tuple[str, ...]:
        pairs = (zip(labels, counts.codes[held].tolist(), strict=True) for held in kind.held)
        return figure(kind.groups), "; ".join(" and ".join(str(own[code]) for own, code in pair) for pair in pairs)

    largest = [largest_eligible(counts.marginal(own.attribute).dense().tolist()) for own in groups.sensitive]
    facts = (
        Fact("Largest l for which the table is eligible", figure(min(largest))),
        Fact("Kinds of groups, by their combinations", figure(len(kinds))),
    )
    shown = kinds[:_SHOWN]
    return replace(
        section,
        facts=(*section.facts, *facts),
        header=("Groups", "Combinations in one group"),
        table=tuple(row(kind) for kind in shown),
        bars=tuple(kind.groups / number for kind in shown),
        shares="Share of groups",
    )


def _group_size_text(groups: AnatomyChannel, records: int) -> str:
    """Return the group sizes in words: l records, and in a few groups one or more residual records in addition."""
    least, most = groups.sizes(records)
    if most == least:
        return figure(least)
    if most == least + 1:
        return f"{figure(least)}; one group has {figure(most)}"
    return f"{figure(least)}; at most {figure(most - least)} groups have {figure(least + 1)} to {figure(most)}"


def _phase_row(phase: PartitionPhase, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the number of groups of a phase, the values in all of them, and those that take turns."""
    turning = phase.turns < len(phase.level)
    certain = phase.above if turning else (*phase.above, *phase.level)
    held = ", ".join(labels[value] for value in certain) or "–"
    if not turning:
        return figure(phase.groups), held, "–", "–"
    return figure(phase.groups), held, figure(phase.turns), ", ".join(labels[value] for value in phase.level)
