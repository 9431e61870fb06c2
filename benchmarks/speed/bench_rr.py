"""What choosing parameters costs: RR-Both on Adult's training records, beside one plain dense risk, and end to end.

Needs the Adult table (RRPOLICY_DATA).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.speed import Ratio, least
from benchmarks.speed.bench_disclosure import plain_risk
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.mechanism import Task
from rrpolicy.optimize.retention.allocate import allocation_problem
from rrpolicy.optimize.retention.optimizer import minimise_error
from rrpolicy.optimize.retention.problem import Allocation
from rrpolicy.optimize.retention.template import ChannelTemplate
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original
from tests.conftest import data_folder

RECORDS = 30_162
KNOWN = ("education", "marital_status", "sex", "race")
LIMITS = (2, 3, 4, 5)
IMPORTS = "import scipy.optimize, duckdb, pydantic"


def write(folder: Path, l: int) -> Path:
    """Write the training records and the policy of risk <= 1/l; return the policy."""
    names = (*KNOWN, "workclass")
    with duckdb.connect() as connection:
        table = connection.read_csv(str(data_folder() / "adult.csv.gz")).limit(RECORDS).project(", ".join(names))
        table.write_parquet(str(folder / "adult.parquet"))
    roles = {name: "quasi-identifier" if name in KNOWN else "sensitive" for name in names}
    lines = "\n".join(f'{name} = {{ role = "{role}", domain = "observed" }}' for name, role in roles.items())
    path = folder / f"rr-both-{l}.toml"
    path.write_text(
        'schema = 1\n[policy]\nname = "adult"\nversion = "1.0.0"\nowner = "office"\npurpose = "a measurement"\n'
        f'[source]\nuri = "adult.parquet"\n[attributes]\n{lines}\n[[privacy]]\nmodel = "attribute-disclosure"\n'
        f'threshold = "1/{l}"\n[mechanism]\nname = "rr-both"\n'
    )
    return path


@contextmanager
def stated(path: Path) -> Iterator[tuple[Allocation, Any]]:
    """Yield what a policy asks to minimise, and the joint shares."""
    made = open_policy(path)
    with open_original(made.policy, made.registry.sources, path.parent / "scratch") as original:
        policy = original.policy
        outline = made.registry.mechanisms["rr-both"].outline(policy.mechanism.options, policy)
        required = tuple((r, made.registry.assessor(r, policy, outline)) for r in policy.requirements)
        axes = [Retention.uniform(a.name, a.domain or (), Fraction(1)) for a in policy.released]
        template = ChannelTemplate(Product.of(policy.released, axes), [a.name for a in policy.released])
        problem = allocation_problem(template, Task(policy, original, required))
        yield problem, original.counts(*(a.name for a in policy.released)).dense() / original.records


def one_start(path: Path) -> tuple[float, int, int]:
    """Return the cost of a solve in plain dense risks, and the evaluations that it took."""
    with stated(path) as (problem, pi):
        solution = minimise_error(problem, starts=1)
        keep = np.array([float(p) for p in solution.keep])
        plain = least(lambda: plain_risk(pi, keep), times=20)
        cost = least(lambda: minimise_error(problem, starts=1)) / plain
    (counted,) = solution.evaluations
    return cost, counted.value, counted.jacobian


def process(*arguments: str) -> None:
    """Run Python in a process of its own."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def run() -> list[Ratio]:
    """Measure all of it."""
    if not (data_folder() / "adult.csv.gz").exists():
        print(f"rr: the Adult table is not in {data_folder()}; set RRPOLICY_DATA")
        return []
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for l in LIMITS:
            cost, values, slopes = one_start(write(Path(folder), l))
            name = f"rr-both on Adult EMGRW, risk <= 1/{l}, one start:"
            ratios += [
                Ratio(f"{name} time", cost, 200, "of one plain dense evaluation of the risk"),
                Ratio(f"{name} risk evaluations", values, 60),
                Ratio(f"{name} gradient evaluations", slopes, 30),
            ]
        path = write(Path(folder), 3)
        whole = least(lambda: process("-m", "rrpolicy.cli.main", "plan", str(path)), rounds=3)
        imports = least(lambda: process("-c", IMPORTS), rounds=3)
    return [
        *ratios,
        Ratio("rrpolicy plan of rr-both on Adult, everything included", whole / imports, 6, f"of {IMPORTS}"),
    ]
