"""What the report says of dealt groups: how records are dealt, how large groups are, and who is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.channel.schedule import groups_of, largest_eligible, schedule
from rrpolicy.section import Fact, Section

if TYPE_CHECKING:
    from rrpolicy.channel.groups import Groups
    from rrpolicy.source.protocol import Original

_SHOWN = 20


def groups_section(groups: Groups, records: int, original: Original | None) -> Section:
    """Return the section.

    Args:
        groups: the channel.
        records: N.
        original: the table, for the audit; None for the public page.
    """
    size, name = groups.size, groups.sensitive.attribute
    number, residues = groups_of(records, size)
    how = (
        f"Records are dealt at random into groups of {size} whose values of {name} all differ: while {size} values are"
        f" left, each of the {size} with most records left gives one record, drawn at random. Two tables are released:"
        " every record with its group, all other columns as they are; and the values of each group."
    )
    left = (
        "Group numbers are a random permutation and rows are sorted: neither tells anything. A person is hidden among"
        " the members of the group as far as the values go; that the person is in the table, and the other columns,"
        " are not hidden."
    )
    facts = [
        Fact("Groups", f"{number:,}"),
        Fact("Records in a group", f"{size:,}" + (" or more" if residues else "")),
        Fact("Residues, each in a group that lacked its value", f"{residues:,}"),
        Fact("Join", f"{groups.group.name} of both tables"),
    ]
    if original is None:
        return Section(f"Groups by {name}", (how, left), tuple(facts))
    counts = original.counts(name).dense().tolist()
    facts += [
        Fact("Largest l for which the table is eligible", f"{largest_eligible(counts):,}"),
        Fact("Share of the commonest value", f"{max(counts, default=0) / max(records, 1):.1%}"),
    ]
    labels, rows = groups.sensitive.labels, []
    for phase in schedule(counts, size)[:_SHOWN]:
        always = ", ".join(str(labels[v]) for v in phase.above) or "none"
        level = ", ".join(str(labels[v]) for v in phase.level)
        turns = f"all of {level}" if phase.turns == len(phase.level) else f"{phase.turns} of {level}"
        rows.append((f"{phase.groups:,}", always, turns))
    order = "The table tells which groups were made, in which order: the counts fix it, and only turns are drawn."
    header = ("groups", "with these for certain", "and in turns")
    return Section(f"Groups by {name}", (how, left, order), tuple(facts), header, tuple(rows))
