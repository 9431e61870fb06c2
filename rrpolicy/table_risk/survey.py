"""The survey design of a measured table: refused like a release's, with its limitations for errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.declarations import MAX_WEIGHT
from rrpolicy.errors import DataError, Problem
from rrpolicy.source.sampling_units import SamplingUnits
from rrpolicy.source.schema_violations import check_carried, check_nulls, check_weight

if TYPE_CHECKING:
    from rrpolicy.declarations import DesignPart
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.duckdb.snapshot import TableSnapshot


def survey_design_remarks(policy: Policy, snapshot: TableSnapshot, *, weighed: bool) -> tuple[str, ...]:
    """Return the limitations that follow from a policy's survey design, if a table has its columns.

    Args:
        policy: with the design.
        snapshot: the table.
        weighed: whether the call describes the population.

    Raises:
        DataError: RR144 for invalid weights, RR314 for records without a weight, a stratum or a cluster.
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
            remarks.append(f"{told} a '{name}' of 0, and count in no estimate of the population")
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
    """Return the number of records that satisfy each condition."""
    counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in conditions)
    query = f"SELECT {counts} FROM {snapshot.source}"  # noqa: S608 quoted
    return [int(n) for n in snapshot.connection.cursor().execute(query).fetchall()[0]]
