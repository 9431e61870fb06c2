"""The plan as text: the grade of protection, assumptions, parameters, requirements, errors, dropped columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channels.axes.recode import ANYTHING
from rrpolicy.channels.decoders import AnatomyDecoder, RecodeDecoder, RetentionDecoder
from rrpolicy.channels.self_check import is_built_in
from rrpolicy.escaping.printable import condense_sentences, quoted_list, visible
from rrpolicy.finding import READ_CORRECTLY, V_OF, Companion, Finding, ValueTable, Verdict, by_value
from rrpolicy.numbers import one_in, plain_number
from rrpolicy.planning.plan_result import randomisation_parameters, unrandomised_columns
from rrpolicy.planning.waivers import REVIEW_REMARKS
from rrpolicy.privacy.units import ROWS_NOTE, UNTESTED_UNITS_NOTE
from rrpolicy.reports.attributes import treatment_counts
from rrpolicy.reports.context import declaration_sentences
from rrpolicy.reports.decision import judgement_points
from rrpolicy.reports.pairs import errors_by_size, pair_panel
from rrpolicy.reports.protection_panel import RECORD_LINKING, protection_panel, worse_linking_grade
from rrpolicy.wording import (
    MET,
    VERDICT_WORDS,
    WAIVED,
    expected_value_text,
    judgement_words,
    measure_text,
    related_measure_text,
)

if TYPE_CHECKING:
    from rrpolicy.mechanism import Remark
    from rrpolicy.planning.check import RequirementStatement
    from rrpolicy.planning.plan import MarginalError, Plan
    from rrpolicy.planning.plan_result import PlanResult
    from rrpolicy.policy.model import Attribute
    from rrpolicy.report import ProtectionPanel

MARKS = {verdict: word.upper() if verdict is Verdict.FAILED else word for verdict, word in VERDICT_WORDS.items()}
"""Verdict -> its word at the beginning of a line; a failure is seen without colour."""
WITHHELD = "withheld: of what is randomised nothing can be estimated from public/, and that protects nobody"
INDENT = " " * 12
MOST_ROWS, MOST_PAIRED, WORST = 20, 12, 10
"""Rows of a list, columns of a table of pairs, and the worst and best of more, that fit a screen."""


def lines(outlook: PlanResult, *, explaining: bool = False) -> list[str]:
    """Return the plan, line by line; it reads without colour."""
    plan, policy = outlook.plan, outlook.plan.policy
    records = f"{plan.records:,} records{_records_per_person(outlook)}"
    text = [f"{policy.name} {policy.version}: {policy.mechanism.name} on {records}"]
    if len(_unchanged_columns(plan)) == len(policy.released):
        text[0] = f"Nothing is changed: each released column is released unchanged. {text[0]}"
    text += _protection(outlook)
    text += _section("extends", policy.baselines)
    text += _section("assumptions", condense_sentences(outlook.assessment.audited))
    text += _section("declared by people", list(declaration_sentences(outlook.governance)))
    text += _section("derived from the data", _derived_lines(outlook))
    text += ["", "parameters", *_parameters(outlook)]
    text += _section(WAIVED, [*map(str, outlook.decision.waived)])
    text += _section("what needs judgement", review_points(outlook))
    text += _section(
        "chosen so", [_remark_line(remark) for remark in plan.remarks if remark.name not in REVIEW_REMARKS]
    )
    text += ["", "requirements"]
    explained: set[str] | None = set() if explaining else None
    whom = "people" if outlook.assessment.tested else "records"
    for finding, stated in zip(outlook.assessment.findings, outlook.stated, strict=True):
        text += _finding_lines(finding, stated, explained, whom)
    text += _section("with earlier releases", _budget_lines(outlook))
    waived = {one.what for one in outlook.decision.waived}
    if outlook.assessment.utility:
        text += ["", "utility"]
    for gate in outlook.assessment.utility:
        metric = f"{gate.metric} of {gate.over}" if gate.over else gate.metric
        mark = WAIVED if gate.identity in waived else MARKS[gate.verdict]
        text.append(f"  {mark:<9} {metric}: {expected_value_text(gate)}, {gate.asked}")
        text += _related_measures(gate.companions, explained)
    text += ["", "expected error of reconstructed shares (root mean square, this table)", *_errors(outlook)]
    text += _section("matrices", [WITHHELD] if policy.release.withholds else [])
    text += _section("released unchanged", condense_sentences(_unchanged_columns(plan)))
    text += _section(
        "dropped", condense_sentences(_dropped_column(a) for a in policy.attributes.values() if a.role.dropped)
    )
    return text


def _protection(outlook: PlanResult) -> list[str]:
    """Return the grade, and an attacker's success without the release and with it."""
    panel = _protection_panel(outlook)
    return [] if panel is None else [*grade_table(panel), *_worst_off_lines(panel)]


