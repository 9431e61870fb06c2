"""Risks of records in a table, and of people in its population: options of a call, and measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import category_text
from rrpolicy.declarations import MAX_WEIGHT
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.engine.column_types import TypeFamily
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.finding import Standing
from rrpolicy.frozen import replace
from rrpolicy.policy.model import PLAIN
from rrpolicy.privacy.classes.class_population import Population
from rrpolicy.privacy.population.attackers import class_size_findings, population_findings, unit_risk_finding
from rrpolicy.privacy.population.individual_risk import individual_risk_finding
from rrpolicy.privacy.population.suda import DistinctCombinations, suda_finding
from rrpolicy.source.opening import engine_for_uri, open_table_snapshot
from rrpolicy.source.sampling_units import SamplingUnits
from rrpolicy.source.schema_violations import check_carried, check_nulls, check_weight

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.declarations import DesignPart
    from rrpolicy.finding import Finding
    from rrpolicy.policy.model import Policy
    from rrpolicy.privacy.classes.class_counts import ClassCounts
    from rrpolicy.registry import Registry
    from rrpolicy.source.duckdb.snapshot import TableSnapshot
    from rrpolicy.source.memory.input_table import InputTable


_NUMBERS = {TypeFamily.INTEGER, TypeFamily.REAL}
_MISSING = "(missing)"
_NAME = "rrpolicy_reference"


class PopulationOptions(Struct, frozen=True):
    """A call's description of the population, and the risks to measure.

    `weights` is the column of people that a record represents, `fraction` the share of the population in the table, in
    (0, 1], `suda` the most attributes of a minimal sample unique; None without special uniques.
    """

    weights: str | None = None
    fraction: Fraction | None = None
    reference: InputTable | None = None
    suda: int | None = None

    @property
    def anything(self) -> bool:
        """Whether any risk is to be measured."""
        return self != NO_POPULATION

    @property
    def weighs(self) -> bool:
        """Whether the population is described."""
        return (self.weights, self.fraction, self.reference) != (None, None, None)

    def weight(self, snapshot: TableSnapshot) -> str | None:
        """Return SQL of a record's weight; RR311 if the column does not exist, RR337 if its values are not weights."""
        if self.weights is None:
            return None
        if self.weights not in snapshot.stored:
            raise DataError(Problem("RR311", f"{snapshot.name}: there is no column '{self.weights}'"))
        stored = snapshot.stored[self.weights]
        if stored.family not in _NUMBERS:
            raise DataError(Problem("RR337", f"'{self.weights}' contains no numbers", expected="weights over 0"))
        value = f"CAST({stored.typed} AS DOUBLE)"
        weighs = f"coalesce({value} > 0 AND isfinite({value}), false)"
        query = f"SELECT count(*) FILTER (WHERE NOT {weighs}) FROM {snapshot.source}"  # noqa: S608 quoted
        wrong = int(snapshot.connection.cursor().execute(query).fetchall()[0][0])
        if wrong:
            message = f"'{self.weights}' contains no weight in {wrong:,} records"
            raise DataError(Problem("RR337", message, expected="a finite number over 0 in each record"))
        return stored.typed


NO_POPULATION = PopulationOptions()


def parse_population_options(
    weights: str | None, fraction: object, reference: InputTable | None, suda: int | None
) -> PopulationOptions:
    """Return the options of a call, validated; RR250 if they are contradictory."""
    told = {"--weights": weights, "--sampling-fraction": fraction, "--reference": reference}
    named = [name for name, value in told.items() if value is not None]
    if len(named) > 1:
        raise PolicyError(Problem("RR250", f"{named[0]} and {named[1]} both describe the population", expected="one"))
    if suda is not None and suda < 1:
        raise PolicyError(Problem("RR250", f"--suda: {suda}", expected="the most attributes of a unique, 1 at least"))
    share = None
    if fraction is not None:
        try:
            share = Fraction(str(fraction))
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if not 0 < share <= 1:
            raise PolicyError(Problem("RR250", f"--sampling-fraction: {fraction}", expected="a number in (0, 1]"))
    return PopulationOptions(weights, share, reference, suda)


