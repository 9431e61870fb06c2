"""The optimiser: against brute force under a cap on epsilon, and against the best known parameters on Adult."""

from __future__ import annotations

import gzip
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, check_grad

from rrpolicy.channels.probability import keep_probability
from rrpolicy.errors import RequirementError
from rrpolicy.frozen import replace
from rrpolicy.optimize.retention.constraints import CachedConstraints, largest_feasible_common
from rrpolicy.optimize.retention.optimizer import minimise_error, move_inside, solve_common_retention
from rrpolicy.optimize.retention.problem import (
    Allocation,
    ExpectedError,
    MarginalErrorTerm,
    RetentionVariable,
)
from rrpolicy.privacy.model import Smooth


def marginal_error_term(weight, variables, sizes):
    return MarginalErrorTerm(
        weight,
        np.array(variables, dtype=np.int64),
        np.array(sizes, dtype=np.float64).reshape(1, len(sizes)),
        np.ones(1),
    )


def whole_table(sizes):
    """sum_a log ||P_a^-1||_F^2 for retention (Guo, Ying, Wu 2011, Problem 1)."""
    return ExpectedError((marginal_error_term(1.0, range(len(sizes)), sizes),), math.fsum(math.log(d) for d in sizes))


def common_retention(sizes, epsilon):
    """The one retention at which sum_a log(p_a/q_a) is epsilon."""
    return brentq(lambda r: sum(math.log1p(d * r / (1 - r)) for d in sizes) - epsilon, 0, 1 - 1e-12, xtol=1e-14)


def cap(sizes, epsilon):
    """sum_a log(p_a/q_a) <= epsilon, as a constraint."""
    d = np.array(sizes, dtype=float)

    def value(p):
        with np.errstate(divide="ignore"):
            return np.array([np.sum(np.log(p) - np.log((1 - p) / (d - 1)))]) / epsilon - 1

    def jacobian(p):
        return (1 / p + 1 / (1 - p))[None, :] / epsilon

    return Smooth(value, jacobian, f"epsilon <= {epsilon}")


def within(sizes, epsilon):
    """The exact decision: the product of p/q is at most e^epsilon, bracketed by a rational a hair below it."""
    limit = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**12))

    def feasible(keep):
        product = Fraction(1)
        for p, d in zip(keep, sizes, strict=True):
            if p == 1:
                return False
            product *= p * (d - 1) / (1 - p)
        return product <= limit

    return feasible


def problem(sizes, epsilon, objective=None, digits=5):
    return Allocation(
        tuple(RetentionVariable(f"a{i}", (d,)) for i, d in enumerate(sizes)),
        objective or whole_table(sizes),
        (cap(sizes, epsilon),),
        within(sizes, epsilon),
        digits,
    )


def brute_force(sizes, epsilon):
    """The least sum_a log ||P_a^-1||_F^2 over all shares of epsilon on a fine grid, attribute by attribute."""
    grid = np.linspace(1e-4, epsilon, 200_001)

    def error(d):
        rho = np.expm1(grid) / (np.expm1(grid) + d)
        return np.log1p((d - 1) / rho**2)

    best = error(sizes[0])
    for d in sizes[1:]:
        other = error(d)
        steps = np.linspace(0, len(grid) - 1, 2001).astype(int)
        combined = np.full(len(grid), np.inf)
        coarse = best[steps][:, None] + other[steps][None, :]
        total = grid[steps][:, None] + grid[steps][None, :]
        index = np.searchsorted(grid, total.ravel())
        inside = index < len(grid)
        np.minimum.at(combined, index[inside], coarse.ravel()[inside])
        best = np.minimum.accumulate(combined)
    return float(best[-1])


@pytest.mark.parametrize(
    ("sizes", "epsilon"),
    [((16, 7, 2, 5, 7), 5.0), ((2, 10, 10), 6.9), ((2, 18, 12, 3), 8.0), ((3, 3), 0.5), ((2,), 1.0)],
)
def test_a_cap_on_epsilon_is_solved_as_well_as_by_brute_force(sizes, epsilon):
    solution = minimise_error(problem(sizes, epsilon))

    assert within(sizes, epsilon)(solution.keep)
    if len(sizes) <= 3:
        assert solution.objective <= brute_force(sizes, epsilon) + 1e-6
    # Stationary: the price of epsilon is the same for every attribute.
    rho, d = np.array(solution.retention), np.array(sizes, dtype=float)
    gain = (2 * (d - 1) / rho**3) / (1 + (d - 1) / rho**2)
    cost = d / ((1 - rho) * (1 - rho + d * rho))
    assert np.ptp(gain / cost) <= 1e-3 * np.max(gain / cost)