def grade_table(panel: ProtectionPanel) -> list[str]:
    """Return the heading, and a table of an attacker's success."""
    text = [f"{panel.heading[0].lower()}{panel.heading[1:]} {panel.rule}".replace("`", "'")]
    if not panel.rows:
        return text
    rows: list[tuple[str, ...]] = [("", "without", "by statistics", "with the release", "record known", "grade")]
    for row in panel.rows:
        numbers = (row.before, row.statistics, row.after, row.record)
        rows.append((row.name, *("" if n is None else one_in(n) for n in numbers), row.grade))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text += [
        "  ".join(["  " + first.ljust(widths[0]), *map(str.rjust, cells[:-1], widths[1:-1]), cells[-1]])
        for first, *cells in rows
    ]
    return text


def _worst_off_lines(panel: ProtectionPanel) -> list[str]:
    return [f"  {row.name}: {row.worst} {row.certain}".replace("`", "'") for row in panel.rows]


def _protection_panel(outlook: PlanResult) -> ProtectionPanel | None:
    assessment = outlook.assessment
    return protection_panel(assessment.protection, assessment.findings, outlook.plan.remarks)


def _records_per_person(outlook: PlanResult) -> str:
    """Return the number of records per person, as far as the table was tested for it."""
    source, tested = outlook.plan.policy.source, outlook.assessment.tested
    most, whole = source.max_records, outlook.assessment.selected_from
    if outlook.assessment.of_rows:
        return f". {ROWS_NOTE}"
    if whole is not None:
        return f", one a person: the {source.one_record_per_unit}, selected from {whole:,} records"
    if most > 1:
        return f", at most {most:,} a person" + ("" if tested else ", which was not tested")
    return ", one a person" if tested else f". {UNTESTED_UNITS_NOTE}"


def verdict(found: PlanResult) -> str:
    """Return the line that a reader must not miss: the decision, and the release in a few numbers."""
    plan, findings, gates = found.plan, found.assessment.findings, found.assessment.utility
    waived = {one.what for one in found.decision.waived}
    accepted = {*plan.policy.release.accept}
    kept = sum(f.verdict is Verdict.SATISFIED and {*f.given} <= accepted for f in findings)
    within = sum(gate.verdict is Verdict.SATISFIED or gate.identity in waived for gate in gates)
    counts = [f"{kept} of {len(findings)} requirements {MET}"]
    counts += [f"{within} of {len(gates)} utility limits kept"] if gates else []
    dropped = sum(a.role.dropped for a in plan.policy.attributes.values())
    columns = f"columns: {treatment_counts(plan.channel.decoders(), len(plan.policy.released))}, {dropped} dropped"
    open_points = len(review_points(found))
    points = [judgement_words(open_points)] if open_points else []
    word = "passes" if found.passed else "does not pass"
    graded = found.assessment.protection
    grade = [f"protection {graded.grade}"] if graded is not None else []
    grade += [f"{RECORD_LINKING.lower()} {worse}" for worse in [worse_linking_grade(graded)] if worse is not None]
    return f"{word}: {', '.join([*grade, *counts, *points])}; {columns}"


