"""Risk measures of an anonymised table from another source: equivalence classes counted in one pass.

`check-table` reads a foreign table by its policy, else by the format detected in the file.

A policy describes the original; the table at hand may be a copy in the same spelling, or a release, which has commas
and UTF-8. If the columns are found with `[source.csv]`, it applies; otherwise the format is detected in the file.
"""

from __future__ import annotations

import csv
import difflib
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.declarations import Role
from rrpolicy.drafting.detection import csv_path, detected_settings, is_csv
from rrpolicy.engine.column_types import TypeFamily
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import DataError, GatedResult, PolicyError, Problem
from rrpolicy.escaping import formulas
from rrpolicy.finding import Finding
from rrpolicy.formats.format import CORE_FORMATS
from rrpolicy.frozen import replace
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.planning.gate import blocking_problems
from rrpolicy.policy.model import PLAIN, Attribute, CsvSettings, Policy, Reading, Requirement
from rrpolicy.privacy.classes.class_counts import ClassCounts, CountedColumn, count_classes, count_unit_classes
from rrpolicy.registry import Registry
from rrpolicy.serialization import JsonDocument
from rrpolicy.source.duckdb.delimited import readable_text_file
from rrpolicy.source.opening import engine_for_uri, open_table_snapshot
from rrpolicy.table_risk.measure import Measurer, class_models
from rrpolicy.table_risk.risks import (
    NO_POPULATION,
    PopulationOptions,
    ReferencePeople,
    class_population,
    distinct_combinations,
    population_risks,
    read_reference_people,
    survey_design_remarks,
)

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.unit_classes import UnitClasses
    from rrpolicy.source.duckdb.snapshot import TableSnapshot


def unescaped_snapshot(snapshot: TableSnapshot, uri: str) -> TableSnapshot:
    """Return the table; in a CSV file listed in an adjacent release.json, escape characters of text are removed."""
    path = Path(uri.removeprefix("csv:"))
    try:
        manifest = read_release(path.parent)
    except PolicyError:
        return snapshot  # it is in no bundle
    stated = manifest.data.tables
    here = (t for t in manifest.tables if t.name in stated and stated[t.name].files == (path.name,))
    escaped = (c.name for table in here for c in table.columns if manifest.escaped(c))
    names = [identifier(name) for name in escaped if name in snapshot.stored]
    if not names:
        return snapshot
    replaced = ", ".join(f"{formulas.unescape_formula_sql(name)} AS {name}" for name in names)
    return replace(snapshot, source=f"(SELECT * REPLACE ({replaced}) FROM {snapshot.source})")  # noqa: S608 quoted


_TOLD = {"delimiter": "delimiter {!r}", "encoding": "encoding {}", "decimal": "decimal {!r}", "quote": "quotes {}"}


def table_reading(
    uri: str, policy: Policy | None, columns: Collection[str], scratch: Path
) -> tuple[Reading, str | None]:
    """Return the settings to read a table with, and a remark on them; the caller wipes `scratch`."""
    reading = PLAIN if policy is None else Reading(of=dict(_missing_codes_by_column(policy)))
    if not is_csv(uri):
        return reading, None
    stated = CsvSettings() if policy is None else policy.source.csv
    if stated != CsvSettings() and set(_csv_column_names(csv_path(uri), stated, scratch)) & set(columns):
        return replace(reading, csv=stated), None
    found = detected_settings(uri)
    return replace(reading, csv=found), _csv_settings_text(found)


