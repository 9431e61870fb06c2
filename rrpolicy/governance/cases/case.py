"""The file of tests of a policy: small tables, and the expected results of the policy on each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, ValidationError, model_validator

from rrpolicy.errors import Place, PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.file import PolicyFileTable, SingleLineText
from rrpolicy.policy.rational import Rational
from rrpolicy.policy.tree.document import read_document
from rrpolicy.policy.tree.problems import validation_problems

FOLDER = "tests"
"""Folder next to the policies; `tests/x.toml` and `tests/x/*.toml` are the tests of `x.toml`."""
MOST_REPEATS = 1_000_000


State: TypeAlias = Literal["satisfied", "conditional", "failed", "undecided"]
"""State of an entry of the policy in a test."""


class TableEntry(PolicyFileTable):
    """The table of a test: records written here, a CSV file, or whatever a policy may name."""

    rows: list[dict[str, Any]] | None = Field(None, min_length=1, description="Records: column = value.")
    csv: SingleLineText | None = Field(None, description="A CSV file in UTF-8 with commas, relative to this file.")
    uri: SingleLineText | None = Field(
        None, description="Any table, as [source] names one, relative to this file; read as it is."
    )
    repeat: int = Field(1, ge=1, le=MOST_REPEATS, description="How often each record of `rows` or `csv` stands.")

    @model_validator(mode="after")
    def _one(self) -> TableEntry:
        if sum(given is not None for given in (self.rows, self.csv, self.uri)) != 1:
            raise ValueError("expected one of rows, csv and uri")
        if self.uri is not None and self.repeat > 1:
            raise ValueError("expected `repeat` with rows or csv: a table that is read as it is has its records once")
        return self


class NumberBounds(PolicyFileTable):
    """Bounds of a number."""

    at_least: Rational | None = Field(None, description="The least that it may be.")
    at_most: Rational | None = Field(None, description="The most that it may be.")


class ExpectTable(PolicyFileTable):
    """What is expected of a plan on the table."""

    passes: bool = Field(description="Whether a release would be made.")
    codes: list[SingleLineText] | None = Field(
        None, description="The codes of all that stands in the way, each once; a test that does not pass states them."
    )
    entries: dict[str, State] = Field(
        {}, description="What entries come to, by the names that `plan --json` gives them."
    )
    achieved: dict[str, NumberBounds] = Field({}, description="In which bounds their numbers lie.")

    @model_validator(mode="after")
    def _told(self) -> ExpectTable:
        if not self.passes and not self.codes:
            raise ValueError("expected codes: what does not pass does so for a reason")
        if self.passes and self.codes:
            raise ValueError("expected no codes of what passes")
        return self


class CaseTable(PolicyFileTable):
    """One test."""

    name: SingleLineText = Field(description="What is shown, in a few words.")
    table: TableEntry = Field(description="The records.")
    expect: ExpectTable = Field(description="What the policy says of them.")


class CaseFile(PolicyFileTable):
    """Tests of one policy."""

    test: list[CaseTable] = Field(min_length=1, description="Each is planned by itself.")


@frozen
class Case:
    """One test with its position.

    Attributes:
        folder: that file names are relative to.
    """

    name: str
    table: TableEntry
    expect: ExpectTable
    folder: Path
    place: Place


def load_cases(policy: Path) -> tuple[Case, ...]:
    """Return the tests of a policy, in the order of their files."""
    beside = policy.parent / FOLDER
    files = [beside / policy.name, *sorted((beside / policy.stem).glob("*.toml"))]
    return tuple(case for file in files if file.is_file() for case in _read(file))


def _read(file: Path) -> Iterator[Case]:
    root = read_document(file, str(file))
    try:
        found = CaseFile.model_validate(root.plain())
    except ValidationError as error:
        raise PolicyError(tuple(validation_problems(error, root, CaseFile))) from error
    nodes = root.table["test"].items
    names = [case.name for case in found.test]
    for index, (case, node) in enumerate(zip(found.test, nodes, strict=True)):
        place = node.table["name"].place
        if case.name in names[:index]:
            raise PolicyError(Problem("RR203", f"two tests are called '{case.name}'", place, "a name for each"))
        yield Case(case.name, case.table, case.expect, file.parent, place)
