"""RR-Both, RR-QI and RR-S on Adult's training records: published parameters, best known ones, and a refusal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pytest

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import weight_norms
from rrpolicy.errors import RequirementError
from rrpolicy.finding import Verdict
from rrpolicy.mechanism import Task
from rrpolicy.optimize.retention.allocate import allocation_problem
from rrpolicy.optimize.retention.optimizer import minimise_error
from rrpolicy.optimize.retention.template import ChannelTemplate
from rrpolicy.planning.assess import assess
from rrpolicy.planning.plan import make_plan
from rrpolicy.planning.policy_opening import OpenedPolicy, open_policy
from rrpolicy.source.opening import open_original

pytestmark = pytest.mark.adult

Write = Callable[[str, int], Path]
CASES = [(mechanism, l) for mechanism in ("rr-qi", "rr-both") for l in (2, 3, 4, 5)]


@pytest.fixture(scope="module")
def policy(adult_csv: Path, vectors: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Return a function that writes the policy of a mechanism with risk <= 1/l on the first 30,162 rows."""
    folder = tmp_path_factory.mktemp("adult")
    reference = vectors["adult_emgrw"]
    names = reference["attributes"]
    with duckdb.connect() as connection:
        table = connection.read_csv(str(adult_csv)).limit(reference["records"]).project(", ".join(names))
        table.write_parquet(str(folder / "adult.parquet"))
    roles = {name: "sensitive" if name == reference["sensitive"] else "quasi-identifier" for name in names}
    lines = "\n".join(f'{name} = {{ role = "{role}", domain = "observed" }}' for name, role in roles.items())

    def write(mechanism: str, l: int) -> Path:
        path = folder / f"{mechanism}-{l}.toml"
        path.write_text(
            'schema = 1\n[policy]\nname = "adult"\nversion = "1.0.0"\nowner = "office"\npurpose = "a reproduction"\n'
            f'[source]\nuri = "adult.parquet"\n[attributes]\n{lines}\n'
            f'[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "1/{l}"\n[mechanism]\nname = "{mechanism}"\n'
        )
        return path

    return write


@contextmanager
def opened(path: Path) -> Iterator[tuple[OpenedPolicy, Any]]:
    policy = open_policy(path)
    with open_original(policy.policy, policy.registry.sources, path.parent / "scratch") as original:
        yield policy, original


