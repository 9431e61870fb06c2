"""The plan as text: assumptions first, then parameters, requirements, errors, and what is dropped or unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrpolicy.finding import Companion, Finding, ValueTable, Verdict, by_value
from rrpolicy.policy.diagnostics import visible
from rrpolicy.release.gate import shown
from rrpolicy.release.outlook import parameters, unchanged

if TYPE_CHECKING:
    from rrpolicy.release.check import Stated
    from rrpolicy.release.outlook import Outlook

MARKS = {Verdict.HOLDS: "holds", Verdict.FAILS: "FAILS", Verdict.UNDECIDED: "undecided", None: "measured"}
INDENT = " " * 12


def lines(outlook: Outlook) -> list[str]:
    """Return the plan, line by line; it reads without colour."""
    plan, policy = outlook.plan, outlook.plan.policy
    text = [f"{policy.name} {policy.version}: {policy.mechanism.name} on {plan.records:,} records"]
    text += _section("extends", policy.baselines)
    text += _section("rests on", outlook.assessment.assumptions)
    text += _section("derived from the data", outlook.derived)
    text += ["", "parameters", *_parameters(outlook)]
    text += _section("chosen so", [remark.text for remark in plan.remarks])
    text += ["", "requirements"]
    for finding, stated in zip(outlook.assessment.findings, outlook.stated, strict=True):
        text += _finding(finding, stated)
    if outlook.assessment.utility:
        text += ["", "utility"]
    for gate in outlook.assessment.utility:
        expected = "unknown without data" if gate.expected is None else shown(gate.expected)
        text.append(f"  {MARKS[gate.verdict]:<9} {gate.metric}: {expected}, at most {float(gate.limit):g}")
    text += ["", "expected error of reconstructed shares (root mean square, this table)", *_errors(outlook)]
    text += _section("released unchanged", unchanged(plan))
    text += _section("dropped", [f"{a.name} ({a.role})" for a in policy.attributes.values() if a.role.dropped])
    return text


def _section(title: str, items: tuple[str, ...] | list[str]) -> list[str]:
    return ["", title, *(f"  {item}" for item in items)] if items else []


def _parameters(outlook: Outlook) -> list[str]:
    rows = []
    for name, values in parameters(outlook.plan).items():
        if not isinstance(values, dict):
            continue
        if values["form"] == "membership":
            told = f"sets of {values['set_size']} of {values['values']} values"
        elif values["form"] == "share":
            told = f"in groups of {values['group_size']} different values"
        elif values["form"] != "retention":
            told = f"by a {values['form']}"
        elif values["keep_probability"] is None:
            told = f"kept in {len(values['blocks']) if isinstance(values['blocks'], list) else 0} blocks"
        else:
            told = (
                f"keep probability {values['keep_probability']:.6g}, "
                f"retention probability {values['retention_probability']:.6g}"
            )
        rows.append(f"  {name}: {told} ({values['origin']})")
    return rows or ["  nothing is randomised"]


def _finding(finding: Finding, stated: Stated) -> list[str]:
    head = f"  {MARKS[finding.verdict]:<9} {finding.model}: {finding.requirement}{stated}"
    if finding.reached is not None:
        head += f"; reached {shown(finding.reached)}"
        if finding.limit is not None:
            head += f", margin {abs(float(finding.limit) - finding.reached.value):.3g}"
    rows = [f"{head} [{finding.basis.name.lower()}]"]
    if finding.groups_over:
        rows.append(f"{INDENT}{finding.groups_over:,} groups with {finding.people_over:,} people over the limit")
    return rows + _beside(finding.beside)


def _beside(beside: Sequence[Companion]) -> list[str]:
    """Return what stands beside a finding: a table by value for each attribute, then what speaks of the whole."""
    rest, tables = by_value(beside)
    rows = []
    for table in tables:
        rows += _value_table(table)
        own = [c for c in rest if c.of == table.of]
        rows += [f"{INDENT}  {'; '.join(f'{c.name} {shown(c.measure)}' for c in own)}"] if own else []
    said = {c.name: c.meaning for table in tables for _, numbers in table.rows for c in numbers}
    rows += [f"{INDENT}{name}: {meaning}" for name, meaning in said.items()]
    tabled = {table.of for table in tables}
    others = [c for c in rest if c.of not in tabled]
    rows += [f"{INDENT}beside it, {c.name}{f' ({c.of})' if c.of else ''}: {shown(c.measure)}" for c in others]
    return rows


def _value_table(table: ValueTable[Companion]) -> list[str]:
    """Return the numbers of each value side by side."""
    rows = [["", *table.names]]
    rows += [[visible(value) or "largest", *(shown(c.measure) for c in numbers)] for value, numbers in table.rows]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [
        "  ".join([row[0].ljust(first), *(cell.rjust(w) for cell, w in zip(row[1:], others, strict=True))])
        for row in rows
    ]
    return [f"{INDENT}beside it, {table.of}:", *(f"{INDENT}  {line}" for line in lines)]


def _errors(outlook: Outlook) -> list[str]:
    if not outlook.errors:
        dealt = any(d.form == "share" for d in outlook.plan.channel.decoders())
        return [f"  none: {'it depends on how values go with the other columns' if dealt else 'nothing is randomised'}"]
    return [
        f"  {' x '.join(e.attributes)}: {'unknown without data' if e.error is None else f'{e.error:.4g}'}"
        for e in outlook.errors
    ]
