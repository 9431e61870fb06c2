"""The page on scale shows what its formula gives, and the formula what a simulation of nodes hands on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed import scale
from benchmarks.speed.scale import Job, simulated

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "scale.md"


def test_the_page_shows_what_the_formula_gives():
    page = PAGE.read_text(encoding="utf-8")
    assert scale.table() in page
    for name, unit in (
        ("FIXED", 1),
        ("READ", 1e-6),
        ("CELL", 1e-6),
        ("MERGED", 1e-6),
        ("WRITTEN", 1e-6),
        ("CARRIED", 1e-6),
    ):
        assert f"{getattr(scale, name) / unit:.3g}" in page, name


@pytest.mark.parametrize(
    "job", [Job(20_000, 500, 3, 1), Job(20_000, 500, 3, 16), Job(20_000, 30_000, 5, 16), Job(7, 3, 1, 4)]
)
def test_what_nodes_hand_on_is_what_the_formula_says(job):
    handed, merged = simulated(job, np.random.default_rng(3))

    assert merged.sum() == job.rows
    assert handed <= job.nodes * min(job.cells, -(-job.rows // job.nodes))
    # an occupied cell is negatively associated with another: the variance is at most that of independent ones
    spread = np.sqrt(job.shuffled * (1 - job.shuffled / (job.nodes * job.cells)))
    assert abs(handed - job.shuffled) <= 5.4 * spread + 1
    skewed = np.arange(1, job.cells + 1) ** -1.0
    assert simulated(job, np.random.default_rng(4), skewed / skewed.sum())[0] <= job.shuffled + 5.4 * spread + 1


def test_a_formula_that_forgets_the_nodes_is_caught():
    job = Job(20_000, 500, 3, 16)
    assert simulated(job, np.random.default_rng(3))[0] > 10 * Job(20_000, 500, 3, 1).shuffled