def review_points(found: PlanResult) -> tuple[str, ...]:
    """Return the points that need a person's judgement although nothing fails, as in the audit report."""
    plan, findings = found.plan, found.assessment.findings
    remarks = (*(r for r in plan.remarks if r.name not in REVIEW_REMARKS), *found.decision.warnings)
    pairs = pair_panel(found.errors)
    told = judgement_points(
        plan.policy.released,
        plan.channel.decoders(),
        findings,
        found.governance,
        remarks,
        panel=_protection_panel(found),
    )
    return (*told, *(pairs.useless if pairs else ()))


def _section(title: str, items: tuple[str, ...] | list[str]) -> list[str]:
    return ["", title, *(f"  {item}" for item in items)] if items else []


def _derived_lines(outlook: PlanResult) -> list[str]:
    """Return the statistics of the table that the release reveals, and the text that accepts them, if needed."""
    accept = [f"to accept this disclosure, under [release]: {outlook.accept}"] if outlook.accept else []
    return [*map(str, outlook.plan.derived), *accept]


def _budget_lines(outlook: PlanResult) -> list[str]:
    """Return the combined privacy loss with earlier releases, and whether the ledger refuses it."""
    if outlook.weighed is None:
        return []
    return list(outlook.weighed.lines())


def _dropped_column(attribute: Attribute) -> str:
    """Return a column that is not released, and why; one without a place is in the table and not in the policy."""
    by_itself = "" if attribute.place is not None else ", since the policy does not name it"
    return f"{attribute.name} ({attribute.role}{by_itself})"


def _parameters(outlook: PlanResult) -> list[str]:
    rows = []
    recoded = {",".join(d.attributes): d for d in outlook.plan.channel.decoders() if isinstance(d, RecodeDecoder)}
    for name, values in randomisation_parameters(outlook.plan).items():
        if not isinstance(values, dict):
            continue
        if name in recoded:
            rows += [f"{column}: {told} ({values['origin']})" for column, told in _labels(recoded[name])]
            continue
        if values["form"] == "addition":
            told = f"sets of {values['set_size']} of {values['values']} values"
        elif values["form"] == "anatomy":
            told = f"in groups of {values['group_size']} different values"
        elif values["form"] != "retention":
            told = f"by a {values['form']}"
        elif isinstance(keep := values["keep_probability"], float) and isinstance(
            retention := values["retention_probability"], float
        ):
            told = f"keep probability {plain_number(keep)}, retention probability {plain_number(retention)}"
        else:
            told = f"kept in {len(values['blocks']) if isinstance(values['blocks'], list) else 0} blocks"
        rows.append(f"{name}: {told} ({values['origin'] or 'the mechanism does not state the source'})")
    return [f"  {row}" for row in _first_rows(rows)] or ["  nothing is randomised"]


def _first_rows(rows: Sequence[str]) -> list[str]:
    """Return the rows; of very many the first ones, and how many are left out."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    return [*rows[:MOST_ROWS], f"and {len(rows) - MOST_ROWS:,} more: --json has all"]


def _matrix(errors: Sequence[MarginalError]) -> Iterator[str]:
    """Yield the errors of single attributes and of pairs, each attribute's with those above it; then those without."""
    panel = pair_panel(errors)
    names = () if panel is None else panel.names
    if len(names) > MOST_PAIRED:
        yield from _extreme_errors(errors)
        return
    if panel is not None and len(names) > 1:
        cells = [["-" if error is None else plain_number(error, 4) for error in row] for row in panel.errors]
        numbers, first = [str(i) for i in range(1, len(names) + 1)], max(map(len, names))
        widths = [max(map(len, (numbers[i], *(row[i] for row in cells[i:])))) for i in range(len(names))]
        for number, name, row in zip(numbers, names, cells, strict=True):
            told = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False))
            yield f"  {number:>{len(numbers[-1])}}  {name:<{first}}  {told}"
        foot = "  ".join(number.rjust(width) for number, width in zip(numbers, widths, strict=True))
        yield f"  {'':>{len(numbers[-1])}}  {'':<{first}}  {foot}"
    for e in errors:
        if len(names) == 1 or e.odd or len(e.attributes) > 2:  # noqa: PLR2004 a cell has two sides
            yield f"  {' x '.join(e.attributes)}: {e.told}"


