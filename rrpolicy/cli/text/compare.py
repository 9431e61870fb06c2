"""A comparison as text: one table, then what is in the way, what the columns are, and the recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rrpolicy.govern.compare.comparison import Comparison, Row
from rrpolicy.releasing.report.alternatives import Quantity

CONFIDENTIAL = "confidential: computed from the original table; nothing was released, and none of it may be published"


FROM_MORE = "the numbers follow from a ledger or from the table of plan_on as well"
NO_DATA = "planned without data: nothing here tells of a table"


def lines(found: Comparison) -> Iterator[str]:
    """Yield the comparison, line by line; it reads without colour."""
    yield CONFIDENTIAL if found.confidential else NO_DATA
    yield ""
    yield from _table(found)
    yield ""
    yield from (f"  {name} {one.id}: {one.meaning}; {one.better} is better" for name, one in _columns(found))
    if found.risk is not None and found.error is not None:
        yield f"  * on the Pareto front of {found.risk.id} and {found.error.id}, of those that pass"
    refused = [(i, row) for i, row in enumerate(found.rows, 1) if row.problems or row.accept or row.unmet]
    if refused:
        yield ""
        for place, row in refused:
            yield from _beside(place, row)
    if found.unkept:
        yield ""
        yield f"  not kept, and planned again by each call: {', '.join(map(str, found.unkept))}; {FROM_MORE}"
    yield ""
    told = found.recommended
    chosen = "none" if told.candidate is None else f"{told.candidate}, {found.rows[told.candidate - 1].label}"
    yield f"recommended: {chosen}"
    yield f"  {told.reason}"
    yield f"  {told.rule}"


def _columns(found: Comparison) -> list[tuple[str, Quantity]]:
    risks = [(f"R{i}", one) for i, one in enumerate(found.risks, 1)]
    return risks + [(f"E{i}", one) for i, one in enumerate(found.utilities, 1)]


def _table(found: Comparison) -> Iterator[str]:
    columns = _columns(found)
    cells = [["", "candidate", "outcome", *(name for name, _ in columns)]]
    for place, row in enumerate(found.rows, 1):
        mark = "*" if place in found.front else ""
        cells.append([f"{place}{mark}", row.label, row.outcome.value, *(row.shown(one) for _, one in columns)])
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    yield from (_aligned(line, widths) for line in cells)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _beside(place: int, row: Row) -> Iterator[str]:
    for problem in row.problems:
        yield f"  {place}  {problem.code}: {problem.message}"
        for name, text in (("expected", problem.expected), ("hint", problem.hint)):
            if text:
                first, *rest = text.rstrip("\n").split("\n")
                yield f"     {name}: {first}"
                yield from (f"       {further}" for further in rest)
    if row.unmet and row.passes:
        yield f"  {place}  falls short of what the first candidate's file asks: {'; '.join(row.unmet)}"
    if row.accept is not None:
        yield f"  {place}  asks under [release] for {row.accept}"
