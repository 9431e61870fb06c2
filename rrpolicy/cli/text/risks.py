"""Risks of a table as text: each number with its standing, and related measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.finding import Companion, Standing, ValueTable, by_value
from rrpolicy.numbers import percent
from rrpolicy.wording import measure_text, related_measure_text

if TYPE_CHECKING:
    from rrpolicy.finding import Finding

_LEVELS = 5
"""Number of listed values of an attribute, those that contribute most first; documents contain all."""
_INDENT = " " * 12
_MAX_VALUES = ("Estimated", "Standard errors")
"""Beginnings of the assumptions that are printed; documents contain all."""


def lines(risks: Sequence[Finding]) -> list[str]:
    """Return the risks, line by line; nothing without risks."""
    if not risks:
        return []
    text = ["risks of records, without a limit"]
    width = max(len(found.model) for found in risks)
    numbers = ["" if f.achieved is None else measure_text(f.achieved).removesuffix(" (estimate)") for f in risks]
    wide = max(len(number) for number in numbers)
    for found, number in zip(risks, numbers, strict=True):
        estimated = found.achieved is not None and found.achieved.standing is Standing.ESTIMATE
        text.append(
            f"  {'estimate' if estimated else 'exact':<9} {found.model:<{width}}  {number:<{wide}}  {found.requirement}"
        )
        whole, tables = by_value(found.companions)
        text += [f"{_INDENT}{related_measure_text(item)}" for item in whole]
        text += [f"{_INDENT}{line}" for table in tables for line in _by_value(table)]
    rests = dict.fromkeys(rest for found in risks for rest in found.assumptions if rest.startswith(_MAX_VALUES))
    return text + [f"note: {rest[0].lower()}{rest[1:].rstrip('.')}" for rest in rests]


def _by_value(table: ValueTable[Companion]) -> Iterator[str]:
    """Yield the line of an attribute: its contribution, and the values that contribute most of it."""
    whole = next((numbers for value, numbers in table.rows if not value), ())
    values = sorted(((numbers[0].measure.value, value) for value, numbers in table.rows if value), reverse=True)
    listed = ", ".join(f"{value} {percent(share)}" for share, value in values[:_LEVELS])
    more = f", and {len(values) - _LEVELS} more" if len(values) > _LEVELS else ""
    share = f"{percent(whole[0].measure.value)}, of which " if whole else ""
    yield f"{table.names[0]} of {table.of}: {share}{listed}{more}"