class ReferencePeople(Struct, frozen=True):
    """The people of a reference table, by class keys `k0`, `k1`, …, with their number `p`.

    `keys` is SQL of the same keys in the measured table, `total` people in all.
    """

    people: pa.Table
    keys: tuple[str, ...]
    total: int

    name = _NAME

    def known(self, cursor: duckdb.DuckDBPyConnection) -> list[str]:
        """Return SQL of the class keys after registering the people with a cursor."""
        cursor.register(_NAME, self.people)
        return list(self.keys)


def read_reference_people(
    told: PopulationOptions, known: Sequence[str], snapshot: TableSnapshot, registry: Registry, scratch: Path
) -> ReferencePeople | None:
    """Count the people of a reference table, by the columns that define a class.

    Numbers compare with numbers, other types by their text. Raises `DataError` (RR300 to RR309) if it cannot be read,
    RR311 if it lacks a column.
    """
    if told.reference is None:
        return None
    from rrpolicy.drafting.detection import detected_settings, is_csv
    from rrpolicy.source.duckdb.snapshot import TableSnapshot

    source, uri = engine_for_uri(told.reference.uri or "", registry.sources, Path())
    reading = replace(PLAIN, csv=detected_settings(uri)) if is_csv(uri) else PLAIN
    with open_table_snapshot(source, uri, None, scratch, reading) as found:
        if not isinstance(found, TableSnapshot):
            raise DataError(Problem("RR301", "this engine's tables cannot be grouped", expected="a file or a database"))
        opened = found.one_by_one
        here, there = [], []
        for place, name in enumerate(known):
            if name not in opened.stored:
                raise DataError(Problem("RR311", f"{opened.name}: there is no column '{name}'", hint="see --reference"))
            one, other = snapshot.stored[name], opened.stored[name]
            alike = one.type == other.type or {one.family, other.family} <= _NUMBERS
            here.append(one.typed if alike else f"CAST({one.typed} AS VARCHAR)")
            there.append(f"{other.typed if alike else f'CAST({other.typed} AS VARCHAR)'} AS k{place}")
        query = f"SELECT {', '.join(there)}, count(*) AS p FROM {opened.source} GROUP BY ALL"  # noqa: S608 quoted
        people = opened.connection.cursor().sql(query).to_arrow_table()
        opened.unchanged()
        return ReferencePeople(people, tuple(here), opened.count)


def class_population(
    told: PopulationOptions, counted: ClassCounts, reference: ReferencePeople | None, name: str
) -> Population | None:
    """Return the population data of counted classes, None if unknown; RR337 if a class has more records than people."""
    sizes = counted.classes.sizes
    if told.fraction is not None:
        return Population.sampled(sizes, told.fraction)
    if counted.people is None:
        return None
    short = counted.people < sizes
    if short.any():
        message = f"{int(short.sum()):,} classes of {name} have more records than people in the population"
        hint = "weights count the record itself; a reference table contains everybody of the table, too"
        raise DataError(Problem("RR337", message, expected="as many people as records at least", hint=hint))
    if reference is None:
        return Population.weighed(counted.people)
    return Population.counted(counted.people, reference.total - int(counted.people.sum()))


