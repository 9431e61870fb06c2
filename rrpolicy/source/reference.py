"""The reference table: the whole population, with the class-defining attributes, read with the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy, SourceSettings

if TYPE_CHECKING:
    from rrpolicy.counts import Counts
    from rrpolicy.source.original import TableOriginal

HINT = "its columns need the names and the categories of the policy; a view in a database can provide them"


def reference_policy(policy: Policy) -> Policy | None:
    """Return the policy for reading the reference table: the class-defining attributes, and its uri.

    None if the policy names no such table, or does not state its uri.
    """
    reference = policy.reference
    if reference is None or reference.uri is None:
        return None
    source = SourceSettings(
        reference.uri, reference.table, missing=policy.source.missing, csv=policy.source.csv, other_columns="excluded"
    )
    place = policy.place("reference.uri")
    places = {"source.uri": place} if place is not None else {}
    release = replace(policy.release, series=None)
    attributes = {a.name: a for a in policy.linking if a.categorical}
    return replace(policy, source=source, attributes=attributes, reference=None, release=release, places=places)


def reference_problem(problem: Problem, policy: Policy) -> Problem:
    """Return a problem of the reference table, which names it."""
    return replace(
        problem,
        message=f"the reference table: {problem.message}",
        place=policy.place("source.uri"),
        hint=HINT if problem.code.startswith("RR31") else problem.hint,
    )


def require_subset_of_reference(original: TableOriginal, people: TableOriginal) -> None:
    """Refuse a population that lacks some people of the table."""
    names = [a.name for a in people.policy.released]
    records, population = (_counts_by_cell(table.counts(*names)) for table in (original, people))
    short = [n - population.get(cell, 0) for cell, n in records.items() if n > population.get(cell, 0)]
    if short:
        message = (
            f"the reference table lacks people of the table: of {len(short):,} combinations of values it has fewer "
            f"people than the table has records, {sum(short):,} in all"
        )
        expected = "everybody of the table in the reference table, too, one record a person, in the same categories"
        raise DataError(Problem("RR337", message, people.policy.place("source.uri"), expected))


def _counts_by_cell(counts: Counts) -> dict[bytes, int]:
    codes = np.ascontiguousarray(counts.codes, dtype=np.int32)
    return {row.tobytes(): int(n) for row, n in zip(codes, counts.n, strict=True)}
