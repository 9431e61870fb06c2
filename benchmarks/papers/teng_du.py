"""Teng, Du 2006: k-anonymisation and randomisation at one risk of linking."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from benchmarks.papers.asking import Options, Question, expected
from benchmarks.papers.data import Data
from benchmarks.papers.result import Claim, Paper, Part, Piece, Plot, Table, judged

PAPER = "Teng, Du 2006"
KNOWN = ("education", "marital_status", "sex", "race", "salary_class")
LEVELS = (2, 5, 10, 20, 50)
DRAWS = 20
RANDOMISED: Options = {"name": "rr-qi"}
GENERALISED: Options = {"name": "l-diversity", "algorithm": "full-domain", "suppression": 0.01}
MONDRIAN: Options = {"name": "l-diversity", "algorithm": "mondrian"}


def linking(data: Data) -> Part:
    """Errors at the same risk of linking, for the largest and for the mean over the people most at risk."""
    table = data.training(*KNOWN)
    hierarchy = {
        "education": {"hierarchy": _levels(data, "education")},
        "marital_status": {"hierarchy": _levels(data, "marital-status")},
    }
    pairs = list(combinations(KNOWN, 2))
    metrics: list[Options] = [{"metric": "total-variation", "attributes": pair, "draws": DRAWS} for pair in pairs]
    metrics += [{"metric": "cube-error", "draws": DRAWS}]
    roles = dict.fromkeys(KNOWN, "quasi-identifier")

    def asked(k: int, mechanism: Options, percentile: int | None) -> list[Any] | None:
        if percentile is None and mechanism is not RANDOMISED:
            limit: Options = {"model": "k-anonymity", "k": k}
        else:
            limit = {"model": "identity-disclosure", "threshold": f"1/{k}"}
            limit = limit if percentile is None else {**limit, "percentile": percentile}
        attributes = {} if mechanism is RANDOMISED else hierarchy
        found = expected(Question(roles, [limit], mechanism, metrics, attributes), table)
        if found is None:
            return None
        mean = sum(v for v, _ in found[:-1]) / len(pairs), sum(e for _, e in found[:-1]) / len(pairs)
        return [mean, found[-1]]

    tables, plots, wins = [], [], []
    for percentile, risk in ((None, "bound risk"), (5, "top-5-percentile risk")):
        by: dict[str, list[Any]] = {
            name: [asked(k, mechanism, percentile) for k in LEVELS]
            for name, mechanism in (
                ("randomised", RANDOMISED),
                ("full domain, 1 % suppressed", GENERALISED),
                ("Mondrian", MONDRIAN),
            )
        }
        for i, measure in enumerate(("mean total variation of two-way tables", "mean relative error, cube")):
            cells: dict[str, list[Any]] = {name: [each and each[i] for each in found] for name, found in by.items()}
            tables.append(_table(f"{measure}; {risk} ≤ 1/k", cells))
            lines = tuple(
                (name, tuple((float(k), c[0]) for k, c in zip(LEVELS, found, strict=True) if c))
                for name, found in cells.items()
            )
            file = f"teng-du-{'cube' if i else 'two-way'}-{percentile or 'bound'}"
            plots.append(
                Plot(file, f"{risk.capitalize()} at most 1/k", "k", measure, tuple(line for line in lines if line[1]))
            )
            wins += [
                (
                    percentile,
                    i,
                    k,
                    cells["randomised"][j][0] < min(c[j][0] for n, c in cells.items() if n != "randomised" and c[j]),
                )
                for j, k in enumerate(LEVELS)
                if cells["randomised"][j]
                and cells["randomised"][j][0] > 0
                and any(c[j] for n, c in cells.items() if n != "randomised")
            ]
    counts = "; ".join(
        f"{word}, {risk}: {sum(w for p, m, _, w in wins if (p, m) == (percentile, i))} of {sum((p, m) == (percentile, i) for p, m, _, _ in wins)}"
        for percentile, risk in ((None, "bound"), (5, "percentile"))
        for i, word in enumerate(("two-way tables", "cube"))
    )
    return Part(
        "Utility at the same linking risk (figures 1 and 2)",
        "Adult's training records, education, marital status, sex, race and salary class, all known to the attacker. Randomisation is optimal for"
        " the limit 1/k on the chance that a linking attacker finds a person's record (theorem 3.2), the largest and the mean over the 5 % of"
        " people most at risk; generalisation is held to k-anonymity, which is the first of them, or to the second, over ARX's hierarchies of education and"
        " marital status. The 1 % of suppression applies to k-anonymity alone. Figures"
        " without printed values; data set, attributes, hierarchies, k and both measures are ours.",
        "The paper's algorithms, attributes and measures were not at hand: what is compared is its question. A limit that holds for everybody is"
        " decided by the few who are alone with their values. Where the table as it is satisfies the limit, nothing is changed, and the errors are 0.",
        (
            Claim(
                "At the same linking risk, randomisation leaves less error than k-anonymisation.",
                "a question that the paper asks",
                judged([won for *_, won in wins]),
                f"Randomisation is the better one, by measure and risk (k = {', '.join(map(str, LEVELS))}): {counts}.",
            ),
        ),
        tuple(tables),
        tuple(plots),
    )


def _table(name: str, cells: dict[str, list[Any]]) -> Table:
    return Table((name, *(f"k = {k}" for k in LEVELS)), tuple((way, *found) for way, found in cells.items()))


def _levels(data: Data, attribute: str) -> list[dict[str, Sequence[str]]]:
    """Return the levels of a hierarchy file between the values themselves and `*`, each of groups of the level below."""
    file = data.file.parent / "hierarchies" / f"adult_hierarchy_{attribute}.csv"
    rows = [line.split(";") for line in file.read_text(encoding="utf-8").splitlines()]
    return [
        {
            group: sorted({row[level - 1] for row in rows if row[level] == group})
            for group in sorted({r[level] for r in rows})
        }
        for level in range(1, len(rows[0]))
    ]


TENG_DU = Paper(
    "Teng, Du 2006: randomisation and k-anonymisation under linking attacks",
    "“Comparisons of k-anonymization and randomization schemes under linking attacks” (ICDM). It measures both by the chance that an attacker"
    " who knows a person's quasi-identifiers finds the person's record.",
    (Piece("teng-du-linking", linking),),
)
