"""Makes vectors.json, the numbers that tests hold rrpolicy against, from the formulas and without rrpolicy.

    python tests/vectors/make.py [ADULT]

ADULT is the gzipped Adult table, by default adult.csv.gz in the folder of RRPOLICY_DATA; its first 30,162 rows are the
training records without missing values. Everything is computed here, in exact fractions where that is possible, but
for what is called `published`, which the papers print:

- Guo, Ying, Wu 2011, "Limiting attribute disclosure in randomization based microdata release" (RR-QI and RR-Both on
  Adult; the risk, equations 6 to 9; the worked table of gender and disease).
- Teng, Du 2006, theorem 3.2 (linking).
- Ikarashi, Kikuchi, Chida, Takahashi 2014, "k-anonymous microdata release via post randomisation method".
- Sei, Ohsuga: randomised addition of sensitive values, equation 19.
- Guo 2010, chapters 3 and 4 (two attributes by Warner's design, loglinear models of CoIL 2000 with 5,822 records).
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import os
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

F = Fraction
PATH = Path(__file__).with_name("vectors.json")
TRAINING = 30162
ROWS = "the first 30,162 of adult.csv.gz"


def matrix(keep: F, size: int) -> list[list[F]]:
    """Return a column-stochastic matrix that keeps a value, or takes one of the others, all alike."""
    other = (1 - keep) / (size - 1)
    return [[keep if u == v else other for v in range(size)] for u in range(size)]


def squared_norm(keep: F, size: int) -> F | None:
    """Return the squared norm of each row of the inverse, whose eigenvalues are 1 and 1/rho; None if there is none."""
    rho = (size * keep - 1) / (size - 1)
    return (1 + (size - 1) / rho**2) / size if rho else None


def toy_table() -> dict[str, Any]:
    """Guo, Ying, Wu 2011: 100 people, gender known, disease sensitive."""
    counts = [[8, 16, 48], [12, 14, 2]]
    kept = [("1", "1"), ("1", "1/3"), ("1/2", "1"), ("1/2", "1/3"), ("4/5", "7/10"), ("19/20", "1/2"), ("3/5", "9/10")]
    return {
        "rows": ["Male", "Female"],
        "columns": ["Cancer", "Flu", "Anemia"],
        "counts": counts,
        "cases": [toy_case(counts, F(a), F(b)) for a, b in kept],
    }


def toy_case(counts: list[list[int]], p: F, q: F) -> dict[str, Any]:
    records, A, B = sum(map(sum, counts)), matrix(p, 2), matrix(q, 3)
    pi = [[F(n, records) for n in row] for row in counts]
    known = [sum(row) for row in pi]
    released = [sum(A[b][a] * known[a] for a in range(2)) for b in range(2)]
    back = [known[a] * sum(A[b][a] ** 2 / released[b] for b in range(2)) for a in range(2)]
    risk = []
    for a in range(2):
        c = [n / known[a] for n in pi[a]]
        seen = [sum(B[v][u] * c[u] for u in range(3)) for v in range(3)]
        risk.append(
            [c[u] * back[a] * c[u] * sum(B[v][u] ** 2 / seen[v] for v in range(3) if seen[v]) for u in range(3)]
        )
    norms = squared_norm(p, 2), squared_norm(q, 3)
    second = None if None in norms else norms[0] * norms[1]  # type: ignore[operator]
    squares = sum(n**2 for row in pi for n in row)
    return {
        "p_gender": float(p),
        "p_disease": float(q),
        "risk": [[float(r) for r in row] for row in risk],
        "max": float(max(map(max, risk))),
        "qi_reconstruction": [float(r) for r in back],
        "linking": [float(back[a] / (records * known[a])) for a in range(2)],
        "expected_l2_squared_of_this_table": None if second is None else float((second - 1) / records),
        "expected_l2_squared_of_the_population": None if second is None else float((second - squares) / records),
    }


def least_k(P: list[list[F]], records: int) -> F:
    """Return k by enumeration: 1 over the most that originals and the released multiset tell of who is which record."""
    most = F(0)
    for original in itertools.product(range(len(P[0])), repeat=records):
        for released in itertools.product(range(len(P)), repeat=records):
            ways = {
                order: math.prod(P[released[order[i]]][original[i]] for i in range(records))
                for order in itertools.permutations(range(records))
            }
            total = sum(ways.values())
            for i, j in itertools.product(range(records), repeat=2):
                if total:
                    most = max(most, F(sum(w for order, w in ways.items() if order[i] == j)) / total)
    return 1 / most


def retention_at(epsilon: float, sizes: list[int]) -> float:
    """Return the retention probability that all attributes have at a total epsilon, by bisection."""
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in {low, high}:
        exposed = sum(math.log1p(d * middle / (1 - middle)) for d in sizes)  # p/q = 1 + d rho/(1 - rho)
        low, high = (middle, high) if exposed <= epsilon else (low, middle)
    return low


def pk_anonymity() -> dict[str, Any]:
    """Ikarashi et al. 2014."""
    brute = [
        (2, "4/5 1/5;1/5 4/5"),
        (3, "7/10 3/10;3/10 7/10"),
        (3, "3/5 1/5 1/5;1/5 3/5 1/5;1/5 1/5 3/5"),
        (2, "1/2 1/4 1/4;1/4 1/2 1/4;1/4 1/4 1/2"),
        (3, "7/10 1/5;3/10 4/5"),
        (2, "3/5 1/10 1/5;3/10 7/10 1/5;1/10 1/5 3/5"),
    ]
    asked = [
        (45222, [16, 7, 2, 5, 7], 2),
        (45222, [16, 7, 2, 5, 7], 10),
        (10**6, [2, 10, 10], 2),
        (2458285, [2, 18, 12, 3], 5),
        (2458285, [2, 18, 12, 3, 3, 18, 20], 5),
    ]
    limited = [([16, 7, 2, 5, 7], 5.0), ([2], math.log(3)), ([2, 18, 12, 3], 8.0)]
    matrices = [(n, [[F(v) for v in row.split()] for row in text.split(";")]) for n, text in brute]
    return {
        "brute_force": [
            {"N": n, "matrix_columns_are_originals": [[float(v) for v in row] for row in P], "k": float(least_k(P, n))}
            for n, P in matrices
        ],
        "retention_for_k": [
            {"N": n, "domain_sizes": d, "k": k, "retention": retention_at(math.log((n - 1) / (k - 1)) / 2, d)}
            for n, d, k in asked
        ],
        "retention_for_epsilon": [
            {"domain_sizes": d, "epsilon": epsilon, "retention": retention_at(epsilon, d)} for d, epsilon in limited
        ],
    }


def addition(records: int, size: int, l: int) -> dict[str, Any]:
    """Return the mean over the values of the squared error of an estimated share, from the weights of a record.

    Its set holds the own value, and any other with probability q. Weights of 1 where the set holds a value, else
    -q/(1 - q), sum without bias to the value's count; the population is uniform.
    """
    q = F(l - 1, size - 1)
    square = q + (1 - q) * (q / (1 - q)) ** 2  # of a record of another value, whose expected weight is 0
    of_uniform = F(1, size) + (1 - F(1, size)) * square - F(1, size**2)
    return {
        "N": records,
        "S": size,
        "l": l,
        "this_table": float((1 - F(1, size)) * square / records),
        "population": float(of_uniform / records),
    }


WARNER = {
    "order": "00,01,10,11; covariance of the population",
    "lambda": [0.368, 0.097, 0.218, 0.316],
    "p": [0.9, 0.9],
    "N": 5822,
    "pi_hat_published": [0.427, 0.031, 0.181, 0.362],
    "cov_diag_published_1e5": [7.113, 2.902, 5.667, 6.566],
    "support_interval_95_published": [0.346, 0.378],
}
LOGLINEAR = {
    "N": 5822,
    "order": "000,001,010,011,100,101,110,111",
    "pi_ADG": [0.061, 0.0764, 0.1506, 0.1826, 0.1384, 0.1597, 0.1079, 0.1233],
    "chi2_published": {
        "A,D,G": {"1,1,1": 435.7, ".9,.9,.9": 177.16, ".7,.7,.7": 10.97, ".7,.8,.9": 24.82},
        "AD,G": {"1,1,1": 1.6, ".9,.9,.9": 0.61, ".7,.7,.7": 0.04, ".7,.8,.9": 0.15},
    },
}


def loglinear() -> dict[str, Any]:
    """Add the chi-square statistics of the printed proportions, whose models have closed forms."""
    found: dict[str, dict[str, float]] = {}
    for name, published in LOGLINEAR["chi2_published"].items():  # type: ignore[attr-defined]
        found[name] = {}
        for keep in published:
            x = np.array(LOGLINEAR["pi_ADG"]).reshape(2, 2, 2)
            records, x = LOGLINEAR["N"] * x.sum(), x / x.sum()  # type: ignore[operator]
            for axis, p in enumerate(map(float, keep.split(","))):
                x = np.moveaxis(np.tensordot([[p, 1 - p], [1 - p, p]], x, axes=(1, axis)), 0, axis)
            pair = x.sum(2) if name == "AD,G" else np.multiply.outer(x.sum((1, 2)), x.sum((0, 2)))
            fitted = np.multiply.outer(pair, x.sum((0, 1)))
            found[name][keep] = float(records * ((x - fitted) ** 2 / fitted).sum())
    return {**LOGLINEAR, "chi2": found}


ATTRIBUTES = ["education", "marital_status", "sex", "race", "workclass"]
PUBLISHED = [
    ("rr-qi", 2, [0.824, 0.872, 0.92, 0.941, 1]),
    ("rr-qi", 3, [0.548, 0.812, 0.898, 0.985, 1]),
    ("rr-qi", 4, [0.382, 0.736, 0.918, 0.961, 1]),
    ("rr-qi", 5, [0.314, 0.615, 0.873, 0.938, 1]),
    ("rr-both", 2, [0.824, 0.872, 0.92, 0.941, 1]),
    ("rr-both", 3, [0.573, 0.821, 0.913, 0.973, 0.955]),
    ("rr-both", 4, [0.428, 0.78, 0.926, 0.953, 0.871]),
    ("rr-both", 5, [0.353, 0.688, 0.902, 0.953, 0.813]),
]
"""Keep probabilities as printed, by mechanism and the limit 1/l of the risk."""
COEFFICIENTS = {
    "E-S": 11.54, "E-G": 0.68, "E-R": 1.92, "S-G": 4.12, "S-R": 1.07,
    "G-R": 1.08, "E-O": 9.9, "S-O": 2.74, "G-O": 4.4, "R-O": 0.57,
}  # fmt: skip
"""Uncertainty coefficients of Adult as printed, in hundredths; G-R was printed for (race, sex)."""


class Risk:
    """The risks of an array of counts whose last axis is the sensitive attribute, all others known."""

    def __init__(self, counts: np.ndarray) -> None:
        self.pi = counts / counts.sum()
        self.known = self.pi.sum(-1, keepdims=True)
        self.c = np.divide(self.pi, self.known, out=np.zeros_like(self.pi), where=self.known > 0)

    def __call__(self, keep: np.ndarray) -> np.ndarray:
        matrices = [np.array([[p if u == v else (1 - p) / (d - 1) for v in range(d)] for u in range(d)])
                    for p, d in zip(keep, self.pi.shape, strict=True)]  # fmt: skip
        released, back = self.known[..., 0], None
        for axis, P in enumerate(matrices[:-1]):
            released = np.moveaxis(np.tensordot(P, released, axes=(1, axis)), 0, axis)
        back = np.divide(1, released, out=np.zeros_like(released), where=released > 0)
        for axis, P in enumerate(matrices[:-1]):
            back = np.moveaxis(np.tensordot(P.T**2, back, axes=(1, axis)), 0, axis)
        seen = self.c @ matrices[-1].T
        own = self.c * (np.divide(1, seen, out=np.zeros_like(seen), where=seen > 0) @ matrices[-1] ** 2)
        return (self.c * (self.known[..., 0] * back)[..., None] * own)[self.pi > 0]


def log_objective(keep: Any, shape: tuple[int, ...]) -> float:
    """Return the sum of log ||P^-1||_F^2, which the papers minimise (Guo, Ying, Wu 2011, result 2)."""
    return sum(math.log(1 + (d - 1) * ((d - 1) / (d * float(p) - 1)) ** 2) for p, d in zip(keep, shape, strict=True))


def best(risk: Risk, mechanism: str, l: int, start: list[float]) -> list[float]:
    """Return the keep probabilities of the least objective whose risks are at most 1/l, from the published ones."""
    from scipy.optimize import minimize

    shape, free = risk.pi.shape, 5 if mechanism == "rr-both" else 4

    def whole(p: np.ndarray) -> np.ndarray:
        return np.append(p, [1.0] * (5 - free))

    x = np.minimum(start[:free], 0.999)
    for _ in range(6):
        near = np.argsort(risk(whole(x)))[-60:]  # the least objective lies where few risks are at their limit
        x = minimize(
            lambda p: log_objective(whole(p), shape), x, method="SLSQP",
            bounds=[(1 / d + 1e-3, 1.0) for d in shape[:free]],
            constraints={"type": "ineq", "fun": lambda p, near=near: 1 / l - 1e-12 - risk(whole(p))[near]},
            options={"ftol": 1e-14, "maxiter": 300},
        ).x  # fmt: skip
    return [float(p) for p in whole(x)]


def adult_rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", newline="") as file:
        return list(itertools.islice(csv.DictReader(file), TRAINING))


def adult_risks(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Guo, Ying, Wu 2011: what is published on Adult, and what is best."""
    domains = [sorted({row[name] for row in rows}) for name in ATTRIBUTES]
    counts = np.zeros([len(d) for d in domains])
    for cell, n in Counter(
        tuple(d.index(row[a]) for d, a in zip(domains, ATTRIBUTES, strict=True)) for row in rows
    ).items():
        counts[cell] = n
    risk = Risk(counts)

    def case(mechanism: str, l: int, keep: list[float]) -> dict[str, Any]:
        worst = float(risk(np.array(keep)).max())
        objective = log_objective(keep, counts.shape)
        return {"mechanism": mechanism, "l": l, "p": keep, "log_objective": objective, "max_risk": worst}

    return {
        "rows": ROWS,
        "attributes": ATTRIBUTES,
        "sensitive": ATTRIBUTES[-1],
        "shape": list(counts.shape),
        "records": len(rows),
        "published": [case(*printed) for printed in PUBLISHED],
        "best_known": [case(m, l, best(risk, m, l, p)) for m, l, p in PUBLISHED],
    }


