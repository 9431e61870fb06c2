"""The expected errors of one-way and two-way shares, for plots of the pages and the output of plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.numbers import figure
from rrpolicy.planning.plan_result import MAX_PAIRS
from rrpolicy.report import Fact, PairPanel

if TYPE_CHECKING:
    from rrpolicy.planning.plan import MarginalError

GOOD, ROUGH, UNUSABLE = "Good", "Rough", "Not usable"
"""Usability of one-way and two-way tables."""
CLOSE = 0.25
"""Share of the error of equal shares, which need no estimate, up to which a table is good."""
MOST_NAMED = 6
"""Maximum number of tables that are listed."""


def pair_panel(errors: Iterable[MarginalError]) -> PairPanel | None:
    """Return the errors of attributes and of pairs as a triangle; None without any number."""
    every = [e for e in errors if len(e.attributes) <= 2]  # noqa: PLR2004 a cell has two sides
    known = {frozenset(e.attributes): e.error for e in every if not e.odd}
    if not known:
        return None
    names = tuple(dict.fromkeys(name for e in every if not e.odd for name in e.attributes))
    rows = tuple(
        tuple(known.get(frozenset({row, column})) for column in names[: place + 1]) for place, row in enumerate(names)
    )
    impossible = tuple(e.attributes for e in every if e.error is not None and math.isinf(e.error))
    return PairPanel(names, rows, impossible, tuple(_unusable_table_sentences(every)), tuple(_usability_facts(every)))


def _usability_facts(errors: Sequence[MarginalError]) -> Iterator[Fact]:
    """Yield which one-way and two-way tables are good, rough or not usable, by their errors."""
    of: dict[str, list[str]] = {GOOD: [], ROUGH: [], UNUSABLE: []}
    for error in errors:
        if error.error is not None:
            word = UNUSABLE if error.useless or error.odd else GOOD if error.relative <= CLOSE else ROUGH
            of[word].append(" x ".join(error.attributes))
    every = sum(map(len, of.values()))
    for word, tables in of.items():
        if tables:
            more = f" and {len(tables) - MOST_NAMED:,} more" if len(tables) > MOST_NAMED else ""
            yield Fact(f"{word} ({len(tables):,} of {every:,})", f"{', '.join(tables[:MOST_NAMED])}{more}")


def _unusable_table_sentences(errors: Sequence[MarginalError]) -> Iterator[str]:
    """Yield the number of columns and pairs whose estimated shares are less accurate than equal shares."""
    for every, what in errors_by_size(errors):
        lost = sorted((e for e in every if e.useless), key=lambda e: -(e.error or 0.0))
        if lost:
            worst = " x ".join(lost[0].attributes)
            many = "all" if len(lost) == len(every) else f"{figure(len(lost))} of"
            yield (
                f"{many} {figure(len(every))} {what} cannot be used: estimates are expected to be worse than assuming "
                f"equal shares ({worst} first); more records, fewer or coarser columns, or generalisation would help"
            )


def errors_by_size(errors: Sequence[MarginalError]) -> Iterator[tuple[list[MarginalError], str]]:
    """Yield the errors of single columns, then of pairs, with their name; of very many pairs only some are measured."""
    yield [e for e in errors if len(e.attributes) == 1], "columns"
    pairs = [e for e in errors if len(e.attributes) == 2]  # noqa: PLR2004 a pair
    yield pairs, "measured pairs of columns" if len(pairs) >= MAX_PAIRS else "pairs of columns"


def has_usable_tables(errors: Sequence[MarginalError]) -> bool:
    """Return whether some one-way and some two-way table with a known error is better than equal shares."""
    for every, _ in errors_by_size(errors):
        known = [e for e in every if e.error is not None]
        if known and all(e.useless or e.odd for e in known):
            return False
    return True


def single_column_errors(errors: Sequence[MarginalError]) -> dict[str, float]:
    """Return the error of each single column; infinite if it cannot be estimated."""
    return {e.attributes[0]: e.error for e in errors if len(e.attributes) == 1 and e.error is not None}