def _missing_codes_by_column(policy: Policy) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield the codes of missing values by column, under its old and its new name; categories are excluded."""
    for attribute in policy.attributes.values():
        codes = policy.reading.codes(attribute.name)
        told = tuple(code for code in codes if code not in (attribute.domain or ()))
        yield from ((name, told) for name in dict.fromkeys((attribute.name, attribute.release_as)) if name and told)


def _csv_column_names(path: str, settings: CsvSettings, scratch: Path) -> list[str]:
    """Return the column names of a file if it is read with these settings; empty if it cannot be read."""
    try:
        return readable_text_file(path, settings, scratch).header()[0]
    except (UnicodeError, csv.Error, OSError, EOFError, zlib.error, DataError):
        return []


def _csv_settings_text(found: CsvSettings) -> str | None:
    """Return the settings of a CSV file in words where they differ from the default."""
    plain = CsvSettings()
    told = [
        words.format(getattr(found, key)) for key, words in _TOLD.items() if getattr(found, key) != getattr(plain, key)
    ]
    told += [f"{found.skip} lines before the header"] if found.skip else []
    return f"read with the file's {', '.join(told)}" if told else None


LOOKED_AT = 2048
"""Number of first records that must all have the form of a list for a text column to be read as lists."""


class TableRiskRequest(Struct, frozen=True):
    """A request to measure a table.

    Attributes:
        uri: uri of the table.
        table: inside a database.
        known: the columns that define a class, also several with commas between; None for those of the policy.
        sensitive: the columns counted in each class, likewise.
        policy: source of roles, the order of sensitive values, their hierarchies, and requirements.
        requirements: requirements in addition to the policy's; without any, everything is measured.
        suppressed: the text of a suppressed value; records with it in all known columns are in no class. None if they
            form a class like any other.
        said: description of the population, and the risks to measure.
        unit: the column that identifies units of several records; None for that of the policy, if it admits several.
    """

    uri: str
    table: str | None = None
    known: tuple[str, ...] | None = None
    sensitive: tuple[str, ...] | None = None
    policy: Policy | None = None
    requirements: tuple[Requirement, ...] = ()
    suppressed: str | None = None
    said: PopulationOptions = NO_POPULATION
    unit: str | None = None

    def unit_of(self, snapshot: TableSnapshot) -> str | None:
        """Return the column that identifies units (RR311 if it is absent); None if each record is one."""
        if self.unit is not None:
            require_scalar_columns([self.unit], snapshot)
            return self.unit
        several = self.policy is not None and self.policy.source.max_records > 1
        named = self.policy.unit if self.policy is not None and several else None
        return named if named in snapshot.stored else None

    @property
    def named(self) -> frozenset[str]:
        """Return the columns that the call or the policy names; commas separate names."""
        given = [part for name in (*(self.known or ()), *(self.sensitive or ())) for part in (name, *name.split(","))]
        released = self.policy.released if self.policy else ()
        return frozenset([*map(str.strip, given), *(n for a in released for n in (a.name, a.release_as) if n)])


class TableCheck(JsonDocument, Struct, GatedResult, frozen=True):
    """Risk measures of a table.

    Attributes:
        name: the table, as messages name it.
        records: rows, suppressed ones included.
        classes: equivalence classes.
        suppressed: records in no class.
        known: the columns that define a class.
        sensitive: the columns counted in each.
        findings: each with a limit, or measured.
        remarks: information needed to read them.
        risks: measured for records and for the population; without limits.
        unit: the column that identifies units of several records, which the findings count; None if they count records.
    """

    schema: ClassVar[str] = "rrpolicy.check-table/1"
    sparse: ClassVar[tuple[str, ...]] = ("unit",)
    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"name": "table", "known": "quasi_identifiers"})

    name: str
    records: int
    classes: int
    suppressed: int
    known: tuple[str, ...]
    sensitive: tuple[str, ...]
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    risks: tuple[Finding, ...] = ()
    unit: str | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the thresholds that are not met (RR101), and those that an estimate may not decide (RR103)."""
        return blocking_problems([finding for finding in self.findings if finding.verdict is not None], ())


