"""The quadratic programming of the search, held against scipy and against what an optimum must satisfy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import Bounds, brentq, minimize, nnls

from rrpolicy.solve.retention.descent import Search, crossing, nonnegative, quadratic


def test_nonnegative_least_squares_are_those_of_scipy():
    rng = np.random.default_rng(1)
    for _ in range(500):
        rows, count = rng.integers(1, 12), rng.integers(1, 40)
        columns = rng.normal(size=(rows, count))
        columns /= np.linalg.norm(columns, axis=0)
        if count > 3:
            columns[:, 0], columns[:, 1] = columns[:, 2], -columns[:, 3]  # one twice, one opposite another
        target = rng.normal(size=rows)

        found = nonnegative(columns, target)

        assert found.min() >= 0
        assert np.linalg.norm(columns @ found - target) == pytest.approx(nnls(columns, target)[1], abs=1e-9)


def test_a_quadratic_programme_is_solved_to_its_conditions_of_optimality():
    rng = np.random.default_rng(2)
    solved = 0
    for _ in range(500):
        n, m = rng.integers(1, 9), rng.integers(1, 30)
        half = rng.normal(size=(n, n))
        curvature, gradient = half @ half.T + 0.1 * np.eye(n), rng.normal(size=n)
        rows, room = rng.normal(size=(m, n)), rng.normal(size=m) + rng.choice([0.0, 1.0])

        found = quadratic(curvature, gradient, rows, room)

        if found is None:
            assert minimize_slack(rows, room) > 1e-9
            continue
        solved += 1
        step, price = found
        scale = 1 + np.abs(step).max()
        assert price.min() >= 0
        assert (rows @ step - room).max() <= 1e-7 * scale
        assert np.abs(curvature @ step + gradient + price @ rows).max() <= 1e-6 * scale * (1 + price.max())
        assert np.abs(price * (rows @ step - room)).max() <= 1e-6 * scale * (1 + price.max())
    assert 100 < solved < 500


def minimize_slack(rows, room):
    """Return the least amount that all right-hand sides must be raised by, so that something satisfies them."""
    from scipy.optimize import linprog

    n = rows.shape[1]
    with_slack = np.column_stack([rows, -np.ones(len(rows))])
    return linprog(np.eye(n + 1)[n], with_slack, room, bounds=[(None, None)] * n + [(0, None)]).fun


def test_what_contradicts_itself_has_no_minimum():
    assert quadratic(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0])) is None


def test_what_no_step_changes_is_in_no_ones_way_unless_it_is_exceeded():
    flat, one = np.array([[0.0]]), np.eye(1)

    step, price = quadratic(one, -np.ones(1), flat, np.zeros(1))

    assert step == pytest.approx([1.0])
    assert price == pytest.approx([0.0])
    assert quadratic(one, -np.ones(1), flat, np.array([-1.0])) is None


def rosenbrock(x):
    value = float(sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
    slope = np.zeros_like(x)
    slope[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    slope[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return value, slope


def product(x):
    """Hock and Schittkowski's problem 71 without its equation: x1 x4 (x1 + x2 + x3) + x3."""
    a, b, c, d = x
    return float(a * d * (a + b + c) + c), np.array([d * (2 * a + b + c), a * d, a * d + 1, a * (a + b + c)])


def logarithms(x):
    """What the search meets: the errors of four attributes in the logarithms of their retentions."""
    d, rho = np.array([2.0, 5, 8, 20]), np.exp(x)
    return float(np.log1p((d - 1) / rho**2).sum()), -2 * (d - 1) / rho**2 / (1 + (d - 1) / rho**2)


CASES = {
    "Rosenbrock in a ball": (
        rosenbrock,
        lambda x: np.array([x @ x - 1.5]),
        lambda x: 2 * x[None, :],
        (-2.0, 2.0),
        np.array([-1.2, 1.0, 0.5]),
    ),
    "Hock and Schittkowski 71": (
        product,
        lambda x: np.array([25 - np.prod(x), 30 - x @ x]),
        lambda x: np.array([-np.prod(x) / x, -2 * x]),
        (1.0, 5.0),
        np.array([1.0, 5.0, 5.0, 1.0]),
    ),
    "errors under two caps": (
        logarithms,
        lambda x: np.array([np.exp(x).sum() - 1.3, np.exp(2 * x[:2]).sum() - 0.2]),
        lambda x: np.array([np.exp(x), np.exp(2 * x) * [2, 2, 0, 0]]),
        (-20.0, -1e-9),
        np.full(4, -3.0),
    ),
    "from where a cap is far exceeded": (
        logarithms,
        lambda x: np.array([math.log(np.exp(x).sum() / 0.01)]),
        lambda x: np.exp(x)[None, :] / np.exp(x).sum(),
        (-20.0, -1e-9),
        np.full(4, -0.1),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_search_ends_where_that_of_scipy_does(case):
    objective, constraints, slopes, (low, high), start = CASES[case]
    n = len(start)
    peer = minimize(
        lambda x: objective(x)[0],
        start,
        jac=lambda x: objective(x)[1],
        bounds=Bounds(np.full(n, low), np.full(n, high)),
        constraints=[{"type": "ineq", "fun": lambda x: -constraints(x), "jac": lambda x: -slopes(x)}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 200},
    )
    search = Search(objective, constraints, slopes, np.full(n, low), np.full(n, high))

    found, curvature = search.descend(start, np.eye(n), 1e-12, 200)

    assert peer.success
    assert constraints(found).max() <= 1e-9
    assert objective(found)[0] == pytest.approx(peer.fun, rel=1e-7, abs=1e-9)
    assert found == pytest.approx(peer.x, abs=1e-4)
    assert np.linalg.eigvalsh(curvature).min() > 0


def test_constraints_that_no_step_mends_at_once_are_mended_by_and_by():
    # At the start the tangent of the first asks for x <= -2.5, the second for x >= -2.1: part of the excess can go.
    search = Search(
        lambda x: (float(x @ x), 2 * x),
        lambda x: np.array([x[0] ** 3 / 3 + 1, -x[0] - 2.1]),
        lambda x: np.array([[x[0] ** 2], [-1.0]]),
        np.full(1, -5.0),
        np.full(1, 5.0),
    )

    found, _ = search.descend(np.array([-0.7]), np.eye(1), 1e-10, 50)

    assert found[0] == pytest.approx(-(3 ** (1 / 3)), abs=1e-6)


def test_a_search_ends_after_so_many_steps():
    asked = []
    search = Search(
        lambda x: (asked.append(1), rosenbrock(x))[1],
        lambda x: np.array([x @ x - 100]),
        lambda x: 2 * x[None, :],
        np.full(2, -2.0),
        np.full(2, 2.0),
    )

    search.descend(np.array([-1.2, 1.0]), np.eye(2), 1e-12, 3)

    assert len(asked) <= 3 * 10 + 1


@pytest.mark.parametrize("size", [2, 5, 1000])
@pytest.mark.parametrize("limit", [1e-9, 0.01, 3, 20])
def test_a_crossing_is_found_from_below(size, limit):
    def rises(x):
        rho = math.exp(x)
        return math.log1p(size * rho / (1 - rho)) - limit

    low, high = math.log(2**-40), math.log1p(-1e-9)
    asked = []

    found = crossing(lambda x: (asked.append(x), rises(x))[1], low, high, 1e-13)

    assert rises(found) <= 0
    assert found == pytest.approx(brentq(rises, low, high, xtol=1e-15, rtol=1e-14), abs=2e-13)
    assert len(asked) <= 40
