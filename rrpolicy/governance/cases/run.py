"""Reading and running the tests of policies: each small table is planned, the result compared with the expectation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

from msgspec import Struct
from pydantic import Field, ValidationError, model_validator

from rrpolicy.declarations import EMPTY_GOVERNANCE
from rrpolicy.errors import GatedResult, Place, PolicyError, Problem, RRPolicyError
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import Finding, Measure, UtilityFinding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number
from rrpolicy.planning.plan_request import run_plan
from rrpolicy.planning.policy_opening import OpenedPolicy, open_policy
from rrpolicy.policy.baseline.floor import URI_SCHEME
from rrpolicy.policy.file import PolicyFileTable, SingleLineText
from rrpolicy.policy.folder.root import OutsideError, Root
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Policy
from rrpolicy.policy.rational import Rational, rational
from rrpolicy.policy.tree.document import named_policy_files, read_document
from rrpolicy.policy.tree.problems import validation_problems
from rrpolicy.serialization import JsonDocument
from rrpolicy.source.memory.input_table import input_table
from rrpolicy.wording import measure_text

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.memory.kinds import Table


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
        None, description="Any table, as under [source], relative to this file; read unchanged."
    )
    repeat: int = Field(
        1, ge=1, le=MOST_REPEATS, description="How many records each row of `rows` or `csv` represents."
    )

    @model_validator(mode="after")
    def _one(self) -> TableEntry:
        if sum(given is not None for given in (self.rows, self.csv, self.uri)) != 1:
            raise ValueError("expected one of rows, csv and uri")
        if self.uri is not None and self.repeat > 1:
            raise ValueError("expected `repeat` with rows or csv: a table that is read unchanged has no repetition")
        return self


class NumberBounds(PolicyFileTable):
    """Bounds of a number."""

    at_least: Rational | None = Field(None, description="The least that it may be.")
    at_most: Rational | None = Field(None, description="The most that it may be.")


class ExpectTable(PolicyFileTable):
    """Expected result of a plan on the table."""

    passes: bool = Field(description="Whether a release would be made.")
    codes: list[SingleLineText] | None = Field(
        None, description="The codes of all problems, each once; a failing test prints them."
    )
    entries: dict[str, State] = Field({}, description="The values of entries, by their names in `plan --json`.")
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
    expect: ExpectTable = Field(description="What the policy declares of them.")


class CaseFile(PolicyFileTable):
    """Tests of one policy."""

    test: list[CaseTable] = Field(min_length=1, description="Each is planned by itself.")


class Case(Struct, frozen=True):
    """One test with its position.

    Attributes:
        folder: the folder that file names are relative to.
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


def build_case_table(case: Case, policy: Policy, files: Root) -> Table:
    """Return the table of a test.

    A column that the policy drops and the test does not give is numbered from 1: each record is then a separate unit,
    and nothing else is known of it.

    `files` is the folder that a CSV file must be in, like those that the policy names.
    """
    given = case.table
    if given.uri is not None:
        return _path(given.uri, case.folder)
    import numpy as np
    import pyarrow as pa

    records = _csv(case, files) if given.csv is not None else _rows(case)
    repeated = records.take(pa.array(np.repeat(np.arange(len(records)), given.repeat)))
    for attribute in policy.attributes.values():
        if attribute.role.dropped and attribute.name not in repeated.column_names:
            numbers = pa.array(np.arange(1, len(repeated) + 1))
            repeated = repeated.append_column(attribute.name, numbers)
    return cast("Table", repeated)


def _path(uri: str, folder: Path) -> str:
    return uri if URI_SCHEME.match(uri) else str(folder / uri)


def _csv(case: Case, files: Root) -> pa.Table:
    import io

    import pyarrow as pa
    from pyarrow import csv

    assert case.table.csv is not None
    spelled = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    try:
        return csv.read_csv(io.BytesIO(files.read(case.folder / case.table.csv)), convert_options=spelled)
    except OutsideError as error:
        message, expected, hint = files.outside(case.table.csv)
        raise PolicyError(Problem("RR289", f"the test '{case.name}': {message}", case.place, expected, hint)) from error
    except (OSError, ValueError, pa.ArrowInvalid) as error:
        raise _table_error(case, f"the file '{case.table.csv}' cannot be read as CSV") from error