def measure_table(asked: TableRiskRequest, registry: Registry, scratch: Path) -> TableCheck:
    """Count a table's classes once and measure them; the caller wipes `scratch`.

    Raises `PolicyError` (RR250) if the call is contradictory, `DataError` (RR300 to RR309) if the table cannot be
    read, RR311 if it lacks a column, RR312 if it contains lists, RR313 if a value has no place in an order or
    hierarchy, RR317 if there are no records, RR337 if the description of the population does not fit; RR144 and RR314
    if records have no weight, stratum or cluster although the policy names these columns.
    """
    with open_groupable_table(asked, registry, scratch) as (snapshot, spelled):
        columns = TableColumns.of(asked, snapshot)
        reference = read_reference_people(asked.said, columns.known, snapshot, registry, scratch)
        found = columns.count(snapshot, asked, {}, reference)
        if not found.classes.records + found.classes.suppressed:
            message = f"{snapshot.name}: the table has no records, and nothing can be checked"
            raise DataError(Problem("RR317", message, expected="at least one record"))
        measurer = Measurer(registry, columns.attributes, {n: snapshot.stored[n].family for n in columns.sensitive})
        told = class_models(registry)
        stated = () if asked.policy is None else asked.policy.requirements
        required = [*asked.requirements, *(r for r in stated if r.model in told)]
        findings: list[Finding] = []
        for requirement in required:
            tallied = columns.count(snapshot, asked, requirement.where, reference) if requirement.where else found
            findings += measurer.hold(requirement, tallied, columns.sensitive)
        if not required:
            findings += measurer.measure(found, columns.sensitive)
        measured: tuple[Finding, ...] = ()
        if asked.said.anything or not required:
            combined = distinct_combinations(asked.said, columns.known, snapshot, columns.left_out(snapshot, asked))
            measured = tuple(population_risks(found, asked.said, combined))
        surveyed = (
            () if asked.policy is None else survey_design_remarks(asked.policy, snapshot, weighed=asked.said.weighs)
        )
        unit = asked.unit_of(snapshot)
        units = () if found.units is None else (_units_remark(found.units, unit),)
        remarks = [*((spelled,) if spelled else ()), *units, *columns.remarks(asked, snapshot), *surveyed]
        others = dict.fromkeys(r.model for r in stated if r.model not in told)
        if others:
            remarks.append(
                f"not checked here, as a table alone or the model does not determine them: {', '.join(others)}"
            )
        snapshot.unchanged()
    classes = found.classes
    return TableCheck(
        snapshot.name.strip("'"),
        classes.records + classes.suppressed,
        len(classes.sizes),
        classes.suppressed,
        columns.known,
        columns.sensitive,
        tuple(findings),
        tuple(remarks),
        measured,
        unit,
    )


@contextmanager
def open_groupable_table(
    asked: TableRiskRequest, registry: Registry, scratch: Path
) -> Iterator[tuple[TableSnapshot, str | None]]:
    """Open a table whose records can be grouped, with a remark on the file format; RR300 to RR309 if unreadable."""
    from rrpolicy.source.duckdb.snapshot import TableSnapshot, one_record_of_each

    _require_file(asked.uri)
    source, uri = engine_for_uri(asked.uri, registry.sources, Path())
    reading, spelled = table_reading(uri, asked.policy, asked.named, scratch)
    with open_table_snapshot(source, uri, asked.table, scratch, reading) as opened:
        if not isinstance(opened, TableSnapshot):
            raise DataError(Problem("RR301", "this engine's tables cannot be grouped", expected="a file or a database"))
        selection = None if asked.policy is None else asked.policy.selection
        selects = selection is not None and {selection.unit, selection.by} <= opened.stored.keys()  # no released table
        read = one_record_of_each(opened, selection) if selection is not None and selects else opened
        yield unescaped_snapshot(read.one_by_one, uri), spelled