def distinct_combinations(
    told: PopulationOptions, known: Sequence[str], snapshot: TableSnapshot, left_out: str | None
) -> DistinctCombinations | None:
    """Return the distinct combinations of class keys; None without special uniques.

    `left_out`: SQL condition that is true for records in no class.
    """
    if told.suda is None:
        return None
    names = [f"k{place}" for place in range(len(known))]
    keys = ", ".join(f"{snapshot.stored[name].typed} AS {key}" for name, key in zip(known, names, strict=True))
    kept = f" WHERE NOT coalesce({left_out}, false)" if left_out else ""
    query = f"SELECT {keys}, count(*) AS n FROM {snapshot.source}{kept} GROUP BY {', '.join(names)}"  # noqa: S608 quoted
    found = snapshot.connection.cursor().sql(query).to_arrow_table()
    codes, values = [], []
    for name in names:
        encoded = found.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        labels = encoded.dictionary.to_pylist()
        present = sorted((i for i, label in enumerate(labels) if label is not None), key=labels.__getitem__)
        order = [*present, *(i for i, label in enumerate(labels) if label is None)]
        place = np.empty(len(labels), dtype=np.int64)
        place[order] = np.arange(len(labels))
        codes.append(place[np.asarray(encoded.indices, dtype=np.int64)])
        values.append(tuple(_MISSING if labels[i] is None else category_text(labels[i]) for i in order))
    n = as_numpy(found.column("n")).astype(np.int64)
    width = np.column_stack(codes) if codes else np.zeros((len(n), 0), dtype=np.int64)
    return DistinctCombinations(width, n, tuple(known), tuple(values))


def population_risks(
    counted: ClassCounts, told: PopulationOptions, combined: DistinctCombinations | None
) -> Iterator[Finding]:
    """Yield measures for records, for units of several, and for people if the population is known."""
    classes = counted.classes
    yield from class_size_findings(classes)
    if counted.units is not None:
        yield unit_risk_finding(counted.units)
    people = classes.population
    if people is not None:
        yield from population_findings(classes, people)
        if people.standing is Standing.ESTIMATE:
            one = individual_risk_finding(classes, people)
            yield from () if one is None else (one,)
    if combined is not None and told.suda is not None:
        fraction = None if people is None or not people.total else Fraction(classes.records) / Fraction(people.total)
        most = min(told.suda, len(combined.names))
        yield suda_finding(combined, most, fraction, "" if people is None else people.assumption)


def survey_design_remarks(policy: Policy, snapshot: TableSnapshot, *, weighed: bool) -> tuple[str, ...]:
    """Return the limitations that follow from a policy's survey design, if a table has its columns.

    Raises `DataError`: RR144 for invalid weights, RR314 for records without a weight, a stratum or a cluster.
    """
    columns = {
        name: a
        for a in policy.attributes.values()
        if a.design is not None
        for name in [n for n in (a.release_as, a.name) if n in snapshot.stored][:1]
    }

    def of(part: DesignPart) -> list[str]:
        return [name for name, attribute in columns.items() if attribute.design == part]

    weights, strata, clusters = of("weight"), of("stratum"), of("cluster")
    problems: list[Problem] = []
    remarks: list[str] = []
    for name in weights:
        stored, attribute = snapshot.stored[name], columns[name]
        if not attribute.categorical:
            problems += check_weight(attribute, stored.type)
        x = f"TRY_CAST({stored.typed} AS DOUBLE)"
        none = f"{x} < 0 OR {x} > {MAX_WEIGHT}"
        missing, wrong, nothing = _condition_counts(snapshot, f"{stored.typed} IS NULL", none, f"{x} = 0")
        problems += check_nulls(attribute, missing)
        problems += check_carried(attribute, 0, wrong)
        if nothing:
            told = "1 record has" if nothing == 1 else f"{nothing:,} records have"
            remarks.append(f"{told} a '{name}' of 0, and are left out of population estimates")
        if not weighed:
            remarks.append(f"'{name}' is the survey's weight: --weights {name} estimates risks in the population by it")
    for name in (*strata, *clusters):
        (missing,) = _condition_counts(snapshot, f"{snapshot.stored[name].typed} IS NULL")
        problems += check_nulls(columns[name], missing)
    if problems:
        raise DataError(problems)
    if strata:
        rows = snapshot.tally([], [*strata, *clusters])
        remarks += SamplingUnits.counted(rows, len(strata), len(clusters)).told()
    return tuple(remarks)


def _condition_counts(snapshot: TableSnapshot, *conditions: str) -> list[int]:
    counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in conditions)
    query = f"SELECT {counts} FROM {snapshot.source}"  # noqa: S608 quoted
    return [int(n) for n in snapshot.connection.cursor().execute(query).fetchall()[0]]
