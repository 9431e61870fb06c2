"""What a release costs on n nodes: the formula of docs/explanation/scale.md, and a simulation that it is held to.

`python -m benchmarks.speed.scale` prints the table of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIXED = 2.3
"""CPU seconds of a release of few rows, start included."""
READ = 0.08e-6
"""CPU seconds a row of five columns that is counted."""
CELL = 20e-6
"""CPU seconds a cell of the domain: planned, assessed, drawn and told."""
MERGED = 0.2e-6
"""CPU seconds a row of counts that is merged: assumed, not measured."""
WRITTEN = 0.16e-6
"""CPU seconds a released row of five categories that is written."""
CARRIED = 0.97e-6
"""CPU seconds a row with a carried value: sorted once, digested, drawn, digested and written."""
HELD = 160
"""Bytes a released cell on the node that draws, at the peak."""
NODES = (1, 16, 256)
ROWS = (10**9, 10**10, 10**11, 10**12)


@dataclass(frozen=True)
class Job:
    """A release.

    Attributes:
        rows: N.
        cells: of the domain, D.
        columns: with categories.
        nodes: that share the rows.
    """

    rows: int
    cells: int
    columns: int
    nodes: int

    @property
    def shuffled(self) -> float:
        """Return the rows of counts that nodes hand on, expected where all cells are equally likely; else fewer."""
        each = self.rows / self.nodes
        return self.nodes * self.cells * -np.expm1(each * np.log1p(-1 / self.cells))

    @property
    def bytes_shuffled(self) -> float:
        """Return the bytes of these rows, eight a column and eight a count."""
        return 8 * (self.columns + 1) * self.shuffled

    @property
    def bytes_held(self) -> int:
        """Return what the node that draws holds."""
        return HELD * self.cells

    @property
    def seconds(self) -> float:
        """Return the seconds of counting on all nodes, merging and drawing on one, and writing on all."""
        return FIXED + (READ + WRITTEN) * self.rows / self.nodes + MERGED * self.shuffled + CELL * self.cells

    @property
    def seconds_carried(self) -> float:
        """Return the seconds where a column is carried: nodes take ranges of its values, and nothing is counted."""
        return FIXED + CARRIED * self.rows / self.nodes


def simulated(job: Job, rng: np.random.Generator, shares: np.ndarray | None = None) -> tuple[int, np.ndarray]:
    """Deal rows to nodes, count on each, and merge.

    Args:
        job: few rows.
        rng: of the rows.
        shares: (cells,) how likely each cell is; all alike by default.

    Returns:
        How many rows of counts were handed on, and the (cells,) merged counts.
    """
    handed, merged = 0, np.zeros(job.cells, dtype=np.int64)
    for node in range(job.nodes):
        rows = job.rows // job.nodes + (node < job.rows % job.nodes)
        counts = np.bincount(rng.choice(job.cells, rows, p=shares), minlength=job.cells)
        handed += np.count_nonzero(counts)
        merged += counts
    return handed, merged


def table(cells: int = 7840, columns: int = 5) -> str:
    """Return the page's table."""
    lines = ["| rows | nodes | counted | carried column | shuffled |", "|---|---|---|---|---|"]
    for rows in ROWS:
        for nodes in NODES:
            job = Job(rows, cells, columns, nodes)
            lines.append(
                f"| 10^{len(str(rows)) - 1} | {nodes} | {_spoken(job.seconds)} | {_spoken(job.seconds_carried)} | "
                f"{job.bytes_shuffled / 2**20:.2g} MiB |"
            )
    return "\n".join(lines)


def _spoken(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{_rounded(seconds / size)} {unit}"
    return f"{_rounded(seconds)} s"


def _rounded(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


if __name__ == "__main__":
    print(table())
