"""Do intervals hold? Simulated releases of 400 records: measures of association, rates and means of groups.

`python -m benchmarks.speed.bench_intervals` simulates all cases and writes the tables of `docs/explanation/intervals.md`, in
some ten minutes on two processors; `python -m benchmarks.speed intervals` takes half of its draws.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks.speed import Ratio
from rrpolicy.estimate.association.association import find_measure
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.counts.predicate import parse_condition
from rrpolicy.estimate.counts.scan import Sums
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.sums.shares import shares
from tests.estimate.conftest import column, manifest, retention, seal

RECORDS, DRAWS, LEVEL = 400, 2000, 0.95
FEWER = 1000
"""Draws of each case where only the worst one is looked at."""
COVERED, FLAGGED = 0.93, 0.05
KEEPS = (0.9, 0.75, 0.6)
TABLES = {
    "strong, large cells": ((0.40, 0.10), (0.10, 0.40)),
    "weak, large cells": ((0.28, 0.22), (0.22, 0.28)),
    "independent": ((0.36, 0.24), (0.24, 0.16)),
    "strong, small cells": ((0.85, 0.025), (0.025, 0.10)),
    "weak, small cells": ((0.85, 0.06), (0.06, 0.03)),
    "smallest cell of 6": ((0.90, 0.045), (0.04, 0.015)),
}
LARGER = {
    "3 x 3, associated": ((0.16, 0.09, 0.05), (0.10, 0.14, 0.10), (0.04, 0.10, 0.22)),
    "3 x 3, independent": ((0.15, 0.09, 0.06), (0.20, 0.12, 0.08), (0.15, 0.09, 0.06)),
}
CASES: tuple[tuple[str, float, Target], ...] = (
    ("strong, large cells", 0.75, "table"),
    ("weak, large cells", 0.9, "population"),
    ("weak, large cells", 0.6, "population"),
    ("independent", 0.75, "population"),
    ("strong, small cells", 0.9, "population"),
    ("strong, small cells", 0.75, "table"),
    ("weak, small cells", 0.9, "table"),
    ("smallest cell of 6", 0.9, "population"),
)
RATES = {
    "half of 200": (0.5, 0.5),
    "1 in 10 of 200": (0.5, 0.1),
    "half of 40": (0.1, 0.5),
    "1 in 8 of 40": (0.1, 0.125),
}
"""The share of the group, and of those in it who are counted."""
GROUPS = {"200 of 400": 0.5, "40 of 400": 0.1, "20 of 400": 0.05}
NUMBERS = ("normal", "skewed")

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Covered:
    """How often intervals held.

    Attributes:
        case: what was simulated.
        names: of the estimates.
        unflagged: share of the intervals without a flag that hold, by estimate.
        every: of all intervals, those without a number included as failures.
        flagged: share of results with a flag.
        open: share of intervals with an end that is not bounded.
    """

    case: str
    names: tuple[str, ...]
    unflagged: Doubles
    every: Doubles
    flagged: Doubles
    open: Doubles


class Tally:
    """Counts which intervals hold."""

    def __init__(self, truth: Doubles) -> None:
        self.truth = truth
        self.draws, self.held, self.plain, self.held_plain, self.unbounded = 0, *(np.zeros(len(truth)) for _ in "1234")

    def add(self, found: Estimates, row: slice = slice(None)) -> None:
        ends = found.conf_int()[row]
        held = (ends[:, 0] <= self.truth + 1e-9) & (self.truth <= ends[:, 1] + 1e-9)
        plain = np.array([not f for f in found.flags[row]])
        self.draws += 1
        self.held += held
        self.plain += plain
        self.held_plain += held & plain
        self.unbounded += np.isinf(ends).any(axis=1)

    def result(self, case: str, names: Sequence[str]) -> Covered:
        with np.errstate(invalid="ignore"):
            unflagged = self.held_plain / self.plain
        rest = (self.held, self.draws - self.plain, self.unbounded)
        return Covered(case, tuple(names), unflagged, *(x / self.draws for x in rest))


def opened(folder: Path, keeps: Sequence[float], sizes: Sequence[int]) -> Release:
    """Return a release of columns c0, c1, ... and a number y, whose rows are never read."""
    axes = [
        retention(f"c{i}", [f"c{i}{k}" for k in range(size)], [(range(size), str(keep))])
        for i, (keep, size) in enumerate(zip(keeps, sizes, strict=True))
    ]
    made = manifest(axes, RECORDS, "parquet", [column("y", (), "carried", "DOUBLE")])
    (folder / "release.json").write_text(json.dumps(made.to_json()))
    (folder / "data.parquet").touch()
    seal(folder)
    return open_release(folder)


def matrix(keep: float, size: int) -> Doubles:
    """Return retention over the whole domain."""
    return np.asarray(np.full((size, size), (1 - keep) / (size - 1)) + np.eye(size) * (keep - (1 - keep) / (size - 1)))


@contextmanager
def counted(source: Callable[..., object]) -> Iterator[None]:
    """Let drawn counts take the place of those that DuckDB would read from a file."""
    with ExitStack() as stack:
        for place in ("release", "sums.shares", "counts.scan"):
            stack.enter_context(patch(f"rrpolicy.estimate.{place}.count", source))
        yield


class Drawn:
    """Draws the released counts of a two-way table."""

    def __init__(self, pi: Doubles, keep: float, target: Target, seed: int) -> None:
        self.shape, self.target, self.rng = pi.shape, target, np.random.default_rng(seed)
        self.pi = pi.reshape(-1)
        self.P = np.kron(matrix(keep, pi.shape[0]), matrix(keep, pi.shape[1]))
        self.truth = np.round(RECORDS * pi) if target == "table" else RECORDS * pi
        self.n = np.zeros(len(self.pi), dtype=np.int64)

    def __call__(
        self, _data: object, axes: Sequence[object], *_rest: object
    ) -> tuple[list[npt.NDArray[np.int64]], object]:
        place = [np.arange(len(self.n)) // self.shape[1], np.arange(len(self.n)) % self.shape[1]]
        return [place[int(axis.columns[0][1:])] for axis in axes], self.n  # type: ignore[attr-defined]

    def draw(self) -> None:
        if self.target == "population":
            self.n = self.rng.multinomial(RECORDS, self.P @ self.pi)
        else:
            parts = zip(self.truth.reshape(-1).astype(int), self.P.T, strict=True)
            self.n = np.sum([self.rng.multinomial(k, column) for k, column in parts], axis=0)


def associations(case: str, keep: float, target: Target, draws: int) -> Covered:
    """Simulate all measures that are defined for a table."""
    pi = np.array((TABLES | LARGER)[case])
    names = [m.name for m in MEASURES.values() if pi.shape == (2, 2) or m.shape == "rxc"]
    drawn = Drawn(pi, keep, target, 7)
    tally = Tally(np.array([float(find_measure(n).of(drawn.truth)[0]) for n in names]))
    with tempfile.TemporaryDirectory() as folder, counted(drawn):
        release = opened(Path(folder), [keep, keep], pi.shape)
        for _ in range(draws):
            drawn.draw()
            tally.add(release.association("c0", "c1", target=target))
    return tally.result(f"{case}; keep {keep:g}; {target}", names)


def rates(case: str, keep: float, target: Target, draws: int) -> Covered:
    """Simulate the share of a group who are counted; group and count are both randomised."""
    share, rate = RATES[case]
    pi = np.array([[share * (1 - rate), share * rate], [(1 - share) * 0.7, (1 - share) * 0.3]])
    drawn = Drawn(pi, keep, target, 11)
    tally = Tally(np.array([drawn.truth[0, 1] / drawn.truth[0].sum()]))
    part = parse_condition("c1 = 'c11'")
    with tempfile.TemporaryDirectory() as folder, counted(drawn):
        release = opened(Path(folder), [keep, keep], (2, 2))
        for _ in range(draws):
            drawn.draw()
            tally.add(shares(release, ["c0"], ["c0"], part=part, target=target), slice(1))
    return tally.result(f"{case}; keep {keep:g}; {target}", ["rate"])


def averages(case: str, keep: float, target: Target, numbers: str, draws: int) -> Covered:
    """Simulate the mean of a number, released as it is, in a randomised group."""
    rng, size = np.random.default_rng(13), round(GROUPS[case] * RECORDS)

    def people() -> tuple[npt.NDArray[np.int64], Doubles]:
        inside = (np.arange(RECORDS) < size) if target == "table" else rng.random(RECORDS) < GROUPS[case]
        noise = rng.standard_normal(RECORDS) if numbers == "normal" else rng.exponential(1.0, RECORDS) - 1
        return np.where(inside, 0, 1), np.where(inside, 12.0, 10.0) + 3 * noise

    fixed = people()
    tally = Tally(np.array([fixed[1][fixed[0] == 0].mean() if target == "table" else 12.0]))
    seen: list[Sums] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("rrpolicy.estimate.sums.numeric_sums.total", lambda *_: seen[-1]),
    ):
        release = opened(Path(folder), [keep], (2,))
        for _ in range(draws):
            group, y = fixed if target == "table" else people()
            released = np.where(rng.random(RECORDS) < keep, group, 1 - group)
            n, first, second = (np.bincount(released, w, 2) for w in (None, y - 10, (y - 10) ** 2))
            seen[:] = [Sums([np.arange(2)], n.astype(np.int64), 10.0, first, second, 0)]
            tally.add(release.mean("y", "c0", target=target), slice(1))
    return tally.result(f"{numbers} numbers, {case}; keep {keep:g}; {target}", ["mean"])


def simulate(draws: int = DRAWS, workers: int = 2) -> dict[str, list[Covered]]:
    """Simulate every case, in several processes."""
    targets: tuple[Target, ...] = ("population", "table")
    pairs = [(keep, target) for keep in KEEPS for target in targets]
    work: dict[str, list[tuple[Callable[..., Covered], tuple[object, ...]]]] = {
        "Rates of groups": [(rates, (case, *pair, draws)) for case in RATES for pair in pairs],
        "Means of groups": [
            (averages, (case, *pair, numbers, draws)) for numbers in NUMBERS for case in GROUPS for pair in pairs
        ],
        "Measures of association": [(associations, (*case, draws)) for case in CASES],
        "Larger tables": [(associations, (case, 0.75, "population", draws)) for case in LARGER],
    }
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the workers: each has small matrices only
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {part: [pool.submit(f, *given) for f, given in cases] for part, cases in work.items()}
        for future in as_completed([f for futures in running.values() for f in futures]):
            done = future.result()
            print(f"{done.case}: {np.nanmin(done.unflagged):.3f}", file=sys.stderr, flush=True)
        return {part: [future.result() for future in futures] for part, futures in running.items()}


def run() -> list[Ratio]:
    """Return, for each kind of estimate, the worst share of unflagged intervals that miss, and the largest flagged.

    Goals leave three standard errors of the simulation, as the worst of many cases is looked at.
    """
    found = []
    missing, flagging = (goal + 3 * (goal * (1 - goal) / FEWER) ** 0.5 for goal in (1 - COVERED, FLAGGED))
    for part, cases in simulate(FEWER).items():
        worst = min(cases, key=lambda c: float(np.nanmin(c.unflagged)))
        missed = 1 - float(np.nanmin(worst.unflagged))
        found.append(Ratio(f"unflagged intervals that miss, {part.lower()}", missed, missing, worst.case))
        flags = max(float(c.flagged.max()) for c in cases)
        found.append(
            Ratio(f"results with a flag, {part.lower()}", flags, flagging, "all expected cells are at least 5")
        )
    return found


def table(part: str, cases: Sequence[Covered]) -> str:
    """Return the results of one kind of estimate as Markdown."""
    head = ["case", "least coverage, unflagged", "of", "all draws", "highest", "flagged", "an end not bounded, median"]
    lines = [f"### {part}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for c in cases:
        least = int(np.nanargmin(c.unflagged))
        cells = [c.case, f"{c.unflagged[least]:.3f}", c.names[least], f"{c.every.min():.3f}", f"{c.every.max():.3f}"]
        lines.append(f"| {' | '.join([*cells, f'{c.flagged.max():.3f}', f'{np.median(c.open):.2f}'])} |")
    return "\n".join(lines)


def by_measure(cases: Sequence[Covered]) -> str:
    """Return the least coverage of every measure over all cases as Markdown."""
    lines = ["### By measure, over all 2 x 2 cases", "", "| measure | least coverage | in the case |", "|---|---|---|"]
    for i, name in enumerate(cases[0].names):
        worst = min(cases, key=lambda c: float(c.unflagged[i]))
        lines.append(f"| {name} | {worst.unflagged[i]:.3f} | {worst.case} |")
    return "\n".join(lines)


def main(path: Path) -> None:
    """Write the tables under a line of it in a Markdown file."""
    found = simulate()
    parts = [table(part, cases) for part, cases in found.items()]
    parts.append(by_measure(found["Measures of association"]))
    before = path.read_text(encoding="utf-8").split(BEGIN)[0]
    path.write_text("\n\n".join([f"{before}{BEGIN}", *parts]) + "\n", encoding="utf-8")


BEGIN = "<!-- what follows is written by python -m benchmarks.speed.bench_intervals -->"

if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs" / "explanation" / "intervals.md"
    )
