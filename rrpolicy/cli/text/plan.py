"""The plan as text: assumptions first, then parameters, requirements, errors, and what is dropped or unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channel.axes.recode import ANYTHING
from rrpolicy.channel.decoders import AnatomyDecoder, RecodeDecoder, RetentionDecoder
from rrpolicy.channel.promises import built_in
from rrpolicy.finding import CONDITION, Companion, Finding, ValueTable, Verdict, by_value
from rrpolicy.releasing.plan.gate import expectation, shown
from rrpolicy.releasing.plan.preview import parameters, unchanged
from rrpolicy.releasing.plan.waivers import WARNINGS
from rrpolicy.releasing.report.context import declared_lines
from rrpolicy.untrusted.printable import listed, visible

if TYPE_CHECKING:
    from rrpolicy.mechanism import Remark
    from rrpolicy.policy.model import Attribute
    from rrpolicy.releasing.plan.check import Stated
    from rrpolicy.releasing.plan.plan import Plan
    from rrpolicy.releasing.plan.preview import Outlook

MARKS = {Verdict.SATISFIED: "satisfied", Verdict.FAILED: "FAILED", Verdict.UNDECIDED: "undecided", None: "measured"}
INDENT = " " * 12


def lines(outlook: Outlook) -> list[str]:
    """Return the plan, line by line; it reads without colour."""
    plan, policy = outlook.plan, outlook.plan.policy
    text = [f"{policy.name} {policy.version}: {policy.mechanism.name} on {plan.records:,} records"]
    text += _section("extends", policy.baselines)
    text += _section("rests on", outlook.assessment.assumptions)
    text += _section("declared by people", list(declared_lines(outlook.governance)))
    text += _section("derived from the data", _derived(outlook))
    text += ["", "parameters", *_parameters(outlook)]
    text += _section("waived", [*map(str, outlook.decision.waived)])
    text += _section("warnings", [remark.text for remark in outlook.decision.warnings])
    text += _section("chosen so", [_remark(remark) for remark in plan.remarks if remark.name not in WARNINGS])
    text += ["", "requirements"]
    explained: set[str] = set()
    for finding, stated in zip(outlook.assessment.findings, outlook.stated, strict=True):
        text += _finding(finding, stated, explained)
    text += _section("with earlier releases", _weighed(outlook))
    waived = {one.what for one in outlook.decision.waived}
    if outlook.assessment.utility:
        text += ["", "utility"]
    for gate in outlook.assessment.utility:
        metric = f"{gate.metric} of {gate.over}" if gate.over else gate.metric
        mark = "waived" if gate.identity in waived else MARKS[gate.verdict]
        text.append(f"  {mark:<9} {metric}: {expectation(gate)}, {gate.asked}")
        text += _beside(gate.companions, explained)
    text += ["", "expected error of reconstructed shares (root mean square, this table)", *_errors(outlook)]
    text += _section("released unchanged", _unchanged(plan))
    text += _section("dropped", [_dropped(a) for a in policy.attributes.values() if a.role.dropped])
    return text


def _section(title: str, items: tuple[str, ...] | list[str]) -> list[str]:
    return ["", title, *(f"  {item}" for item in items)] if items else []


def _derived(outlook: Outlook) -> list[str]:
    """Return what the release will tell of the table, and what to paste to accept it, if that is asked for."""
    accept = [f"to accept what it tells, under [release]: {outlook.accept}"] if outlook.accept else []
    return [*map(str, outlook.plan.derived), *accept]


def _weighed(outlook: Outlook) -> list[str]:
    """Return what the release comes to together with earlier ones, and whether the ledger refuses it."""
    if outlook.weighed is None:
        return []
    return list(outlook.weighed.lines())


def _dropped(attribute: Attribute) -> str:
    """Return a column that is not released, and why; one without a place is in the table and not in the policy."""
    by_itself = "" if attribute.place is not None else ", since the policy does not name it"
    return f"{attribute.name} ({attribute.role}{by_itself})"


def _parameters(outlook: Outlook) -> list[str]:
    rows = []
    recoded = {",".join(d.attributes): d for d in outlook.plan.channel.decoders() if isinstance(d, RecodeDecoder)}
    for name, values in parameters(outlook.plan).items():
        if not isinstance(values, dict):
            continue
        if name in recoded:
            rows += [f"  {column}: {told} ({values['origin']})" for column, told in _labels(recoded[name])]
            continue
        if values["form"] == "addition":
            told = f"sets of {values['set_size']} of {values['values']} values"
        elif values["form"] == "anatomy":
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
        rows.append(f"  {name}: {told} ({values['origin'] or 'the mechanism does not say whence'})")
    return rows or ["  nothing is randomised"]


def _labels(decoder: RecodeDecoder) -> Iterator[tuple[str, str]]:
    """Yield what each generalised attribute's categories become."""
    for name, released, groups in zip(decoder.attributes, decoder.released, decoder.groups, strict=True):
        categories = 1 + max(code for group in groups for code in group)
        starred = len(groups) > 1 and released[-1] == ANYTHING and len(groups[-1]) == categories > 1
        plain = groups[:-1] if starred else groups
        if all(len(group) == 1 for group in plain):
            told = f"its {categories} categories as they are"
        elif len(plain) == 1:
            told = f"one label for all {categories} categories"
        else:
            told = f"{len(plain)} labels for {categories} categories"
        yield name, told + (f", or `{ANYTHING}` for any" if starred else "")