def _extreme_errors(errors: Sequence[MarginalError]) -> Iterator[str]:
    """Yield the largest and smallest errors of single attributes, the largest of pairs, and those without a number."""
    for every, what in errors_by_size(errors):
        ranked = sorted((e for e in every if not e.odd), key=lambda e: -(e.error or 0.0))
        single = what == "columns"
        cut = ranked if len(ranked) <= 2 * WORST else [*ranked[:WORST], *(ranked[-WORST:] if single else ())]
        if len(cut) < len(ranked):
            best = f" and the {WORST} best" if single else ""
            yield f"  {len(ranked):,} {what}: the {WORST} worst{best}; --json has all"
        yield from (f"  {' x '.join(e.attributes)}: {e.told}" for e in cut)
    yield from (
        f"  {row}" for row in condense_sentences(f"{' x '.join(e.attributes)}: {e.told}" for e in errors if e.odd)
    )


def _labels(decoder: RecodeDecoder) -> Iterator[tuple[str, str]]:
    """Yield the released labels of each generalised attribute's categories."""
    for name, released, groups in zip(decoder.attributes, decoder.released, decoder.groups, strict=True):
        categories = 1 + max(code for group in groups for code in group)
        starred = len(groups) > 1 and released[-1] == ANYTHING and len(groups[-1]) == categories > 1
        plain = groups[:-1] if starred else groups
        if all(len(group) == 1 for group in plain):
            told = f"its {categories} categories unchanged"
        elif len(plain) == 1:
            told = f"one label for all {categories} categories"
        else:
            told = f"{len(plain)} labels for {categories} categories"
        yield name, told + (f", or `{ANYTHING}` for any" if starred else "")


def _unchanged_columns(plan: Plan) -> list[str]:
    """Return the columns that are released unmodified: never touched, or by parameters that change nothing."""
    reasons = {a.release_as: a.why_unchanged for a in plan.policy.released}
    found = [f"{name}: {reason}" if (reason := reasons.get(name)) else name for name in unrandomised_columns(plan)]
    for decoder in plan.channel.decoders():
        if isinstance(decoder, RetentionDecoder) and not decoder.drawn:
            found += [f"{name} (keep probability 1: nobody's value is replaced)" for name in decoder.columns]
        elif isinstance(decoder, RecodeDecoder):
            pairs = zip(decoder.attributes, decoder.groups, strict=True)
            kept = [name for name, groups in pairs if all(len(group) == 1 for group in groups)]
            found += [f"{plan.policy.attributes[name].release_as} (not generalised)" for name in kept]
    return found


def _remark_line(remark: Remark) -> str:
    """Return a remark with its number, unless the text has it."""
    if remark.measure is None or any(sign.isdigit() for sign in remark.text):
        return remark.text
    return f"{remark.text}: {measure_text(remark.measure)}"


def requirement_line(finding: Finding) -> str:
    """Return a requirement with its verdict and the number that decides it."""
    number = "" if finding.achieved is None else f"; achieved {_achieved_text(finding)}"
    return f"  {MARKS[finding.verdict]:<9} {finding.model}: {finding.stated}{number}"


def _achieved_text(finding: Finding) -> str:
    """Return the number achieved; where values have separate limits, one number for each limit."""
    if finding.achieved is None:
        return ""
    rows = (
        f"{measure_text(c.measure)} by {c.of} ({'no limit' if c.limit == 1 else f'limit {c.limit}'})"
        for c in finding.by_limit
    )
    return "; ".join(rows) or measure_text(finding.achieved)


