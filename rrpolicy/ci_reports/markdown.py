"""Markdown for people: the summary of a step, a comment on a pull request.

Names and texts of a policy are shown as they are and become nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rrpolicy.ci_reports.outcome import Entry, Kind, Outcome, Part, Subject
from rrpolicy.escaping.markdown import cell, code, fenced, prose
from rrpolicy.escaping.printable import lines, listed
from rrpolicy.planning.gate import shown

VERDICTS = {
    Kind.MET: "met",
    Kind.CONDITIONAL: "met, conditional",
    Kind.FAIL: "**fails**",
    Kind.OPEN: "undecided",
    Kind.ERROR: "**error**",
    Kind.INFORMATIONAL: "measured",
}
MOST_BYTES = 1_000_000
"""A summary of a step on GitHub may have 1 MiB."""
ASKED = (Part.REQUIREMENT, Part.GATE)


def markdown(outcome: Outcome) -> str:
    """Return an outcome as Markdown."""
    blocks = [f"## rrpolicy {outcome.command}: {outcome.meaning}"]
    for subject in outcome.subjects:
        blocks += _subject(outcome, subject)
    if outcome.next:
        blocks += [f"**Next:** {(code if outcome.next.startswith('rrpolicy ') else prose)(outcome.next)}"]
    return _fitting(lines("\n\n".join(block for block in blocks if block)) + "\n")


def _fitting(text: str) -> str:
    """Return text that a step's summary can hold; what is left out of a longer one is said."""
    if len(text.encode()) <= MOST_BYTES:
        return text
    kept, size, whole = [], 0, text.splitlines()
    for one in whole:
        size += len(one.encode()) + 1
        if size > MOST_BYTES:
            break
        kept.append(one)
    said = f"{len(whole) - len(kept):,} lines more are left out: a summary cannot hold them."
    return "\n".join([*kept, "", said]) + "\n"


def _subject(outcome: Outcome, subject: Subject) -> list[str]:
    title = f"### {prose(f'{subject.name} {subject.version}'.strip())}"
    title += f": {outcome.meaning_of(subject.status)}" if len(outcome.subjects) > 1 else ""
    path = outcome.relative(subject.file) or subject.file
    about = ", ".join(text for text in (prose(subject.summary), code(path) if path else "") if text)
    entries = subject.entries
    blocks = [title, about, prose(headline(entries))]
    blocks += [_asked(outcome, subject, [e for e in entries if e.part in ASKED or e.achieved])]
    blocks += [_checks([e for e in entries if e.part is Part.CHECK and not e.achieved])]
    blocks += [_changes([e for e in entries if e.part is Part.CHANGE])]
    blocks += [_listed("Problems", entries, lambda e: e.part is Part.PROBLEM, _problem)]
    blocks += [_listed("Points that need judgement", entries, lambda e: e.kind is Kind.REVIEW, _judgement)]
    blocks += [_listed("Waived", entries, lambda e: e.waived is not None, _waived)]
    blocks += [_listed("Related measures", entries, lambda e: bool(e.beside), _beside)]
    blocks += [_folded(note.title, note.lines) for note in subject.notes]
    return blocks


def headline(entries: Sequence[Entry]) -> str:
    """Return in a sentence what holds, and in a second one what that does not cover."""
    asked = [entry for entry in entries if entry.part in ASKED]
    met = [entry for entry in asked if entry.kind in {Kind.MET, Kind.CONDITIONAL}]
    unmet = [entry for entry in asked if entry.blocking and entry.waived is None]
    waiting = [entry for entry in asked if entry.kind is Kind.OPEN and not entry.blocking]
    told = []
    if unmet:
        told.append(f"{_of(unmet, asked)} not met.")
    elif asked and len(met) == len(asked):
        parts = [(Part.REQUIREMENT, "privacy requirement"), (Part.GATE, "utility requirement")]
        told.append(f"{_all([(sum(e.part is part for e in asked), name) for part, name in parts])} met.")
    elif waiting:
        told.append(f"{_of(waiting, asked)} to be decided with the table.")
    conditional = sum(entry.kind is Kind.CONDITIONAL for entry in asked)
    further = [f"{conditional} conditional on what is derived from the data"] if conditional else []
    left = sum(entry.part is Part.CHECK and entry.kind is Kind.OPEN for entry in entries)
    further += [f"{_count(left, 'point')} undecided"] if left else []
    waived = sum(entry.waived is not None for entry in entries)
    further += [f"{waived} waived"] if waived else []
    points = sum(entry.kind is Kind.REVIEW for entry in entries)
    further += [f"{_count(points, 'point')} to be judged by a person"] if points else []
    problems = sum(entry.part is Part.PROBLEM for entry in entries)
    further += [_count(problems, "problem")] if problems else []
    text = "; ".join(further)
    return " ".join([*told, *([f"{text[0].upper()}{text[1:]}."] if text else [])])