class TableColumns(Struct, frozen=True):
    """The table's columns that define a class or are counted in it, and the policy's attributes by column.

    `lacking` are known attributes of the policy that the table does not have.
    """

    known: tuple[str, ...]
    sensitive: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    lacking: tuple[str, ...]

    @classmethod
    def of(cls, asked: TableRiskRequest, snapshot: TableSnapshot) -> TableColumns:
        """Find the columns that the call or the policy names."""
        attributes: dict[str, Attribute] = {}
        lacking = []
        for attribute in asked.policy.released if asked.policy else ():
            there = [name for name in (attribute.release_as, attribute.name) if name in snapshot.stored]
            if there:
                attributes[there[0]] = attribute
            elif attribute.role is Role.QUASI_IDENTIFIER:
                lacking.append(attribute.name)
        known = _split_names(asked.known, snapshot)
        if known is None:
            linking = asked.policy.linking if asked.policy else ()
            known = tuple(name for name, attribute in attributes.items() if attribute in linking)
        sensitive = _split_names(asked.sensitive, snapshot)
        if sensitive is None:
            sensitive = tuple(n for n, a in attributes.items() if a.role is Role.SENSITIVE and n not in known)
        _require_valid_columns(known, sensitive, snapshot)
        return cls(known, sensitive, attributes, tuple(lacking) if asked.known is None else ())

    def count(
        self,
        snapshot: TableSnapshot,
        asked: TableRiskRequest,
        where: Mapping[str, Value],
        reference: ReferencePeople | None,
    ) -> ClassCounts:
        """Count the classes, and their people; those that may contain a record of a subgroup are marked."""
        stored, labels = snapshot.stored, {name: a.domain for name, a in self.attributes.items()}
        cursor = snapshot.connection.cursor()
        known = [stored[name].typed for name in self.known] if reference is None else reference.known(cursor)
        counted = count_classes(
            cursor,
            snapshot.source,
            known,
            [CountedColumn(name, stored[name].typed, labels.get(name)) for name in self.sensitive],
            concerned=" AND ".join(self._within(name, value, snapshot) for name, value in where.items()) or None,
            suppressed=self.left_out(snapshot, asked),
            weight=asked.said.weight(snapshot),
            population=None if reference is None else reference.name,
        )
        people = class_population(asked.said, counted, reference, snapshot.name)
        return replace(
            counted,
            classes=replace(counted.classes, population=people),
            units=self._count_units(snapshot, asked, where),
        )

    def _count_units(
        self, snapshot: TableSnapshot, asked: TableRiskRequest, where: Mapping[str, Value]
    ) -> UnitClasses | None:
        """Count the classes of units; None if each record is one. RR324 if a record is of no unit."""
        unit = asked.unit_of(snapshot)
        if unit is None:
            return None
        stored, labels = snapshot.stored, {name: a.domain for name, a in self.attributes.items()}
        cursor = snapshot.connection.cursor()
        query = f"SELECT count(*) FROM {snapshot.source} WHERE {stored[unit].typed} IS NULL"  # noqa: S608 quoted
        missing = int(cursor.execute(query).fetchall()[0][0])
        if missing:
            have = "1 record has" if missing == 1 else f"{missing:,} records have"
            raise DataError(Problem("RR324", f"{have} no '{unit}'", expected="the unit of every record"))
        return count_unit_classes(
            cursor,
            snapshot.source,
            stored[unit].typed,
            [stored[name].typed for name in self.known],
            [CountedColumn(name, stored[name].typed, labels.get(name)) for name in self.sensitive],
            " AND ".join(self._within(name, value, snapshot) for name, value in where.items()) or None,
            self.left_out(snapshot, asked),
        )

    def left_out(self, snapshot: TableSnapshot, asked: TableRiskRequest) -> str | None:
        """Return an SQL condition that is true for records in no class; None if every record is in a class."""
        if asked.suppressed is None or not self.known:
            return None
        return " AND ".join(
            f"CAST({snapshot.stored[name].typed} AS VARCHAR) = {literal(asked.suppressed)}" for name in self.known
        )

    def remarks(self, asked: TableRiskRequest, snapshot: TableSnapshot) -> list[str]:
        """Return the information needed to read the findings."""
        said = []
        if asked.suppressed is None and self.known:
            texts = [f"CAST({snapshot.stored[name].typed} AS VARCHAR) = '*'" for name in self.known]
            row = snapshot.connection.cursor().execute(
                f"SELECT count(*) FROM {snapshot.source} WHERE {' AND '.join(texts)}"  # noqa: S608 quoted
            )
            stars = int(row.fetchall()[0][0])
            if stars:
                said.append(
                    f"{stars:,} records have '*' in every column that makes a class: they are a class here; "
                    "with --suppressed '*' they are in none"
                )
        others = [name for name in snapshot.stored if name not in {*self.known, *self.sensitive}]
        if others:
            said.append(
                f"not measured: {', '.join(others)}; a column that an attacker knows about a person makes classes, too"
            )
        if self.lacking:
            said.append(f"quasi-identifiers of the policy that the table does not have: {', '.join(self.lacking)}")
        return said

    def _within(self, name: str, value: Value, snapshot: TableSnapshot) -> str:
        """Return an SQL condition: whether a released value may represent a category, on any level of its hierarchy."""
        column = next((c for c, a in self.attributes.items() if a.name == name), None)
        if column is None or column not in self.known:
            raise DataError(Problem("RR311", f"`where` contains '{name}', which is not a column that makes a class"))
        attribute = self.attributes[column]
        place = (attribute.domain or ()).index(value)
        groups = {category_text(value), *(category_text(level[place]) for level in attribute.hierarchy or ())}
        listed = ", ".join(literal(group) for group in sorted(groups))
        return f"CAST({snapshot.stored[column].typed} AS VARCHAR) IN ({listed})"


