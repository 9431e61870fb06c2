"""Markdown for people: the summary of a step, a comment on a pull request.

Names and texts of a policy are shown literally and are never interpreted as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryPart,
    OutcomeEntry,
    OutcomeKind,
    OutcomeSubject,
)
from rrpolicy.escaping.printable import (
    lines,
    markdown_cell,
    markdown_code,
    markdown_fence,
    markdown_prose,
    quoted_list,
)
from rrpolicy.finding import CONDITION
from rrpolicy.numbers import plain_number
from rrpolicy.wording import (
    CONDITIONAL,
    MET,
    NOT_MET,
    UNDECIDED,
    VERDICT_WORDS,
    WAIVED,
    all_met_sentence,
    counted,
    measure_text,
    some_words,
)

VERDICTS = {
    OutcomeKind.MET: MET,
    OutcomeKind.CONDITIONAL: CONDITIONAL,
    OutcomeKind.FAIL: f"**{NOT_MET}**",
    OutcomeKind.OPEN: UNDECIDED,
    OutcomeKind.ERROR: "**error**",
    OutcomeKind.INFORMATIONAL: VERDICT_WORDS[None],
}
MOST_BYTES = 1_000_000
"""Maximum size: a summary of a step on GitHub may have 1 MiB."""
REQUIREMENT_PARTS = (EntryPart.REQUIREMENT, EntryPart.GATE)


def markdown(outcome: CommandOutcome) -> str:
    """Return an outcome as Markdown."""
    blocks = [f"## rrpolicy {outcome.command}: {outcome.meaning}"]
    for subject in outcome.subjects:
        blocks += _subject(outcome, subject)
    if outcome.next:
        blocks += [
            f"**Next:** {(markdown_code if outcome.next.startswith('rrpolicy ') else markdown_prose)(outcome.next)}"
        ]
    return _truncate(lines("\n\n".join(block for block in blocks if block)) + "\n")


def _truncate(text: str) -> str:
    """Return text that fits a step's summary; a longer one ends with a note on the omitted part."""
    if len(text.encode()) <= MOST_BYTES:
        return text
    kept, size, whole = [], 0, text.splitlines()
    for one in whole:
        size += len(one.encode()) + 1
        if size > MOST_BYTES:
            break
        kept.append(one)
    said = f"{len(whole) - len(kept):,} more lines are left out: a summary has no room for them."
    return "\n".join([*kept, "", said]) + "\n"


def _subject(outcome: CommandOutcome, subject: OutcomeSubject) -> list[str]:
    title = f"### {markdown_prose(f'{subject.name} {subject.version}'.strip())}"
    title += f": {outcome.meaning_of(subject.status)}" if len(outcome.subjects) > 1 else ""
    path = outcome.relative(subject.file) or subject.file
    about = ", ".join(text for text in (markdown_prose(subject.summary), markdown_code(path) if path else "") if text)
    entries = subject.entries
    blocks = [title, about, markdown_prose(headline(entries))]
    blocks += [_requirement_table(outcome, subject, [e for e in entries if e.part in REQUIREMENT_PARTS or e.achieved])]
    blocks += [_check_summary([e for e in entries if e.part is EntryPart.CHECK and not e.achieved])]
    blocks += [_change_summary([e for e in entries if e.part is EntryPart.CHANGE])]
    blocks += [_entry_list("Problems", entries, lambda e: e.part is EntryPart.PROBLEM, _problem_line)]
    blocks += [_entry_list("Points that need judgement", entries, lambda e: e.kind is OutcomeKind.REVIEW, _review_line)]
    blocks += [_entry_list(WAIVED.capitalize(), entries, lambda e: e.waived is not None, _waiver_line)]
    blocks += [_entry_list("Related measures", entries, lambda e: bool(e.beside), _related_line)]
    blocks += [_details_block(note.title, note.lines) for note in subject.notes]
    return blocks


def headline(entries: Sequence[OutcomeEntry]) -> str:
    """Return a sentence on the requirements that are met, and a second one on the limits of that statement."""
    asked = [entry for entry in entries if entry.part in REQUIREMENT_PARTS]
    met = [entry for entry in asked if entry.kind in {OutcomeKind.MET, OutcomeKind.CONDITIONAL}]
    unmet = [entry for entry in asked if entry.blocking and entry.waived is None]
    waiting = [entry for entry in asked if entry.kind is OutcomeKind.OPEN and not entry.blocking]
    told = []
    if unmet:
        told.append(f"{some_words(len(unmet), len(asked), NOT_MET)}.")
    elif asked and len(met) == len(asked):
        privacy = sum(entry.part is EntryPart.REQUIREMENT for entry in asked)
        told.append(f"{all_met_sentence(privacy, len(asked) - privacy)}.")
    elif waiting:
        told.append(f"{some_words(len(waiting), len(asked), 'to be decided with the table')}.")
    conditional = sum(entry.kind is OutcomeKind.CONDITIONAL for entry in asked)
    further = [f"{conditional} conditional on what is derived from the data"] if conditional else []
    left = sum(entry.part is EntryPart.CHECK and entry.kind is OutcomeKind.OPEN for entry in entries)
    further += [f"{counted(left, 'point')} {UNDECIDED}"] if left else []
    waived = sum(entry.waived is not None for entry in entries)
    further += [f"{waived} {WAIVED}"] if waived else []
    points = sum(entry.kind is OutcomeKind.REVIEW for entry in entries)
    further += [f"{counted(points, 'point')} to be judged by a person"] if points else []
    problems = sum(entry.part is EntryPart.PROBLEM for entry in entries)
    further += [counted(problems, "problem")] if problems else []
    text = "; ".join(further)
    return " ".join([*told, *([f"{text[0].upper()}{text[1:]}."] if text else [])])