def _all(parts: Sequence[tuple[int, str]]) -> str:
    """Return that all are, such as `Both privacy requirements and the utility requirement are`."""
    words = [
        {1: f"the {name}", 2: f"both {name}s"}.get(number, f"all {number} {name}s") for number, name in parts if number
    ]
    said = " and ".join(words)
    return f"{said[0].upper()}{said[1:]} {'is' if sum(number for number, _ in parts) == 1 else 'are'}"


def _of(some: Sequence[Entry], asked: Sequence[Entry]) -> str:
    return f"{len(some)} of {_count(len(asked), 'requirement')} {'is' if len(some) == 1 else 'are'}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _asked(outcome: Outcome, subject: Subject, entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    rows = ["| | requirement | achieved | required | standing | where |", "|---|---|---|---|---|---|"]
    for entry in entries:
        verdict = "waived" if entry.waived is not None else VERDICTS.get(entry.kind, str(entry.kind))
        exactly = entry.limit is not None and entry.achieved is not None and entry.achieved.value == float(entry.limit)
        verdict += ", at the limit" if exactly and entry.kind is Kind.MET else ""
        achieved = "" if entry.achieved is None else shown(entry.achieved)
        standing = "" if entry.achieved is None else str(entry.achieved.standing)
        limit = "" if entry.limit is None else f"{float(entry.limit):g}"
        path = subject.path(entry)
        where = "" if entry.place is None else cell(f"{outcome.relative(path) or path}:{entry.place.line}")
        rows.append(f"| {verdict} | {prose(entry.title)} | {achieved} | {limit} | {standing} | {where} |")
    given = [e for e in entries if e.derived]
    notes = [f"- {prose(e.title)}: given the published parameters ({prose(listed(e.derived))})" for e in given]
    notes += [f"- {prose(e.message)}" + (f" ({prose(e.hint)})" if e.hint else "") for e in entries if e.blocking]
    return "\n".join([*rows, *(["", *notes] if notes else [])])


def _checks(entries: Sequence[Entry]) -> str:
    """Return how many checks of each kind hold, what stays undecided, and folded what nothing confirms."""
    held: dict[str, int] = {}
    for entry in entries:
        if entry.kind is Kind.MET:
            held[entry.rule] = held.get(entry.rule, 0) + 1
    told = [f"- {prose(rule)}: {_count(number, 'check')} passed" for rule, number in held.items()]
    told += [f"- {prose(entry.message)}" for entry in entries if entry.kind not in {Kind.MET, Kind.INFORMATIONAL}]
    noted = dict.fromkeys(entry.message for entry in entries if entry.kind is Kind.INFORMATIONAL)
    folded = [_folded("stated and not verified", tuple(noted))] if noted else []
    return "\n\n".join(["\n".join(told), *folded]).strip()


def _changes(entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    rows = ["| | change | what it does |", "|---|---|---|"]
    for entry in entries:
        verdict = "waived" if entry.waived is not None else prose(entry.rule)
        rows.append(f"| {verdict} | {prose(entry.title)} | {prose(entry.message)} |")
    hints = [f"To explain {code(e.identity)}:\n\n" + fenced(e.hint + "\n", "text") for e in entries if e.hint]
    return "\n\n".join(["\n".join(rows), *hints]).rstrip()


def _listed(title: str, entries: Iterable[Entry], wanted: Callable[[Entry], bool], told: Callable[[Entry], str]) -> str:
    lines = [f"- {told(entry)}" for entry in entries if wanted(entry)]
    return "\n".join([f"**{title}**", "", *lines]) if lines else ""


def _problem(entry: Entry) -> str:
    where = "" if entry.place is None else f"{code(str(entry.place))} "
    told = (entry.expected and f"expected: {entry.expected}", entry.hint and f"hint: {entry.hint}")
    advice = "; ".join(" ".join(text.split()) for text in told if text)
    return f"{where}**{prose(entry.rule)}** {prose(entry.message)}" + (f" ({prose(advice)})" if advice else "")


def _judgement(entry: Entry) -> str:
    return prose(entry.message)


def _waived(entry: Entry) -> str:
    return f"{prose(entry.title)}: {prose(str(entry.waived))}"


def _beside(entry: Entry) -> str:
    return f"{prose(entry.title)}: {prose('; '.join(entry.beside))}"


def _folded(title: str, lines: Sequence[str]) -> str:
    """Return lines that a reader opens; the heading is rrpolicy's own."""
    inner = "\n".join(f"- {prose(line)}" for line in lines)
    return f"<details><summary>{title[0].upper()}{title[1:]}</summary>\n\n{inner}\n\n</details>"
