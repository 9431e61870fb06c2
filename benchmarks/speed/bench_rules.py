"""Association rules of many items, beside released pairs alone, counted on bits.

Run it with `python -m benchmarks.speed rules`.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import rrpolicy
from benchmarks.speed import Ratio
from tests.estimate.conftest import manifest, retention, seal

T = TypeVar("T")
RECORDS = 50_000
KEEP = 0.85
SUPPORT, CONFIDENCE = 0.05, 0.6
GOALS = {86: 20.0, 500: 20.0}


def baskets(items: int) -> np.ndarray:
    """Return records of yes and no that go together in groups, few of them yes."""
    rng = np.random.default_rng(1)
    groups = rng.random((RECORDS, 12)) < 0.15
    member = rng.random((12, items)) < 0.2
    often = rng.beta(1.0, 12.0, items)
    return rng.random((RECORDS, items)) < np.clip(often + 0.4 * (groups @ member), 0, 0.9)


def publish(folder: Path, items: int) -> np.ndarray:
    """Write a public/ folder of randomised items; return the released ones."""
    rng = np.random.default_rng(2)
    released = baskets(items) ^ (rng.random((RECORDS, items)) >= KEEP)
    names = [f"item {i}" for i in range(items)]
    axes = [retention(name, ("no", "yes"), [(range(2), str(KEEP))]) for name in names]
    (folder / "release.json").write_text(json.dumps(manifest(axes, RECORDS, "parquet").to_json()))
    words = np.array(["no", "yes"], dtype=object)
    pq.write_table(
        pa.table({n: words[c.astype(int)] for n, c in zip(names, released.T, strict=True)}), folder / "data.parquet"
    )
    seal(folder)
    return released


def uncorrected(released: np.ndarray) -> int:
    """Return how many pairs of released items are frequent, counted on bits: by one thread, whatever else is running."""
    bits = np.packbits(released.T, axis=1)
    pairs = (np.bitwise_count(bits[i] & bits[i + 1 :]).sum(axis=1) for i in range(len(bits)))
    return sum(int((n >= SUPPORT * len(released)).sum()) for n in pairs)


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the processor time of a call, and what it returns."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def run() -> list[Ratio]:
    """Measure rules of 86 and of 500 items, three long."""
    ratios = []
    for items, goal in GOALS.items():
        with tempfile.TemporaryDirectory() as scratch:
            released = publish(Path(scratch), items)
            release = rrpolicy.open_release(scratch)
            base = min(timed(lambda released=released: uncorrected(released))[0] for _ in range(5))
            seconds, found = timed(lambda release=release: release.rules(SUPPORT, CONFIDENCE, present=["yes"]))
            note = f"of processor time, of counting released pairs on bits, {base:.2f} s: {seconds:.2f} s, {len(found.rules):,} rules of {found.candidates:,}"
            ratios.append(Ratio(f"rules of {items} items, three long, {RECORDS:,} records", seconds / base, goal, note))
    return ratios
