"""JUnit XML: a suite for each policy, a case for each check.

A case that fails has a `failure`, one that is undecided because of an error in policy, call or data an `error`, a
waived one is skipped. A requirement met given derived statistics passes, and names them in its output. Requirements
that `check` leaves to `plan` are skipped, too: they are undecided.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryPart,
    OutcomeEntry,
    OutcomeKind,
    OutcomeSubject,
)
from rrpolicy.escaping.printable import lines, quoted_list
from rrpolicy.wording import UNDECIDED, WAIVED, measure_text

NOTED_KINDS = frozenset({OutcomeKind.REVIEW, OutcomeKind.INFORMATIONAL})
"""Kinds of entries without a check: they are in the suite's output."""
_NO_XML = re.compile("[\ufffe\uffff]")


def junit(outcome: CommandOutcome) -> str:
    """Return an outcome as JUnit XML."""
    root = ET.Element("testsuites", {"name": f"rrpolicy {outcome.command}".strip()})
    for subject in outcome.subjects:
        root.append(_suite(outcome, subject))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(outcome: CommandOutcome, subject: OutcomeSubject) -> ET.Element:
    cases = [_case(outcome, subject, entry) for entry in subject.entries if not _is_noted(entry)]
    name = _text(f"{subject.name} {subject.version}".strip())
    suite = ET.Element("testsuite", {"name": name, "tests": str(len(cases)), "time": "0"})
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    suite.extend(cases)
    told = [f"{entry.part}: {entry.message}" for entry in subject.entries if _is_noted(entry)]
    told += [f"{note.title}: {line}" for note in subject.notes for line in note.lines]
    if told:
        ET.SubElement(suite, "system-out").text = _text("\n".join(told))
    return suite


def _is_noted(entry: OutcomeEntry) -> bool:
    return entry.kind in NOTED_KINDS and entry.waived is None


def _case(outcome: CommandOutcome, subject: OutcomeSubject, entry: OutcomeEntry) -> ET.Element:
    case = ET.Element("testcase", {"classname": _text(subject.name), "name": _text(_name(entry)), "time": "0"})
    relative = outcome.path(subject, entry)
    if relative:
        case.set("file", _text(relative))
    if entry.place is not None:
        case.set("line", str(entry.place.line))
    told = _text("\n".join(filter(None, (_location_text(relative, entry), entry.message, *entry.advice))))
    if entry.waived is not None:
        ET.SubElement(case, "skipped", {"message": _text(str(entry.waived)), "type": WAIVED})
    elif entry.kind is OutcomeKind.ERROR:
        ET.SubElement(case, "error", {"message": _text(entry.message), "type": _text(entry.rule)}).text = told
    elif entry.kind is OutcomeKind.FAIL or entry.blocking:
        kind = UNDECIDED if entry.kind is OutcomeKind.OPEN else entry.rule
        ET.SubElement(case, "failure", {"message": _text(entry.message), "type": _text(kind)}).text = told
    elif entry.kind is OutcomeKind.OPEN:
        ET.SubElement(case, "skipped", {"message": _text(entry.message), "type": UNDECIDED})
    if entry.part is not EntryPart.CHECK and entry.kind in {OutcomeKind.MET, OutcomeKind.CONDITIONAL}:
        ET.SubElement(case, "system-out").text = _text(_measure_text(entry))
    return case


def _name(entry: OutcomeEntry) -> str:
    """Return the stable name of a case: the entry's identity, independent of its limit and its line."""
    return (
        f"{entry.rule} {entry.identity}".strip() if entry.part is EntryPart.PROBLEM else entry.identity or entry.title
    )


def _measure_text(entry: OutcomeEntry) -> str:
    """Return the output of a case that passes."""
    told = [entry.message]
    told += [f"conditional on what is derived from the data: {quoted_list(entry.derived)}"] if entry.derived else []
    told += [f"achieved {measure_text(entry.achieved)} ({entry.achieved.standing})"] if entry.achieved else []
    told += [f"limit {entry.limit}"] if entry.limit is not None else []
    told += [f"decided by {entry.assessor}"] if entry.assessor else []
    return "\n".join(told)


def _location_text(path: str, entry: OutcomeEntry) -> str:
    return "" if entry.place is None else f"{path}:{entry.place.line}:{entry.place.column}"


def _text(text: str) -> str:
    """Return text as XML may contain it: other characters are written as codes."""
    return _NO_XML.sub(lambda found: ascii(found[0])[1:-1], lines(text))