def _unchanged(plan: Plan) -> list[str]:
    """Return what is released as it is: never touched, or by parameters that change nothing."""
    reasons = {a.release_as: a.why_unchanged for a in plan.policy.released}
    found = [f"{name}: {reason}" if (reason := reasons.get(name)) else name for name in unchanged(plan)]
    for decoder in plan.channel.decoders():
        if isinstance(decoder, RetentionDecoder) and not decoder.drawn:
            found += [f"{name} (keep probability 1: nobody's value is replaced)" for name in decoder.columns]
        elif isinstance(decoder, RecodeDecoder):
            pairs = zip(decoder.attributes, decoder.groups, strict=True)
            kept = [name for name, groups in pairs if all(len(group) == 1 for group in groups)]
            found += [f"{plan.policy.attributes[name].release_as} (not generalised)" for name in kept]
    return found


def _remark(remark: Remark) -> str:
    """Return a remark with its number, unless the text has it."""
    if remark.measure is None or any(sign.isdigit() for sign in remark.text):
        return remark.text
    return f"{remark.text}: {shown(remark.measure)}"


def _finding(finding: Finding, stated: Stated, explained: set[str]) -> list[str]:
    """Return a finding; `explained` are the terms above it that were explained, and gains its own."""
    head = f"  {MARKS[finding.verdict]:<9} {finding.model}: {finding.stated}{stated}"
    if finding.achieved is not None:
        head += f"; achieved {shown(finding.achieved)}"
        if finding.limit is not None:
            word = "missed by" if finding.verdict is Verdict.FAILED else "margin"
            head += f", {word} {abs(float(finding.limit) - finding.achieved.value):.3g}"
    rows = [f"{head} [{finding.basis.name.lower()}{', conditional' if finding.given else ''}]"]
    if finding.given:
        rows.append(f"{INDENT}conditional on what is derived from the data: {listed(finding.given)}")
    if finding.groups_over:
        rows.append(f"{INDENT}{finding.groups_over:,} groups with {finding.people_over:,} people over the limit")
    return rows + _beside(finding.companions, explained)


def _beside(companions: Sequence[Companion], explained: set[str]) -> list[str]:
    """Return what stands beside a finding: a table by value for each attribute, then what speaks of the whole."""
    rest, tables = by_value(companions)
    rows = []
    for table in tables:
        rows += _value_table(table)
        own = [c for c in rest if c.of == table.of]
        rows += [f"{INDENT}  {'; '.join(f'{c.name} {shown(c.measure)}' for c in own)}"] if own else []
        rows += _meanings([*(c for _, numbers in table.rows for c in numbers), *own], explained)
    tabled = {table.of for table in tables}
    for companion in rest:
        if companion.of not in tabled:
            rows.append(f"{INDENT}beside it, {_companion(companion)}")
            rows += _meanings([companion], explained)
    return rows


def _meanings(companions: Sequence[Companion], explained: set[str]) -> list[str]:
    """Return what each term means that was not explained yet."""
    new = {c.name: c.meaning for c in companions if c.meaning and c.name not in explained}
    explained.update(new)
    return [f"{INDENT}  {name}: {meaning}" for name, meaning in new.items()]


def _companion(companion: Companion) -> str:
    """Return a number that stands beside a finding, with the value it speaks of and on what it is conditional."""
    of = f" ({companion.of})" if companion.of else ""
    return f"{companion.name}{of}: {shown(companion.measure)}" + (f", {CONDITION}" if companion.given else "")


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
        dealt = any(isinstance(d, AnatomyDecoder) for d in outlook.plan.channel.decoders())
        own = not built_in(outlook.plan.channel)
        why = "the channel is a plugin's own" if own else "nothing is randomised"
        return [f"  none: {'it depends on how values go with the other columns' if dealt else why}"]
    spread = {name for d in outlook.plan.channel.decoders() if isinstance(d, RecodeDecoder) for name in d.attributes}
    rows = [f"  {' x '.join(e.attributes)}: {e.told}" for e in outlook.errors if not spread & set(e.attributes)]
    if spread:
        names = ", ".join(name for name in outlook.plan.policy.attributes if name in spread)
        rows.append(f"  {names}: no random error; counts are spread evenly over what a label stands for, and")
        rows.append(f"{INDENT}`rrpolicy estimate` says in which limits they certainly lie")
    return rows