def _requirement_table(outcome: CommandOutcome, subject: OutcomeSubject, entries: Sequence[OutcomeEntry]) -> str:
    if not entries:
        return ""
    rows = ["| | requirement | achieved | required | standing | where |", "|---|---|---|---|---|---|"]
    for entry in entries:
        verdict = WAIVED if entry.waived is not None else VERDICTS.get(entry.kind, str(entry.kind))
        exactly = entry.limit is not None and entry.achieved is not None and entry.achieved.value == float(entry.limit)
        verdict += ", at the limit" if exactly and entry.kind is OutcomeKind.MET else ""
        achieved = "" if entry.achieved is None else measure_text(entry.achieved)
        standing = "" if entry.achieved is None else str(entry.achieved.standing)
        limit = "" if entry.limit is None else plain_number(float(entry.limit))
        where = "" if entry.place is None else markdown_cell(f"{outcome.path(subject, entry)}:{entry.place.line}")
        rows.append(f"| {verdict} | {markdown_prose(entry.title)} | {achieved} | {limit} | {standing} | {where} |")
    given = [e for e in entries if e.derived]
    notes = [f"- {markdown_prose(e.title)}: {CONDITION} ({markdown_prose(quoted_list(e.derived))})" for e in given]
    notes += [
        f"- {markdown_prose(e.message)}" + (f" ({markdown_prose(e.hint)})" if e.hint else "")
        for e in entries
        if e.blocking
    ]
    return "\n".join([*rows, *(["", *notes] if notes else [])])


def _check_summary(entries: Sequence[OutcomeEntry]) -> str:
    """Return the number of passed checks of each kind, the undecided ones, and folded the unconfirmed ones."""
    held: dict[str, int] = {}
    for entry in entries:
        if entry.kind is OutcomeKind.MET:
            held[entry.rule] = held.get(entry.rule, 0) + 1
    told = [f"- {markdown_prose(rule)}: {counted(number, 'check')} passed" for rule, number in held.items()]
    told += [
        f"- {markdown_prose(entry.message)}"
        for entry in entries
        if entry.kind not in {OutcomeKind.MET, OutcomeKind.INFORMATIONAL}
    ]
    noted = dict.fromkeys(entry.message for entry in entries if entry.kind is OutcomeKind.INFORMATIONAL)
    folded = [_details_block("stated and not verified", tuple(noted))] if noted else []
    return "\n\n".join(["\n".join(told), *folded]).strip()


def _change_summary(entries: Sequence[OutcomeEntry]) -> str:
    if not entries:
        return ""
    rows = ["| | change | what it does |", "|---|---|---|"]
    for entry in entries:
        verdict = WAIVED if entry.waived is not None else markdown_prose(entry.rule)
        rows.append(f"| {verdict} | {markdown_prose(entry.title)} | {markdown_prose(entry.message)} |")
    hints = [
        f"To explain {markdown_code(e.identity)}:\n\n" + markdown_fence(e.hint + "\n", "text")
        for e in entries
        if e.hint
    ]
    return "\n\n".join(["\n".join(rows), *hints]).rstrip()


def _entry_list(
    title: str,
    entries: Iterable[OutcomeEntry],
    wanted: Callable[[OutcomeEntry], bool],
    told: Callable[[OutcomeEntry], str],
) -> str:
    lines = [f"- {told(entry)}" for entry in entries if wanted(entry)]
    return "\n".join([f"**{title}**", "", *lines]) if lines else ""


def _problem_line(entry: OutcomeEntry) -> str:
    where = "" if entry.place is None else f"{markdown_code(str(entry.place))} "
    advice = "; ".join(" ".join(text.split()) for text in entry.advice)
    return f"{where}**{markdown_prose(entry.rule)}** {markdown_prose(entry.message)}" + (
        f" ({markdown_prose(advice)})" if advice else ""
    )


def _review_line(entry: OutcomeEntry) -> str:
    return markdown_prose(entry.message)


def _waiver_line(entry: OutcomeEntry) -> str:
    return f"{markdown_prose(entry.title)}: {markdown_prose(str(entry.waived))}"


def _related_line(entry: OutcomeEntry) -> str:
    return f"{markdown_prose(entry.title)}: {markdown_prose('; '.join(entry.beside))}"


def _details_block(title: str, lines: Sequence[str]) -> str:
    """Return a foldable block of lines; the heading is rrpolicy's text."""
    inner = "\n".join(f"- {markdown_prose(line)}" for line in lines)
    return f"<details><summary>{title[0].upper()}{title[1:]}</summary>\n\n{inner}\n\n</details>"
