"""Measures and parameters shared by several requirements or columns, each printed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rrpolicy.plugin import by_value


@dataclass(frozen=True, slots=True)
class MeasureLine:
    """A measure: its name, its meaning, and its number for each of the columns; None if it has no number."""

    name: str
    meaning: str
    numbers: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MeasureGrid:
    """Measures side by side: the values of the columns, "" for the requirement as a whole."""

    of: tuple[str, ...]
    lines: tuple[MeasureLine, ...]


@dataclass(frozen=True, slots=True)
class RelatedMeasures:
    """Related measures of a requirement: tables by value, then one for each set of columns that measures share."""

    tables: tuple[Any, ...]
    grids: tuple[MeasureGrid, ...]


@dataclass(frozen=True, slots=True)
class SharedParameters:
    """Columns with the same treatment: the names of their common parameters."""

    treatment: str
    names: tuple[str, ...]
    panels: tuple[Any, ...]


def group_parameters(panels: Sequence[Any]) -> tuple[SharedParameters, ...]:
    """Return the columns that have parameters, columns with the same names grouped."""
    found: dict[tuple[str, tuple[str, ...]], list[Any]] = {}
    for panel in panels:
        found.setdefault((panel.treatment, tuple(fact.name for fact in panel.parameters)), []).append(panel)
    return tuple(SharedParameters(treatment, names, tuple(alike)) for (treatment, names), alike in found.items())


def shared_measures(findings: Sequence[Any]) -> tuple[MeasureLine, ...]:
    """Return the measures of the whole release that several requirements share, each once."""
    found = [c for row in findings for c in dict.fromkeys(row.companions) if not c.of]
    return tuple(MeasureLine(c.name, c.meaning, (c,)) for c in dict.fromkeys(found) if found.count(c) > 1)


def related_measures(row: Any, findings: Sequence[Any]) -> RelatedMeasures:
    """Return the related measures of one requirement that no other requirement shares."""
    said = {line.numbers[0] for line in shared_measures(findings)}
    rest, tables = by_value([c for c in row.companions if c not in said])
    names = dict.fromkeys(c.name for c in rest)
    columns = {name: tuple(dict.fromkeys(c.of for c in rest if c.name == name)) for name in names}
    grids = []
    for of in dict.fromkeys(columns.values()):
        lines = []
        for name in (name for name in names if columns[name] == of):
            numbers = {c.of: c for c in rest if c.name == name}
            lines.append(
                MeasureLine(name, next(iter(numbers.values())).meaning, tuple(numbers[column] for column in of))
            )
        grids.append(MeasureGrid(of, tuple(lines)))
    return RelatedMeasures(tables, tuple(grids))