def _rows(case: Case) -> pa.Table:
    import pyarrow as pa

    rows = case.table.rows or []
    columns = {
        name: [_column_value(row.get(name)) for row in rows] for name in dict.fromkeys(n for r in rows for n in r)
    }
    try:
        return pa.table(columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _table_error(case, "a column of `rows` has values of several kinds") from error


def _column_value(value: Any) -> Any:
    """Return a value of TOML as stored in a column; decimals become numbers."""
    return float(rational(value)) if value is not None and type(value).__name__ == "Decimal" else value


def _table_error(case: Case, message: str) -> PolicyError:
    return PolicyError(Problem("RR256", f"the test '{case.name}': {message}", case.place, "a small table"))


Progress = Callable[[str, float], None]


class PolicyTestResult(Struct, GatedResult, frozen=True):
    """One test and its result.

    Attributes:
        unlike: differences from the expectation, in sentences; empty if it passes.
    """

    written: ClassVar[tuple[str, ...]] = ("name", "file", "line", "unlike")

    name: str
    place: Place
    unlike: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the differences from the expectation (RR141)."""
        expected = "what the test expects"
        return tuple(Problem("RR141", f"the test '{self.name}': {text}", self.place, expected) for text in self.unlike)

    @property
    def file(self) -> str:
        """Return the file of the test."""
        return self.place.file

    @property
    def line(self) -> int:
        """Return the line of the test."""
        return self.place.line


class PolicyTestSuite(Struct, GatedResult, frozen=True):
    """The tests of one policy.

    Attributes:
        untested: entries of the policy without a test, by name.
    """

    file: str
    name: str
    version: str
    tried: tuple[PolicyTestResult, ...]
    untested: tuple[str, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the differences from the expectation (RR141)."""
        return tuple(problem for one in self.tried for problem in one.problems)


class PolicyTestReport(JsonDocument, Struct, GatedResult, frozen=True):
    """Results of the tests of some policies."""

    schema: ClassVar[str] = "rrpolicy.test/1"
    policies: tuple[PolicyTestSuite, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the differences from the expectation (RR141)."""
        return tuple(problem for tests in self.policies for problem in tests.problems)


def run(paths: Sequence[Path], root: Path | None, progress: Progress) -> PolicyTestReport:
    """Run the tests of policies; see `rrpolicy.run_tests` for the arguments and errors."""
    files = named_policy_files(paths)
    found = [(file, load_cases(file)) for file in files]
    if not any(cases for _, cases in found):
        message = f"there are no tests next to {quoted_list(map(str, paths))}"
        hint = "put tests of policies/x.toml in policies/tests/x.toml, or in files of policies/tests/x/"
        raise PolicyError(Problem("RR283", message, expected="at least one test", hint=hint))
    total, done, policies = sum(len(cases) for _, cases in found), 0, []
    for file, cases in found:
        made = open_policy(file, root=root)
        tried = []
        for case in cases:
            progress(f"{file.name}: {case.name}", done / total)
            tried.append(_run_case(case, made, Root.of(file, root)))
            done += 1
        named, policy = {n for c in cases for n in (*c.expect.entries, *c.expect.achieved)}, made.policy
        untested = tuple(name for name in _entry_identities(policy) if name not in named)
        policies.append(PolicyTestSuite(str(file), policy.name, policy.version, tuple(tried), untested))
    return PolicyTestReport(tuple(policies))


def _entry_identities(policy: Policy) -> tuple[str, ...]:
    named = entry_identities(policy)
    return (*named.requirements, *named.gates)


def _run_case(case: Case, made: OpenedPolicy, files: Root) -> PolicyTestResult:
    """Plan on a test's table, by the policy unchanged except for its table."""
    try:
        given = input_table(build_case_table(case, made.policy, files))
        # neither the day nor an earlier release affects the result of a test
        policy = replace(made.policy, governance=EMPTY_GOVERNANCE, ledger=None)
        found = run_plan(policy, given, bound=False, waivers=False)
    except RRPolicyError as error:
        if {problem.code for problem in error.problems} & {"RR256", "RR289"}:
            raise
        unlike = _deviations(case.expect, error.problems, {}, _entry_identities(made.policy))
    else:
        entries: dict[str, Finding | UtilityFinding] = {finding.identity: finding for finding in found.findings}
        entries |= {gate.identity: gate for gate in found.utility}
        unlike = _deviations(case.expect, found.problems, entries, _entry_identities(made.policy))
    return PolicyTestResult(case.name, case.place, tuple(unlike))


def _deviations(
    expect: ExpectTable,
    problems: Sequence[Problem],
    entries: Mapping[str, Finding | UtilityFinding],
    known: Sequence[str],
) -> Iterator[str]:
    codes = tuple(dict.fromkeys(problem.code for problem in problems))
    if expect.passes != (not problems):
        told = "; ".join(f"{problem.code} {problem.message}" for problem in problems)
        yield f"expected not to pass ({quoted_list(expect.codes or ())}), and it passes" if not problems else told
    elif set(expect.codes or ()) != set(codes):
        yield f"expected {quoted_list(expect.codes or ())}, and {quoted_list(codes)} is the obstacle"
    for name in (name for name in dict.fromkeys([*expect.entries, *expect.achieved]) if name not in known):
        yield f"the policy has no entry '{name}': it has {quoted_list(known)}"
    for name, state in expect.entries.items():
        if name in known and (came := _entry_state(entries.get(name))) != state:
            yield f"expected {name} to be {state}, and it is {came or 'not reached'}"
    for name, bounds in expect.achieved.items():
        if name in known and (told := _out_of_bounds_message(bounds, _number(entries.get(name)))):
            yield f"expected {name} to be {told}"


def _entry_state(entry: Finding | UtilityFinding | None) -> str | None:
    if entry is None or entry.verdict is None:
        return None
    met = entry.verdict is Verdict.SATISFIED and isinstance(entry, Finding) and entry.given
    return "conditional" if met else entry.verdict.value


def _number(entry: Finding | UtilityFinding | None) -> Measure | None:
    return None if entry is None else entry.achieved if isinstance(entry, Finding) else entry.expected


def _out_of_bounds_message(bounds: NumberBounds, measure: Measure | None) -> str:
    """Return the expectation on a number and its value; None if it is within its bounds."""
    low, high = bounds.at_least, bounds.at_most
    value = None if measure is None else measure.value
    if value is not None and (low is None or value >= low) and (high is None or value <= high):
        return ""
    limits = [
        f"{word} {plain_number(float(limit))}"
        for word, limit in (("at least", low), ("at most", high))
        if limit is not None
    ]
    return f"{' and '.join(limits)}, and it is {'nothing' if measure is None else measure_text(measure)}"