def _finding_lines(
    finding: Finding, stated: RequirementStatement, explained: set[str] | None, whom: str = "people"
) -> list[str]:
    """Return a finding on `whom`, people or records.

    `explained` are the terms that were explained above, and gains its own; None explains none.
    """
    head = f"  {MARKS[finding.verdict]:<9} {finding.model}: {finding.stated}{stated}"
    if finding.achieved is not None:
        head += f"; achieved {_achieved_text(finding)}"
        if finding.limit is not None and not finding.by_limit:
            word = "missed by" if finding.verdict is Verdict.FAILED else "margin"
            head += f", {word} {plain_number(abs(float(finding.limit) - finding.achieved.value), 3)}"
    rows = [f"{head} [{finding.basis.name.lower()}{', conditional' if finding.given else ''}]"]
    if finding.given:
        rows.append(f"{INDENT}conditional on what is derived from the data: {quoted_list(finding.given)}")
    if finding.groups_over:
        rows.append(f"{INDENT}{finding.groups_over:,} groups with {finding.people_over:,} {whom} over the limit")
    return rows + _related_measures(finding.companions, explained)


def _related_measures(companions: Sequence[Companion], explained: set[str] | None) -> list[str]:
    """Return a finding's related measures: a table by value for each attribute, then those of the whole."""
    rest, tables = by_value(companions)
    rows = []
    for table in tables:
        rows += _value_table(table)
        own = [c for c in rest if c.of == table.of]
        rows += [f"{INDENT}  {'; '.join(f'{c.name} {measure_text(c.measure)}' for c in own)}"] if own else []
        rows += _meanings([*(c for _, numbers in table.rows for c in numbers), *own], explained)
    tabled = {table.of for table in tables}
    alone = [companion for companion in rest if companion.of not in tabled]
    of_columns = sorted((c for c in alone if c.name.startswith(V_OF)), key=lambda c: -c.measure.value)
    hidden = of_columns[WORST:]
    for companion in alone:
        if companion not in hidden:
            rows.append(f"{INDENT}related: {related_measure_text(companion)}")
            rows += _meanings([companion], explained)
    if hidden:
        rows.append(f"{INDENT}and {V_OF}{len(hidden):,} more columns, each {measure_text(hidden[0].measure)} or less")
    return rows


def _meanings(companions: Sequence[Companion], explained: set[str] | None) -> list[str]:
    """Return the meaning of each term that was not explained yet."""
    if explained is None:
        return []
    new = {c.name: c.meaning for c in companions if c.meaning and c.name not in explained}
    explained.update(new)
    return [f"{INDENT}  {name}: {meaning}" for name, meaning in new.items()]


def _value_table(table: ValueTable[Companion]) -> list[str]:
    """Return the numbers of each value side by side."""
    rows = [["", *table.names]]
    rows += [
        [visible(value) or "maximum over values", *(measure_text(c.measure) for c in numbers)]
        for value, numbers in table.rows
    ]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [
        "  ".join([row[0].ljust(first), *(cell.rjust(w) for cell, w in zip(row[1:], others, strict=True))])
        for row in rows
    ]
    apart = [f"a stricter limit of the risk may raise `{READ_CORRECTLY}`"] if READ_CORRECTLY in table.names else []
    return [f"{INDENT}related: {table.of}:", *(f"{INDENT}  {line}" for line in (*lines, *apart))]


def _errors(outlook: PlanResult) -> list[str]:
    if not outlook.errors:
        dealt = any(isinstance(d, AnatomyDecoder) for d in outlook.plan.channel.decoders())
        own = not is_built_in(outlook.plan.channel)
        why = "the channel is a plugin's own" if own else "nothing is randomised"
        return [f"  none: {'it depends on how values go with the other columns' if dealt else why}"]
    spread = {name for d in outlook.plan.channel.decoders() if isinstance(d, RecodeDecoder) for name in d.attributes}
    rows = list(_matrix([e for e in outlook.errors if not spread & set(e.attributes)]))
    if spread:
        names = ", ".join(name for name in outlook.plan.policy.attributes if name in spread)
        rows.append(f"  {names}: no random error; counts are spread evenly over the categories of a label, and")
        rows.append(f"{INDENT}`rrpolicy estimate` gives certain bounds")
    return rows
