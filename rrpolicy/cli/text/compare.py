"""A comparison as text: the recommendation, tables that fit 80 columns, obstacles, and a numbered legend."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rrpolicy.finding import BOUND_WORDS
from rrpolicy.governance.compare.comparison import CandidateComparison, CandidateResult
from rrpolicy.governance.compare.criteria import ONE_WAY, SHARES, TWO_WAY
from rrpolicy.reports.alternatives import ComparisonQuantity
from rrpolicy.reports.protection_panel import change_text, guess_sentences
from rrpolicy.wording import COMPANION_DIGITS, measure_words

CONFIDENTIAL = "confidential: computed from the original table; nothing was released; do not publish it"


EXTERNAL_INPUTS_NOTE = "the numbers follow from a ledger or from the table of plan_on as well"
NO_DATA = "planned without data: no number describes a table"
WIDTH, HEAD, LABEL = 80, 18, 30
"""Columns of a line, and at most of a heading and of a candidate's name."""
ALWAYS = {
    TWO_WAY: "error of two-column tables",
    ONE_WAY: "error of one-column tables",
    SHARES: "error of shares",
}


def lines(found: CandidateComparison) -> Iterator[str]:
    """Yield the comparison, line by line; it reads without colour."""
    yield from _recommendation_lines(found)
    yield ""
    yield from _wrap_text(CONFIDENTIAL if found.confidential else NO_DATA)
    columns = _columns(found)
    for block in _blocks(columns):
        yield ""
        yield from _block_lines(block)
    yield ""
    for i, one in enumerate((*found.risks, *found.utilities), 1):
        yield from _wrap_text(f"{one.meaning}; {one.better} is better ({one.id})", f"  [{i}] ")
    if found.risk is not None and found.error is not None:
        yield from _wrap_text(
            f"on the Pareto front of {found.risk.id} and {found.error.id}, of those that pass", "  * "
        )
    refused = [(i, row) for i, row in enumerate(found.rows, 1) if row.problems or row.accept or row.unmet]
    if refused:
        yield ""
        for place, row in refused:
            yield from _candidate_notes(place, row)
    if found.unkept:
        yield ""
        told = f"not kept, and planned again by each call: {', '.join(map(str, found.unkept))}; {EXTERNAL_INPUTS_NOTE}"
        yield f"  {told}"
    yield ""
    yield from _wrap_text(found.recommended.rule, "rule: ")


def _recommendation_lines(found: CandidateComparison) -> Iterator[str]:
    """Yield the recommendation, its grade, the increase in right guesses, and the columns released unmodified."""
    told = found.recommended
    if told.candidate is None:
        yield "recommended: none"
    else:
        row = found.rows[told.candidate - 1]
        yield from _wrap_text(f"{told.candidate}, {row.label}", "recommended: ", "  ")
        for text in guess_sentences(row.protection):
            yield from _wrap_text(text, "  ")
        yield from _wrap_text(_unchanged_columns(row), "  released exactly: ", "    ")
    yield from _wrap_text(told.reason, "  ")


def _unchanged_columns(row: CandidateResult) -> str:
    return ", ".join(row.unchanged) or "no column"


def _wrap_text(text: str, first: str = "", further: str | None = None) -> list[str]:
    """Return a text as lines that fit."""
    below = " " * len(first) if further is None else further
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=below, break_on_hyphens=False)


def _name(one: ComparisonQuantity) -> str:
    """Return a requirement or an error in words: its name, and its columns or other options."""
    if one.id in ALWAYS:
        return ALWAYS[one.id]
    name, _, options = one.id.partition("?")
    told = ", ".join(option.partition("=")[2] or option for option in options.split("&") if option)
    return name.rpartition("/")[2].replace("-", " ") + (f" ({told})" if told else "")


def _columns(found: CandidateComparison) -> list[list[list[str]]]:
    """Return each column: the lines of its heading, and of each cell."""
    rows = found.ranked
    told = [
        _column("", [f"{i}{'*' if i in found.front else ''}" for i, _ in rows]),
        _column("candidate", [row.label for _, row in rows], LABEL),
        _column("outcome", [row.became for _, row in rows]),
        _column("protection", ["not known" if r.protection is None else r.protection.grade.value for _, r in rows]),
        _column("released exactly", ["" if row.records is None else _unchanged_columns(row) for _, row in rows]),
    ]
    ladders = [{one.of: one for one in row.protection.ladders} if row.protection else {} for _, row in rows]
    for name in dict.fromkeys(name for each in ladders for name in each):
        cells = [
            change_text(each[name].statistics.guess, each[name].person.guess) if name in each else "not known"
            for each in ladders
        ]
        told.append(_column(f"{name} guessed rightly", cells))
    for i, one in enumerate((*found.risks, *found.utilities), 1):
        told.append(_column(f"[{i}] {_name(one)}", [_number_text(row, one) for _, row in rows]))
    return told


def _number_text(row: CandidateResult, one: ComparisonQuantity) -> str:
    finding = row.findings.get(one.id)
    measure = row.utility.get(one.id) if finding is None else finding.achieved
    if measure is None:
        return "not known"
    given = " (conditional)" if finding is not None and finding.given else ""
    return f"{measure_words(measure, BOUND_WORDS[one.bound], digits=COMPANION_DIGITS)}{given}"


def _column(head: str, cells: Sequence[str], width: int = HEAD) -> list[list[str]]:
    return [textwrap.wrap(text, width, break_on_hyphens=False) or [""] for text in (head, *cells)]


def _column_width(column: Sequence[Sequence[str]]) -> int:
    return max(len(line) for cell in column for line in cell)


def _blocks(columns: Sequence[list[list[str]]]) -> Iterator[list[list[list[str]]]]:
    """Yield tables that fit, each beginning with the numbers of the candidates."""
    first, *rest = columns
    block = [first]
    for column in rest:
        if sum(_column_width(one) + 2 for one in block) + _column_width(column) > WIDTH:
            yield block
            block = [first]
        block.append(column)
    yield block


def _block_lines(block: Sequence[list[list[str]]]) -> Iterator[str]:
    widths = list(map(_column_width, block))
    for cells in zip(*block, strict=True):
        for i in range(max(map(len, cells))):
            line = (cell[i] if i < len(cell) else "" for cell in cells)
            yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


def _candidate_notes(place: int, row: CandidateResult) -> Iterator[str]:
    for problem in row.problems:
        yield from _wrap_text(f"{problem.code}: {problem.message}", f"  {place}  ")
        for name, text in (("expected", problem.expected), ("hint", problem.hint)):
            if text:
                first, *rest = text.rstrip("\n").split("\n")
                yield from _wrap_text(f"{name}: {first}", "     ", "       ")
                yield from (f"       {further}" for further in rest)
    if row.unmet and row.passes:
        told = f"does not meet the requirements of the first candidate's file: {'; '.join(row.unmet)}"
        yield from _wrap_text(told, f"  {place}  ")
    if row.accept is not None:
        yield f"  {place}  needs under [release]: {row.accept}"
