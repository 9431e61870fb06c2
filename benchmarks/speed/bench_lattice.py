"""What the search for the best generalisation costs, beside one grouping of the table by the quasi-identifiers in DuckDB.

The demo survey with 10^6 records: k = 3 and distinct l = 3, without suppression and with 5 %. The search is all that
planning does once the table is counted: rolling up, testing, comparing losses, over every node that it cannot rule out.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.speed import Ratio, least
from rrpolicy.declarations import Role
from rrpolicy.optimize.recode.class_tests import class_tests, lattice_tables
from rrpolicy.optimize.recode.lattice import LatticeSearch
from rrpolicy.optimize.recode.levels import class_attributes, recoded
from rrpolicy.optimize.recode.loss import GeneralisationLoss
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.models.k_anonymity import KAnonymity, KAnonymityOptions
from rrpolicy.privacy.models.l_diversity import DiversityKind, LDiversity, LDiversityOptions
from rrpolicy.testing import TableInMemory, policies

RECORDS = 10**6
GOAL = 5.0
ROUNDS = 5
SIZES = {"education": 16, "sex": 2, "race": 5, "income": 2, "age": 15, "work": 7, "marital": 7, "country": 12}
FOUR = ("education", "sex", "race", "income")
DISEASES = 14


def hierarchy(size: int) -> tuple[tuple[str, ...], ...]:
    """Return levels that halve and halve again, then `*`."""
    levels = [tuple(f"value {i}" for i in range(size))]
    width = 4
    while width < size:
        levels.append(tuple(f"group {i // width} of {width}" for i in range(size)))
        width *= 4
    return (*levels, ("*",) * size)


def policy_of(names: tuple[str, ...]) -> Policy:
    """Return a policy with these quasi-identifiers."""
    found = [
        Attribute(n, Role.QUASI_IDENTIFIER, hierarchy(SIZES[n])[0], release_as=n, hierarchy=hierarchy(SIZES[n]))
        for n in names
    ]
    diseases = tuple(f"disease {i}" for i in range(DISEASES))
    found.append(Attribute("disease", Role.SENSITIVE, diseases, release_as="disease"))
    wanted = (
        Requirement("k-anonymity", KAnonymityOptions(k=3)),
        Requirement("l-diversity", LDiversityOptions(kind=DiversityKind.DISTINCT, l=Fraction(3))),
    )
    return policies.policy_of(found, wanted, "l-diversity", wanted[0].options)


def codes() -> dict[str, Any]:
    """Draw the table: skewed shares, rare combinations."""
    rng = np.random.default_rng(3)
    drawn = {n: rng.choice(size, RECORDS, p=rng.dirichlet(np.full(size, 0.6))) for n, size in SIZES.items()}
    return {**drawn, "disease": rng.choice(DISEASES, RECORDS, p=rng.dirichlet(np.ones(DISEASES)))}


def run() -> list[Ratio]:
    """Measure."""
    drawn = codes()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        labels = {
            n: pa.array([f"value {i}" for i in range(size)]) for n, size in {**SIZES, "disease": DISEASES}.items()
        }
        pq.write_table(pa.table({n: labels[n].take(pa.array(c)) for n, c in drawn.items()}), path)
        for names in (FOUR, tuple(SIZES)):
            policy = policy_of(names)
            original = TableInMemory.of(policy, {n: drawn[n] for n in policy.attributes})
            grouped = least(lambda names=names: _group(path, names), ROUNDS)
            for suppression in (0.0, 0.05):
                attributes = [recoded(a) for a in class_attributes(policy)]
                assessors = (KAnonymity().assessors()[0], LDiversity().assessors()[0])
                pairs = list(zip(policy.requirements, assessors, strict=True))
                tests = class_tests(pairs, policy, attributes, suppressing=suppression > 0)
                counted = lattice_tables(original, attributes, tests).finest
                taken = least(lambda a=attributes, t=tests, c=counted, s=suppression: _search(a, t, c, s), ROUNDS)
                goal = GOAL if names == FOUR else None
                what = f"lattice search, {len(names)} quasi-identifiers, suppression {suppression:.0%} / one GROUP BY"
                found.append(Ratio(what, taken / grouped, goal, f"{taken * 1e3:.1f} ms, {len(counted.n):,} cells"))
    return found


def _search(attributes: Any, tests: Any, counted: Any, suppression: float) -> None:
    from rrpolicy.optimize.recode.class_tests import label_numbers
    from rrpolicy.optimize.recode.rollup import GeneralisationLevels, LatticeTables

    ladders = (
        GeneralisationLevels(a.attribute.name, tuple(label_numbers(a.levels[j]) for j in a.chosen), a.chosen)
        for a in attributes
    )
    rolled = LatticeTables(tuple(ladders), counted)
    weights = np.full(len(attributes), 1 / len(attributes))
    search = LatticeSearch(rolled, tests.tests, GeneralisationLoss("ncp", rolled, weights), int(suppression * RECORDS))
    assert search.best() is not None


def _group(path: Path, names: tuple[str, ...]) -> None:
    with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
        listed = ", ".join(names)
        grouped = connection.sql(f"SELECT {listed}, count(*) AS n FROM '{path}' GROUP BY ALL")
        grouped.to_arrow_table() if hasattr(grouped, "to_arrow_table") else grouped.fetch_arrow_table()


if __name__ == "__main__":
    for ratio in run():
        print(ratio)
