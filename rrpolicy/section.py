"""A part of the report that a channel or one of its axes brings itself."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fact:
    """A name with its value, as text."""

    name: str = field(metadata={"help": "what is told"})
    value: str = field(metadata={"help": "what it is"})


@dataclass(frozen=True, slots=True)
class Section:
    """A mechanism's own part: paragraphs, facts and a table."""

    title: str = field(metadata={"help": "its heading"})
    paragraphs: tuple[str, ...] = field(default=(), metadata={"help": "plain text"})
    facts: tuple[Fact, ...] = field(default=(), metadata={"help": "names with values"})
    header: tuple[str, ...] = field(default=(), metadata={"help": "column heads of the table"})
    table: tuple[tuple[str, ...], ...] = field(default=(), metadata={"help": "rows of the table"})
