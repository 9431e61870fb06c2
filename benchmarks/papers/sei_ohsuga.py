"""Sei, Ohsuga: randomised addition of sensitive values, its errors, and tables that anatomy cannot release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from benchmarks.papers.asking import Options, Question, drawn, expected, refused
from benchmarks.papers.data import Data
from benchmarks.papers.result import Claim, Paper, Part, Piece, Plot, Table, judged

PAPER = "Sei, Ohsuga"
KNOWN = ("education", "salary_class", "sex", "race")
SENSITIVE = "occupation"
LEVELS = (2, 3, 4, 5, 6, 7)
DRAWS, RELEASES = 20, 5
ADDITION: Options = {"name": "sensitive-addition"}
METHODS: Mapping[str, Options] = {
    "addition": ADDITION,
    "anatomy": {"name": "anatomy"},
    "l-diversity, TP": {"name": "l-diversity", "algorithm": "tp"},
    "RR-QI, risk ≤ 1/l": {"name": "rr-qi"},
}


def question(
    known: Sequence[str], sensitive: str, l: int, mechanism: Options, metrics: Sequence[Options] = ()
) -> Question:
    """Return what a mechanism is asked: l-diversity by frequency; of randomised response, risk at most 1/l."""
    roles = dict.fromkeys(known, "quasi-identifier") | {sensitive: "sensitive"}
    diverse: Options = {"model": "l-diversity", "kind": "frequency", "l": l}
    risk: Options = {"model": "attribute-disclosure", "threshold": f"1/{l}"}
    return Question(roles, [risk if mechanism["name"] == "rr-qi" else diverse], mechanism, metrics)


def squared_error(_data: Data) -> Part:
    """The mean squared error of estimated shares: formulas and releases."""
    cases = [(400, 8, l) for l in (2, 3, 4, 5, 6)] + [(1000, 20, l) for l in (2, 5, 10)]
    rows, agree, less = [], [], []
    for n, size, l in cases:
        values = np.arange(n) % size
        table = pd.DataFrame({"group": "all", "value": [f"v{v:02d}" for v in values]})
        asked = question(["group"], "value", l, ADDITION, [{"metric": "addition-mse", "attributes": ["value"]}])
        found = expected(asked, table)
        assert found is not None
        ((exact, _),) = found
        true = np.bincount(values) / n
        realised = drawn(asked, table, 20, partial(_squared, true=true))
        mean = float(np.mean(realised))
        error = float(np.std(realised, ddof=1)) / math.sqrt(len(realised))
        printed = l * (size - 1) ** 2 / (n * (size - l) * size**2)
        rows.append((n, size, l, printed, exact, (mean, error)))
        agree.append(abs(mean - exact) <= 5 * error)
        less.append(exact < printed)
    return Part(
        "Mean squared error by l (figure 1)",
        "n records of one group, |S| values in equal numbers. Paper: its equation 19, for a population of equal shares. Ours: the closed"
        " form for the table at hand, and the mean over 20 releases of the squared error of the estimated shares. Figure without printed"
        " values: equation 19 stands for it, and n, |S| and l are ours.",
        "Equation 19 counts the sampling of the n records from a population as well; who estimates the table itself errs less, by"
        " (|S| − 1)/(n|S|²).",
        (
            Claim(
                "The error grows as equation 19 says.",
                PAPER,
                judged([*agree, *less]),
                f"The closed form for this table differs from it by the sampling of the records alone, and lies within five standard errors of what {len(cases)} × 20 releases gave.",
            ),
        ),
        (
            Table(
                ("n", "|S|", "l", "paper, equation 19", "ours, this table: closed form", "20 releases"),
                tuple(rows),
            ),
        ),
        (
            Plot(
                "sei-ohsuga-mse",
                "Mean squared error of shares, n = 400, |S| = 8",
                "l",
                "mean squared error",
                (
                    ("equation 19", tuple((float(r[2]), r[3]) for r in rows if r[0] == 400)),
                    ("this table", tuple((float(r[2]), r[4]) for r in rows if r[0] == 400)),
                ),
            ),
        ),
    )


def groups(data: Data) -> Part:
    """Errors of base group-by queries and of the cube by l."""
    table = data.training(*KNOWN, SENSITIVE)
    metrics = {"group-by-error": "base group-by", "cube-error": "cube"}
    asked = [{"metric": name, "draws": DRAWS} for name in metrics]
    found: dict[str, list[Any]] = {
        name: [expected(question(KNOWN, SENSITIVE, l, mechanism, asked), table) for l in LEVELS]
        for name, mechanism in METHODS.items()
    }
    base: dict[str, list[Any]] = {name: [cells and cells[0] for cells in by] for name, by in found.items()}
    counts = table.value_counts([*KNOWN, SENSITIVE])
    for name, mechanism, read in (
        ("addition, by EM", ADDITION, _likeliest_of_sets),
        ("RR-QI, by EM", METHODS["RR-QI, risk ≤ 1/l"], _likeliest),
    ):
        base[name] = [
            _mean(drawn(question(KNOWN, SENSITIVE, l, mechanism), table, RELEASES, partial(read, true=counts)))
            for l in LEVELS
        ]
    cube = {name: [cells and cells[1] for cells in by] for name, by in found.items()}
    tables = [
        Table(
            (f"mean relative error, {word}", *(f"l = {l}" for l in LEVELS)),
            tuple((m, *cells) for m, cells in by.items()),
        )
        for word, by in (("base group-by", base), ("cube", cube))
    ]
    plots = [
        Plot(
            f"sei-ohsuga-{name}",
            f"{word} queries by l",
            "l",
            "mean relative error",
            tuple(
                (m, tuple((float(l), cell[0]) for l, cell in zip(LEVELS, cells, strict=True) if cell))
                for m, cells in by.items()
            ),
        )
        for name, word, by in (("base", "Base group-by", base), ("cube", "Cube", cube))
    ]
    dealt = [cell[0] for cell in base["anatomy"]]
    wins = [cell[0] < other for cell, other in zip(base["addition"], dealt, strict=True)]
    likeliest = [cell[0] < other for cell, other in zip(base["addition, by EM"], dealt, strict=True)]
    return Part(
        "Base group-by queries and the cube (figures 5 and 6)",
        "Equation 20: mean |act − est|/act over the groups of all attributes with act > 0 (base), and over those of every subset (cube)."
        " Adult's training records, education, salary class, sex, race, sensitive occupation; l-diversity by frequency, randomised"
        " response at risk ≤ 1/l. Figures without printed values; data, attributes and grid of l are ours.",
        "Equation 20 is decided by the smallest groups: of the 1,335 that are there nearly half have one or two people. Unbiased estimates of"
        " such counts are mostly noise, negative ones among them; EM's cannot be negative. EM for sets is computed here from"
        ' the released data: `crosstab(estimator="em")` refuses sets (RR278).',
        (
            Claim(
                "Randomised addition answers base group-by queries better than anatomy.",
                f"{PAPER}, abstract: a better trade-off of privacy and utility",
                judged(wins),
                "By the unbiased estimate: " + _told(base["addition"], dealt),
            ),
            Claim(
                "Estimated by maximum likelihood (EM), it does so for every l.",
                "rrpolicy",
                judged(likeliest),
                "By EM: " + _told(base["addition, by EM"], dealt),
            ),
        ),
        tuple(tables),
        tuple(plots),
    )


def eligibility(data: Data) -> Part:
    """Which l each sensitive attribute of Adult allows."""
    rows, more = [], []
    for sensitive in ("workclass", "marital_status", "relationship", "race", "occupation", "education"):
        known = ["sex", "salary_class"]
        table = data.training(*known, sensitive)
        share = float(table[sensitive].value_counts(normalize=True).iloc[0])
        size = int(table[sensitive].nunique())
        reach = [
            _largest(known, sensitive, METHODS[method], table, size - 1)
            for method in ("anatomy", "l-diversity, TP", "addition")
        ]
        rows.append((sensitive, size, share, *reach))
        more.append(reach[2] == size - 1 and reach[2] > max(reach[:2]))
    return Part(
        "Eligibility",
        "The largest l for which each mechanism releases the table, by sensitive attribute; quasi-identifiers sex and salary class. Anatomy"
        " and l-diversity need that no value has more than one in l of the records; 1 stands for none from 2 up.",
        "Nothing is drawn: plans are made until one is refused. l = |S| is not counted: addition releases it, too, and it reveals nothing about the attribute.",
        (
            Claim(
                "Randomised addition needs no eligibility: it reaches every l up to |S| − 1.",
                PAPER,
                judged(more),
                "; ".join(f"{row[0]}: {row[5]} against {max(row[3], row[4])}" for row in rows),
            ),
        ),
        (
            Table(
                ("sensitive", "values |S|", "share of the commonest", "anatomy", "l-diversity, TP", "addition"),
                tuple(rows),
            ),
        ),
    )


def _squared(release: Any, true: Any) -> float:
    found = release.crosstab(["value"]).to_frame().sort_values("value")["estimate"].to_numpy()
    return float(np.mean((found / release.records - true) ** 2))


def _likeliest(release: Any, true: Any) -> float:
    names = list(true.index.names)
    return _relative(release.crosstab(names, estimator="em").to_frame().set_index(names)["estimate"], true)


def _likeliest_of_sets(release: Any, true: Any) -> float:
    """Estimate values inside each combination of quasi-identifiers by EM: a record with a set S has v in S, Pr(S | v) being the same for all."""
    data = duckdb.read_parquet(f"{release.folder}/data.parquet").df()
    place = {value: i for i, value in enumerate(release.domain(SENSITIVE))}
    parts: dict[tuple[Any, ...], float] = {}
    for alpha, sets in data.groupby(list(KNOWN), observed=True)[SENSITIVE]:
        held = np.zeros((len(sets), len(place)), dtype=bool)
        for row, values in enumerate(sets):
            held[row, [place[value] for value in values]] = True
        shares = held.mean(axis=0) / held.mean(axis=0).sum()
        for _ in range(500):
            weight = held * shares
            shares = (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0)
        parts |= {(*alpha, value): float(len(sets) * shares[i]) for value, i in place.items()}
    found = pd.Series(parts)
    found.index.names = list(true.index.names)
    return _relative(found, true)


def _relative(estimate: Any, true: Any) -> float:
    """Return the mean relative error over groups that are there (equation 20)."""
    return float(((estimate.reindex(true.index, fill_value=0.0) - true).abs() / true).mean())


def _largest(known: Sequence[str], sensitive: str, mechanism: Options, table: pd.DataFrame, most: int) -> int:
    """Return the largest l up to the most that is not refused; 1 if 2 is."""
    l = 1
    while l < most and refused(question(known, sensitive, l + 1, mechanism), table) is None:
        l += 1
    return l


def _mean(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _told(ours: Sequence[tuple[float, float]], others: Sequence[float]) -> str:
    cells = zip(LEVELS, ours, others, strict=True)
    return "; ".join(f"l = {l}: {own:.3g} against {other:.3g}" for l, (own, _), other in cells) + "."


SEI_OHSUGA = Paper(
    "Sei, Ohsuga: randomised addition of sensitive values",
    "“Randomized addition of sensitive attributes for l-diversity” and what followed it: each record releases its sensitive value among l − 1"
    " others drawn at random, quasi-identifiers as they are.",
    (
        Piece("sei-ohsuga-mse", squared_error, adult=False),
        Piece("sei-ohsuga-groups", groups),
        Piece("sei-ohsuga-eligibility", eligibility, quick=True),
    ),
    ("Figures on other data than Adult, and the printed curves: no values were at hand.",),
)