def dense_risk(pi: npt.NDArray[np.float64], keep: list[float]) -> float:
    """Return the largest c_u R_QI R_S with full matrices, nothing shared with the product."""
    matrices = [(p - (1 - p) / (d - 1)) * np.eye(d) + (1 - p) / (d - 1) for p, d in zip(keep, pi.shape, strict=True)]

    def along(x: npt.NDArray[np.float64], parts: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        for axis, matrix in enumerate(parts):
            x = np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
        return x

    known = pi.sum(axis=-1)
    back = known * along(1 / along(known, matrices[:-1]), [m.T**2 for m in matrices[:-1]])
    c = np.divide(pi, known[..., None], out=np.zeros_like(pi), where=known[..., None] > 0)
    released = c @ matrices[-1].T
    inverse = np.divide(1, released, out=np.zeros_like(released), where=released > 0)
    own = c * (inverse @ matrices[-1] ** 2)
    return float((c * back[..., None] * own)[pi > 0].max())


def log_norms(channel: Product) -> float:
    """Return the sum of log ||P_a^-1||_F^2 of retentions and identities."""
    return float(sum(np.log(weight_norms(axis, axis.attributes) * axis.original_size) for axis in channel.axes))


@pytest.mark.parametrize("mechanism", ["rr-qi", "rr-both"])
def test_published_parameters_have_the_listed_risks(policy: Write, vectors: dict[str, Any], mechanism: str) -> None:
    with opened(policy(mechanism, 2)) as (made, original):
        for case in (c for c in vectors["adult_emgrw"]["published"] if c["mechanism"] == mechanism):
            axes = [
                Retention.uniform(a.name, a.domain or (), Fraction(str(p))) if p < 1 else Identity.of(a.name, a.domain)
                for a, p in zip(original.policy.released, case["p"], strict=True)
            ]
            channel = Product.of(original.policy.released, axes)

            (finding,) = assess(original.policy, made.registry, channel, original).findings

            assert finding.achieved is not None
            assert finding.achieved.value == pytest.approx(case["max_risk"], abs=1e-9)
            assert finding.verdict is (Verdict.SATISFIED if case["max_risk"] <= 0.5 else Verdict.FAILED)
            assert log_norms(channel) == pytest.approx(case["log_objective"], abs=1e-9)


@pytest.mark.parametrize(("mechanism", "l"), CASES)
def test_solved_parameters_hold_and_are_as_good_as_is_known(
    policy: Write, vectors: dict[str, Any], mechanism: str, l: int
) -> None:
    known = next(c for c in vectors["adult_emgrw"]["best_known"] if (c["mechanism"], c["l"]) == (mechanism, l))
    with opened(policy(mechanism, l)) as (made, original):
        plan = make_plan(made.policy, made.registry, original)
        (finding,) = assess(plan.policy, made.registry, plan.channel, original).findings
        pi = original.counts(*vectors["adult_emgrw"]["attributes"]).dense() / original.records

    assert isinstance(plan.channel, Product)
    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved is not None
    assert finding.achieved.value <= 1 / l
    objective = log_norms(plan.channel)
    assert abs(objective - known["log_objective"]) <= 1e-3
    keep = [float(axis.blocks[0].keep) if isinstance(axis, Retention) else 1.0 for axis in plan.channel.axes]
    assert finding.achieved.value == pytest.approx(dense_risk(pi, keep), rel=1e-12)
    assert dense_risk(pi, keep) <= 1 / l
    assert all(Fraction(axis.blocks[0].keep).denominator <= 10**5 for axis in plan.channel.axes if isinstance(axis, Retention))  # fmt: skip
    assert any(remark.name == "starts-agreed" for remark in plan.remarks)


@pytest.mark.parametrize(("mechanism", "l"), CASES)
def test_one_start_needs_few_evaluations(policy: Write, mechanism: str, l: int) -> None:
    with opened(policy(mechanism, l)) as (made, original):
        resolved = original.policy
        outline = made.registry.mechanisms[mechanism].outline(resolved.mechanism.options, resolved)
        task = Task(
            resolved, original, tuple((r, made.registry.assessor(r, resolved, outline)) for r in resolved.requirements)
        )
        names = [name for (name,), axis in outline.axes if axis is Retention]
        axes = [Retention.uniform(n, resolved.attributes[n].domain or (), Fraction(1)) for n in names]

        solution = minimise_error(allocation_problem(ChannelTemplate(Product.of(resolved.released, axes), names), task))

    assert len(solution.evaluations) == 5
    assert max(e.value for e in solution.evaluations) <= 60
    assert max(e.jacobian for e in solution.evaluations) <= 30
    assert solution.agreed >= 3


def test_rr_s_is_refused_with_who_stands_in_the_way(policy: Write) -> None:
    with opened(policy("rr-s", 2)) as (made, original), pytest.raises(RequirementError) as error:
        make_plan(made.policy, made.registry, original)

    (problem,) = error.value.problems
    assert problem.code == "RR102"
    assert "the smallest reachable is 1, the limit 1/2" in problem.message
    assert "283 of 603 groups" in problem.message
    assert "689 people" in problem.message
    assert "randomise education, marital_status, sex, race too" in (problem.hint or "")
    assert "coarsen a domain" in (problem.hint or "")


def run(*arguments: object, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rrpolicy.cli.main", *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_from_the_command_line_to_an_estimate(policy: Write, tmp_path: Path) -> None:
    path = policy("rr-both", 3)
    plan = json.loads(run("plan", path, "--json"))
    (finding,) = plan["findings"]
    assert plan["passed"] is True
    assert finding["limit_exact"] == "1/3"
    assert {p["origin"] for p in plan["mechanism"]["parameters"].values()} == {"chosen from the data"}
    assert len(plan["mechanism"]["parameters"]) == 5

    run("release", path, "--out", tmp_path / "release")
    verified = run("verify", tmp_path / "release", "--source", path.parent / "adult.parquet")
    assert "\nverified at level source" in verified
    rows = json.loads(run("estimate", tmp_path / "release", "--by", "workclass", "--json"))["rows"]
    assert sum(row["estimate"] for row in rows) == pytest.approx(30162)
    assert "283 of 603 groups" in run("plan", policy("rr-s", 3), status=1)