def uncertainty(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Return 100 I(row; column)/H(column) of pairs of attributes of Adult."""
    names = ["education", "salary_class", "sex", "race", "occupation"]

    def entropy(*chosen: str) -> float:
        counts = Counter(tuple(row[name] for name in chosen) for row in rows)
        return -math.fsum(n / len(rows) * math.log(n / len(rows)) for n in counts.values())

    pairs = itertools.combinations(names, 2)
    values = {f"{a}|{b}": 100 * (entropy(a) + entropy(b) - entropy(a, b)) / entropy(b) for a, b in pairs}
    return {"rows": ROWS, "values": values, "published": COEFFICIENTS}


def without_data() -> dict[str, Any]:
    """Return everything that needs no table."""
    cases = [(400, 8, 3), (1000, 20, 5), (1000, 100, 18), (45222, 6, 2)]
    return {
        "toy_table": toy_table(),
        "pk_anonymity": pk_anonymity(),
        "addition": {"cases": [addition(*case) for case in cases]},
        "warner_2x2": WARNER,
        "loglinear": loglinear(),
    }


def of_adult(path: Path) -> dict[str, Any]:
    """Return what is computed of the Adult table."""
    rows = adult_rows(path)
    return {"adult_emgrw": adult_risks(rows), "uncertainty_coefficient_x100_adult": uncertainty(rows)}


if __name__ == "__main__":
    table = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(os.environ["RRPOLICY_DATA"]) / "adult.csv.gz"
    PATH.write_text(json.dumps(without_data() | of_adult(table), indent=1) + "\n")