@pytest.mark.parametrize(
    ("sizes", "epsilon"),
    [
        ((2,) * 20, 1.0),
        ((1000, 2, 50, 3), 3.0),
        ((5,) * 8, 0.01),
        ((50_000, 2), 2.0),
        ((3,) * 30, 40.0),
        ((2, 3, 4), 1e-9),
    ],
)
def test_the_search_copes_with_unequal_domains_and_extreme_caps(sizes, epsilon):
    task = problem(sizes, epsilon)

    solution = minimise_error(task)

    assert solution.agreed >= 4
    assert within(sizes, epsilon)(solution.keep)
    if len(set(sizes)) == 1:
        assert solution.objective == pytest.approx(solve_common_retention(task).objective, rel=1e-9)
    else:
        assert solution.objective < solve_common_retention(task).objective - 0.1


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(2, 20), min_size=1, max_size=5), epsilon=st.floats(0.05, 20))
def test_solved_channels_satisfy_the_cap_exactly_and_are_never_worse_than_equal(sizes, epsilon):
    task = problem(sizes, epsilon)

    equal, optimal = solve_common_retention(task), minimise_error(task)

    for solution in (equal, optimal):
        assert within(sizes, epsilon)(solution.keep)
        assert all(Fraction(1, d) < p <= 1 for p, d in zip(solution.keep, sizes, strict=True))
        assert all(
            p <= keep_probability(Fraction(r), d)
            for p, r, d in zip(solution.keep, solution.retention, sizes, strict=True)
        )
    rho = [
        np.array([float((d * p - 1) / (d - 1)) for p, d in zip(s.keep, sizes, strict=True)]) for s in (equal, optimal)
    ]
    assert task.objective.value(rho[1]) <= task.objective.value(rho[0]) + 1e-12


@settings(deadline=None)
@given(sizes=st.lists(st.integers(2, 20), min_size=1, max_size=5), epsilon=st.floats(0.05, 20))
def test_the_equal_allocation_is_the_bisection(sizes, epsilon):
    assert solve_common_retention(problem(sizes, epsilon)).retention[0] == pytest.approx(
        common_retention(sizes, epsilon), rel=1e-10, abs=1e-12
    )


def test_the_equal_allocation_reaches_the_reference(vectors):
    for case in vectors["pk_anonymity"]["retention_for_k"]:
        epsilon = math.log((case["N"] - 1) / (case["k"] - 1)) / 2

        found = solve_common_retention(problem(case["domain_sizes"], epsilon)).retention

        assert found[0] == pytest.approx(case["retention"], abs=1e-9)


def test_the_smallest_of_several_requirements_counts():
    sizes = (4, 4)
    both = Allocation(
        tuple(RetentionVariable(a, (4,)) for a in "ab"),
        whole_table(sizes),
        (cap(sizes, 3.0), cap(sizes, 2.0)),
        within(sizes, 2.0),
    )

    assert solve_common_retention(both).retention == solve_common_retention(problem(sizes, 2.0)).retention
    assert solve_common_retention(both).active == ("epsilon <= 2.0",)


def test_nothing_required_means_nothing_randomised():
    free = Allocation(
        (RetentionVariable("a", (4,)), RetentionVariable("b", (3,))), whole_table((4, 3)), (), lambda _: True
    )

    assert minimise_error(free).keep == (1, 1)
    assert solve_common_retention(free).keep == (1, 1)


def test_what_no_retention_satisfies_is_refused_with_the_floor():
    never = Smooth(lambda p: np.array([0.5]), lambda p: np.zeros((1, 2)), "risk <= 1/3")
    task = Allocation(
        (RetentionVariable("a", (4,)), RetentionVariable("b", (3,))),
        whole_table((4, 3)),
        (never,),
        lambda _: False,
        5,
        lambda: ("1/2", "raise it", None),
    )

    for solve in (solve_common_retention, minimise_error):
        with pytest.raises(RequirementError, match="RR102.*risk <= 1/3; 1/2"):
            solve(task)


def test_a_solution_that_the_assessors_refuse_is_pulled_back():
    sizes, epsilon = (6, 3), 4.0
    strict = Allocation(
        tuple(RetentionVariable(a, (d,)) for a, d in zip("ab", sizes, strict=True)),
        whole_table(sizes),
        (cap(sizes, epsilon),),
        within(sizes, 0.9 * epsilon),
    )

    solution = minimise_error(strict)

    assert within(sizes, 0.9 * epsilon)(solution.keep)
    assert 0.5 < solution.pulled_back < 1
    assert not within(sizes, 0.89 * epsilon)(solution.keep)