def _units_remark(units: UnitClasses, unit: str | None) -> str:
    return (
        f"each requirement counts the {int(units.units.sizes.sum()):,} units of '{unit}', by all their records "
        "together, and not records"
    )


def _split_names(given: Sequence[str] | None, snapshot: TableSnapshot) -> tuple[str, ...] | None:
    """Split names at commas, except names that are themselves names of columns."""
    if given is None:
        return None
    parts = [[g] if g in snapshot.stored else [part.strip() for part in g.split(",")] for g in given]
    return tuple(name for part in parts for name in part if name)


def _require_valid_columns(known: tuple[str, ...], sensitive: tuple[str, ...], snapshot: TableSnapshot) -> None:
    """Raise if columns are missing, named twice, or contain lists."""
    if not known:
        hint = "name the quasi-identifiers with --qi, or give a --policy that has some of the table's columns"
        raise PolicyError(Problem("RR250", "nothing makes a class", hint=hint))
    named = [*known, *sensitive]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise PolicyError(Problem("RR250", f"'{twice[0]}' is named twice", expected="each column once"))
    require_scalar_columns(named, snapshot)


def require_scalar_columns(names: Sequence[str], snapshot: TableSnapshot) -> None:
    """Check that columns exist (RR311) and have one value per record (RR312)."""
    for name in names:
        if name not in snapshot.stored:
            longer = (other for other in snapshot.stored if name.lower() in other.lower())  # `age_group` for `age`
            near = difflib.get_close_matches(name, snapshot.stored, n=1) or [*longer]
            like = f"did you mean '{near[0]}'?" if near else None
            raise DataError(Problem("RR311", f"{snapshot.name}: there is no column '{name}'", hint=like))
    _require_no_lists(names, snapshot)


def _require_no_lists(names: Sequence[str], snapshot: TableSnapshot) -> None:
    """Raise if a column contains lists: each set that hides a value would count as one value."""
    for name in names:
        stored = snapshot.stored[name]
        lists = stored.type.endswith("]") or stored.type.startswith(("STRUCT", "MAP"))
        if not lists and stored.family is TypeFamily.TEXT:
            told = f"{stored.typed} LIKE '[\"%\"]'"
            first = f"(FROM {snapshot.source} LIMIT {LOOKED_AT})"
            query = f"SELECT count({stored.typed}), count(*) FILTER (WHERE {told}) FROM {first}"  # noqa: S608 quoted
            values, written = snapshot.connection.cursor().execute(query).fetchall()[0]
            lists = values == written > 0
        if lists:
            message = f"{snapshot.name}: '{name}' contains lists, and each would count as one value"
            hint = "`rrpolicy verify` tests the guarantees of a release with sets"
            raise DataError(Problem("RR312", message, expected="one value in each record", hint=hint))


def _require_file(uri: str) -> None:
    """Raise if the path is a folder; the message names the file of a release that contains its records."""
    folder = Path(uri)
    if folder.is_dir():
        likely = [part / f"data.{form}" for part in (folder, folder / "public") for form in CORE_FORMATS]
        found = next((path for path in likely if path.is_file()), None)
        hint = f"did you mean {found}?" if found else None
        raise DataError(Problem("RR301", f"{uri} is a folder", expected="a file", hint=hint))
