"""Guo 2010, the dissertation: measures of association from randomised baskets (chapter 3), and without the matrices (chapter 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.asking import Options, Question, drawn
from benchmarks.papers.data import Data, baskets
from benchmarks.papers.result import Claim, Paper, Part, Piece, Plot, Table, judged

PAPER = "Guo 2010"
BASKETS, ITEMS, SEED = 20_000, 6, 2010
KEEPS = ("0.95", "0.9", "0.8", "0.7")
RELEASES = 20
MEASURES = {
    "phi": "phi",
    "jaccard": "Jaccard",
    "kappa": "kappa",
    "cosine": "cosine",
    "interest": "interest",
    "ps": "PS",
    "conviction": "conviction",
    "odds_ratio": "odds ratio",
}


def question(names: Sequence[str], keep: Sequence[str]) -> Question:
    """Return what is asked of PRAM: these keep probabilities, and a limit that everything is within."""
    fixed: Options = {
        "name": "pram",
        "allocation": "fixed",
        "keep_probability": dict(zip(names, (str(float(p)) for p in keep), strict=True)),
    }
    roles = dict.fromkeys(names, "quasi-identifier")
    return Question(roles, [{"model": "identity-disclosure", "threshold": "1"}], fixed)


def warner(data: Data) -> Part:
    """The worked example of two attributes by Warner's design."""
    case = data.published["warner_2x2"]
    shares = np.array(case["pi_hat_published"])
    counts = np.floor(shares / shares.sum() * case["N"]).astype(int)
    counts[0] += case["N"] - counts.sum()
    cells = np.repeat(np.arange(4), counts)
    table = pd.DataFrame({"a": (cells // 2).astype(str), "g": (cells % 2).astype(str)})
    asked = question(["a", "g"], [str(p) for p in case["p"]])

    def read(release: Any) -> tuple[list[float], float, float]:
        frame = release.crosstab(["a", "g"], target="population").to_frame().sort_values(["a", "g"])
        last = frame.iloc[3]
        n = release.records
        return [(se / n) ** 2 * 1e5 for se in frame["se"]], last["low"] / n, last["high"] / n

    found = drawn(asked, table, RELEASES, read)
    variances = [_mean([v[i] for v, _, _ in found]) for i in range(4)]
    width = _mean([high - low for _, low, high in found])
    printed = case["support_interval_95_published"]
    near = [
        abs(mean / paper - 1) < 0.01 for (mean, _), paper in zip(variances, case["cov_diag_published_1e5"], strict=True)
    ]
    near.append(abs(width[0] - (printed[1] - printed[0])) < 0.001)
    rows: list[tuple[Any, ...]] = [
        (f"variance of the share of cell {cell} (× 10⁵)", paper, mean)
        for cell, paper, mean in zip(("00", "01", "10", "11"), case["cov_diag_published_1e5"], variances, strict=True)
    ]
    rows.append(("width of the 95 % interval of the support", round(printed[1] - printed[0], 6), width))
    return Part(
        "Two attributes by Warner's design, estimates with variances (chapter 3)",
        f"{case['N']:,} records, both attributes kept with probability 0.9. Ours: estimated variances and intervals for the population, means over"
        f" {RELEASES} releases of a table with the shares that the dissertation estimates.",
        "The released table of the dissertation is not at hand, only its shares: ours is a table of which such a release could have come, so that"
        " variances agree in the mean, and each single estimate differs by its noise.",
        (
            Claim(
                "The estimated covariances of the worked example are right.",
                PAPER,
                judged(near),
                f"All within 1 % of ours, and the interval as wide to 0.001 ({printed[1] - printed[0]:.3f}, ours {width[0]:.4f}).",
            ),
        ),
        (Table(("", "dissertation", "ours"), tuple(rows)),),
    )


def measures(_data: Data) -> Part:
    """Measures of a pair, and rules, from randomised baskets, corrected and as released."""
    table = baskets(BASKETS, ITEMS, SEED)
    names = [str(name) for name in table]
    pair = ("item1", "item2")
    true = _true(table, *pair)
    corrected: dict[str, list[list[float]]] = {}
    rules: dict[str, list[set[tuple[str, str]]]] = {}
    for keep in KEEPS:
        found = drawn(question(names, [keep] * ITEMS), table, RELEASES // 2, lambda r: (_measures(r, pair), _rules(r)))
        corrected[keep] = [m for m, _ in found]
        rules[keep] = [s for _, s in found]
    frequent = _true_rules(table)
    uncorrected = {keep: drawn_as_it_is(table, pair, names, keep) for keep in KEEPS}
    rows: list[tuple[Any, ...]] = []
    for i, (name, word) in enumerate(MEASURES.items()):
        rows.append((word, true[name], "corrected", *(_mean([m[i] for m in corrected[k]]) for k in KEEPS)))
        rows.append((word, true[name], "as released", *(_mean([m[i] for m in uncorrected[k]]) for k in KEEPS)))
    closer = [
        abs(rows[2 * i][3 + j][0] - true[n]) < abs(rows[2 * i + 1][3 + j][0] - true[n])
        for i, n in enumerate(MEASURES)
        for j in range(len(KEEPS))
    ]
    shrinking = [(i, true[n]) for i, n in enumerate(MEASURES) if n in {"phi", "kappa", "ps", "interest"}]
    recall = [_mean([len(s & frequent) / len(frequent) for s in rules[k]]) for k in KEEPS]
    precision = [_mean([len(s & frequent) / max(len(s), 1) for s in rules[k]]) for k in KEEPS]
    error = tuple((float(k), float(np.mean([abs(m[0] - true["phi"]) for m in corrected[k]]))) for k in KEEPS)
    bias = tuple((float(k), abs(_mean([m[0] for m in uncorrected[k]])[0] - true["phi"])) for k in KEEPS)
    return Part(
        "Measures of association and rules from randomised baskets (3.2 to 3.5, in kind)",
        f"{BASKETS:,} generated baskets of {ITEMS} items (benchmarks/papers/data.py, seed fixed), every item kept with the probability at the head of the"
        " column: measures of one pair, corrected and as they come out of the released table uncorrected; and of the rules with support"
        f" ≥ 0.1 and confidence ≥ 0.5 ({len(frequent)} of pairs and triples) the share that is found, and the share of those found that are true. Means"
        f" over {RELEASES // 2} releases.",
        "The dissertation's baskets are not at hand: no number here can be compared with a printed one.",
        (
            Claim(
                "Corrected measures are closer to the original's than those of the released table as it is.",
                "rrpolicy, of chapter 3's kind",
                judged(closer),
                f"On average over releases in {sum(closer)} of {len(closer)} cells of the table.",
            ),
            Claim(
                "Without the matrices, |phi|, |kappa|, |PS| and |interest − 1| come out no larger than they are.",
                f"{PAPER}, chapter 4",
                judged([rows[2 * i + 1][3 + j][0] <= row for i, row in shrinking for j in range(len(KEEPS))]),
                f"Mean phi as released, keep {' / '.join(KEEPS)}: {' / '.join(f'{cell[0]:.3f}' for cell in rows[1][3:])}, original {true['phi']:.3f}; the pair is positively associated. For interest: above 1, below the original's.",
            ),
            Claim(
                "Rules are found back from randomised baskets.",
                "rrpolicy, of chapter 3's kind",
                judged([r[0] > 0.9 and p[0] > 0.9 for r, p in zip(recall, precision, strict=True)]),
                "Found, true of those found: "
                + "; ".join(
                    f"keep {k}: {r[0]:.0%}, {p[0]:.0%}" for k, r, p in zip(KEEPS, recall, precision, strict=True)
                )
                + " (holds means over 90 % of both).",
            ),
        ),
        (
            Table(("measure", "original", "", *(f"keep {k}" for k in KEEPS)), tuple(rows)),
            Table(
                ("rules", *(f"keep {k}" for k in KEEPS)),
                (("share of the true ones found", *recall), ("share of those found that are true", *precision)),
            ),
        ),
        (
            Plot(
                "guo-phi",
                "Error of phi of a pair",
                "keep probability",
                "mean error",
                (("corrected", error), ("as released", bias)),
            ),
        ),
    )


def without_matrices(data: Data) -> Part:
    """What survives without the matrices: measures that never grow, and loglinear models."""
    case = data.published["loglinear"]
    counts = np.round(np.array(case["pi_ADG"]) / sum(case["pi_ADG"]) * case["N"]).astype(int)
    cells = np.repeat(np.arange(8), counts)
    names = ["a", "d", "g"]
    table = pd.DataFrame({n: ((cells >> (2 - i)) & 1).astype(str) for i, n in enumerate(names)})
    formulas = {"A,D,G": ("a + d + g", 4), "AD,G": ("a*d + g", 3)}
    rows: list[tuple[Any, ...]] = []
    near, falls = [], []
    alone: list[float] = []
    for model, (formula, freedom) in formulas.items():
        printed = case["chi2_published"][model]
        for keep, paper in printed.items():
            apart = case["chi2"][model][keep]
            if keep == "1,1,1":
                rows.append((model, keep, paper, apart, None))
                continue
            found = drawn(question(names, keep.split(",")), table, RELEASES, partial(_chi_square, formula=formula))
            mean, error = _mean(found)
            rows.append((model, keep, paper, apart, (mean, error)))
            near.append(apart - 4 * error <= mean <= apart + freedom + 4 * error)
            falls.append(paper < printed["1,1,1"])
            alone += [mean] if model == "AD,G" else []
    return Part(
        "Loglinear models of the released table (4.2 to 4.4)",
        f"CoIL 2000's three attributes A, D, G as the dissertation prints their shares, {case['N']:,} records: Pearson's chi-square of two models, in the"
        " original (keep 1,1,1) and randomised. The dissertation's numbers are of expected released shares; beside them the same computed apart"
        f" (`tests/vectors/make.py`), and ours: means over {RELEASES} releases, fitted with `Release.loglinear`.",
        "The printed shares have four digits, which moves the largest chi-square by 0.3. A release is a draw: its chi-square is, on average, larger than"
        " that of expected shares by up to the degrees of freedom, 4 and 3; by less where little is randomised, for the table itself is fixed.",
        (
            Claim(
                "Randomisation shrinks the chi-square of a model that does not hold, and leaves one alone that holds.",
                f"{PAPER}, chapter 4",
                judged(falls),
                "In expected shares, which is what it is stated of: A,D,G falls from 435.7 to between 10.97 and 177.16, and AD,G stays below"
                f" 1.6. Of releases AD,G comes to {min(alone):.2g} to {max(alone):.2g} on average, with 3 degrees of freedom.",
            ),
            Claim(
                "A release's chi-square lies, on average, between the printed one and that plus the degrees of freedom.",
                "rrpolicy",
                judged(near),
                f"Means of {RELEASES} releases against the value computed apart, within four standard errors: {sum(near)} of {len(near)}.",
            ),
        ),
        (
            Table(
                (
                    "model",
                    "keep probabilities",
                    "dissertation",
                    "computed apart",
                    "ours: releases",
                ),
                tuple(rows),
            ),
        ),
    )


def drawn_as_it_is(table: pd.DataFrame, pair: tuple[str, str], names: Sequence[str], keep: str) -> list[list[float]]:
    """Return the measures of released tables that nobody corrects."""

    def read(release: Any) -> list[float]:
        import duckdb

        released = duckdb.read_parquet(f"{release.folder}/data.parquet").df()
        found = _true(released, *pair)
        return [found[name] for name in MEASURES]

    return drawn(question(names, [keep] * ITEMS), table, RELEASES // 2, read)


def _chi_square(release: Any, formula: str) -> float:
    return float(release.loglinear(formula).statistic)


def _measures(release: Any, pair: tuple[str, str]) -> list[float]:
    found = release.association(*pair, list(MEASURES), present=(["yes"], ["yes"]))
    return [float(found[name]) for name in MEASURES]


def _rules(release: Any) -> set[tuple[str, str]]:
    return {(str(rule.given), str(rule.then)) for rule in release.rules(0.1, 0.5).rules}


def _true_rules(table: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the rules of the table itself, read as a release that keeps everything."""
    names = [str(name) for name in table]
    asked = question(names, ["1"] * len(names))
    as_it_is = replace(asked, attributes={name: {"unchanged": "baskets made up here"} for name in names})
    (found,) = drawn(as_it_is, table, 1, _rules)
    return found


def _true(table: pd.DataFrame, row: str, column: str) -> dict[str, float]:
    """Return measures of a 2 x 2 table as its definitions have them (docs/reference/notation.md)."""
    a, b = table[row] == "yes", table[column] == "yes"
    p11, p10, p01, p00 = (float(x.mean()) for x in (a & b, a & ~b, ~a & b, ~a & ~b))
    p1, q1 = p11 + p10, p11 + p01
    chance = p1 * q1 + (1 - p1) * (1 - q1)
    return {
        "phi": (p11 * p00 - p01 * p10) / math.sqrt(p1 * (1 - p1) * q1 * (1 - q1)),
        "jaccard": p11 / (p1 + q1 - p11),
        "kappa": (p11 + p00 - chance) / (1 - chance),
        "cosine": p11 / math.sqrt(p1 * q1),
        "interest": p11 / (p1 * q1),
        "ps": p11 - p1 * q1,
        "conviction": p1 * (1 - q1) / p10,
        "odds_ratio": p11 * p00 / (p10 * p01),
    }


def _mean(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


GUO = Paper(
    "Guo 2010: the dissertation",
    "“Randomization based privacy preserving categorical data analysis” (University of North Carolina at Charlotte): association measures, rules and"
    " loglinear models from randomised data, with the matrices known and unknown.",
    (
        Piece("guo-warner", warner, adult=False),
        Piece("guo-measures", measures, adult=False),
        Piece("guo-loglinear", without_matrices, adult=False),
    ),
    ("CoIL 2000's records and the basket data: not at hand; the printed shares of the former are used.",),
)