def test_the_largest_common_retention_is_at_the_limit_of_a_constraint():
    """The levels are tried from above, then the gap to the last refused one is halved."""
    least = Smooth(lambda p: np.array([p[0] - 0.8]), lambda p: np.array([[1.0, 0.0]]), "keep <= 4/5")
    task = Allocation(
        tuple(RetentionVariable(a, (d,)) for a, d in zip("ab", (2, 2), strict=True)),
        whole_table((2, 2)),
        (least,),
        lambda keep: float(keep[0]) <= 0.8,
        8,
    )
    common = largest_feasible_common(CachedConstraints(task, np.array([2, 2])))

    assert (1 + common) / 2 == pytest.approx(0.8, abs=1e-9)
    with pytest.raises(RequirementError, match="RR102"):
        move_inside(replace(task, feasible=lambda _: False), np.full(2, common), np.full(2, common / 2))


def test_more_decimals_come_closer():
    gaps = []
    for digits in (5, 8, 11):
        solution = minimise_error(problem((16, 7, 2), 5.0, digits=digits))
        gaps.append(max(u - float(p) for u, p in zip(solution.unrounded, solution.keep, strict=True)))

    assert gaps[0] <= 1e-5
    assert gaps[1] <= 1e-8
    assert gaps[2] <= 2e-11


def random_terms(rng, sizes):
    blocks = [[d] if d < 4 else [2, d - 2] for d in sizes]
    terms = []
    for variables in ([0], [1, 2], list(range(len(sizes)))):
        cells = 4
        terms.append(
            MarginalErrorTerm(
                float(rng.uniform(0.5, 2)),
                np.array(variables),
                np.array([[rng.choice(blocks[v]) for v in variables] for _ in range(cells)], dtype=float),
                rng.dirichlet(np.ones(cells)),
            )
        )
    return ExpectedError(tuple(terms))


def test_gradients_agree_with_differences():
    rng = np.random.default_rng(5)
    for _ in range(10):
        objective = random_terms(rng, (3, 5, 7))
        error = check_grad(
            objective.value, lambda r, o=objective: o.value_and_gradient(r)[1], rng.uniform(0.2, 0.9, 3), epsilon=1e-7
        )
        assert error < 1e-4


def test_the_expected_error_of_plain_retention_is_the_product_formula():
    sizes, rho = (4, 3), np.array([0.4, 0.7])
    norms = [np.sum(np.linalg.inv(r * np.eye(d) + (1 - r) / d) ** 2) for r, d in zip(rho, sizes, strict=True)]

    assert whole_table(sizes).value(rho) == pytest.approx(math.log(norms[0] * norms[1]), rel=1e-13)


def test_a_workload_spends_the_noise_where_it_is_not_looked_at():
    sizes = (8, 8, 8)
    looked_at = ExpectedError(
        (marginal_error_term(1.0, [0], [8]), marginal_error_term(0.01, [1], [8]), marginal_error_term(0.01, [2], [8]))
    )

    solution = minimise_error(problem(sizes, 5.0, looked_at))

    assert solution.retention[0] > 2 * solution.retention[1]
    assert solution.retention[1] == pytest.approx(solution.retention[2], rel=1e-3)
    assert looked_at.value(np.array(solution.retention)) < looked_at.value(
        np.full(3, solve_common_retention(problem(sizes, 5.0)).retention[0])
    )


class Linking:
    """risk/tau - 1 at the occupied cells, dense and plain (Guo, Ying, Wu 2011, eq. 9): the reference of these tests."""

    def __init__(self, counts, tau, sensitive_too):
        self.pi = counts / counts.sum()
        self.tau, self.sensitive_too = tau, sensitive_too
        self.q = self.pi.sum(-1)
        self.c = np.divide(self.pi, self.q[..., None], where=self.q[..., None] > 0, out=np.zeros_like(self.pi))
        self.occupied = self.pi > 0

    @staticmethod
    def apply(x, axis, a, b):
        return a * x + b * x.sum(axis=axis, keepdims=True)

    def chain(self, x, parameters, special=None, entry=(0.0, 0.0)):
        for axis, (a, b) in enumerate(parameters):
            x = self.apply(x, axis, *(entry if axis == special else (a, b)))
        return x

    def parts(self, p):
        d = np.array(self.pi.shape[: len(p)])
        q = (1 - p) / (d - 1)
        m = self.pi.ndim - 1
        plain = list(zip(p - q, q, strict=True))
        square = list(zip(p**2 - q**2, q**2, strict=True))
        slope = [(1 + 1 / (k - 1), -1 / (k - 1)) for k in d]
        square_slope = [(2 * a + 2 * b / (k - 1), -2 * b / (k - 1)) for a, b, k in zip(p, q, d, strict=True)]
        lam = self.chain(self.q, plain[:m])
        r_qi = self.q * self.chain(1 / lam, square[:m])
        r_qi_slopes = []
        for j in range(m):
            moved = self.chain(self.q, plain[:m], j, slope[j])
            r_qi_slopes.append(
                self.q * (self.chain(-moved / lam**2, square[:m]) + self.chain(1 / lam, square[:m], j, square_slope[j]))
            )
        if not self.sensitive_too:
            return r_qi, r_qi_slopes, np.ones_like(self.pi), None
        out = self.apply(self.c, m, *plain[m])
        inverse = np.divide(1.0, out, where=out > 0, out=np.zeros_like(out))
        r_s = self.c * self.apply(inverse, m, *square[m])
        moved = self.apply(self.c, m, *slope[m])
        r_s_slope = self.c * (self.apply(-moved * inverse**2, m, *square[m]) + self.apply(inverse, m, *square_slope[m]))
        return r_qi, r_qi_slopes, r_s, r_s_slope

    def value(self, p):
        with np.errstate(divide="ignore", invalid="ignore"):
            r_qi, _, r_s, _ = self.parts(p)
        return (self.c * r_qi[..., None] * r_s)[self.occupied] / self.tau - 1

    def jacobian(self, p):
        r_qi, slopes, r_s, r_s_slope = self.parts(p)
        rows = [(self.c * s[..., None] * r_s)[self.occupied] for s in slopes]
        if r_s_slope is not None:
            rows.append((self.c * r_qi[..., None] * r_s_slope)[self.occupied])
        return np.array(rows).T / self.tau


@pytest.fixture(scope="module")
def emgrw(adult_csv, vectors):
    reference = vectors["adult_emgrw"]
    with gzip.open(adult_csv, "rt") as file:
        table = pd.read_csv(file, nrows=reference["records"], usecols=reference["attributes"])
    counts = np.zeros(reference["shape"])
    np.add.at(counts, tuple(pd.factorize(table[a], sort=True)[0] for a in reference["attributes"]), 1)
    return counts


@pytest.mark.adult
def test_the_reference_risk_is_the_published_one(emgrw, vectors):
    for case in vectors["adult_emgrw"]["published"]:
        both = case["mechanism"] == "rr-both"
        risk = Linking(emgrw, 1.0, both)

        assert risk.value(np.array(case["p"][: 5 if both else 4])).max() + 1 == pytest.approx(
            case["max_risk"], abs=1e-12
        )


@pytest.mark.adult
def test_thousands_of_risk_cells_are_solved_as_well_as_is_known(emgrw, vectors):
    for case in vectors["adult_emgrw"]["best_known"]:
        both = case["mechanism"] == "rr-both"
        sizes = emgrw.shape if both else emgrw.shape[:4]
        risk = Linking(emgrw, 1 / case["l"], both)
        task = Allocation(
            tuple(RetentionVariable(str(i), (d,)) for i, d in enumerate(sizes)),
            whole_table(sizes),
            (Smooth(risk.value, risk.jacobian, f"risk <= 1/{case['l']}"),),
            lambda keep, r=risk: bool(r.value(np.array([float(p) for p in keep])).max() <= 0),
        )

        solution = minimise_error(task)

        known = case["log_objective"] - (0 if both else math.log(emgrw.shape[4]))
        assert solution.objective <= known + 1e-6
        assert task.feasible(solution.keep)
        assert solution.agreed == solution.starts
        assert max(e.value for e in solution.evaluations) <= 60
        assert max(e.jacobian for e in solution.evaluations) <= 30


def test_the_solver_is_deterministic():
    assert minimise_error(problem((16, 7, 2, 5), 4.0)) == minimise_error(problem((16, 7, 2, 5), 4.0))


def test_one_attribute_takes_the_whole_cap():
    # Closed form: rho/(1 - rho) = (e^epsilon - 1)/d.
    d, epsilon = 5, 1.7
    rho = brentq(lambda r: math.log1p(d * r / (1 - r)) - epsilon, 1e-9, 1 - 1e-9)

    assert minimise_error(problem((d,), epsilon)).retention[0] == pytest.approx(rho, rel=1e-9)
