"""Compute the papers again and write docs/explanation/results.md: `python -m benchmarks.papers`, or `python -m papers NAME` for one part."""

from __future__ import annotations

import sys
import time

from benchmarks.papers.data import Data
from benchmarks.papers.library import PAPERS
from benchmarks.papers.page import page
from benchmarks.papers.plot import svg
from benchmarks.papers.result import KEPT, ROOT, keep, kept


def main(names: list[str]) -> int:
    """Make the parts that are named, or all; the exit status is 1 if data are missing, 2 for an unknown name."""
    data = Data()
    known = {piece.name: piece for paper in PAPERS for piece in paper.pieces}
    if unknown := [name for name in names if name not in known]:
        print(f"there is no part {', '.join(unknown)}; there are {', '.join(known)}")
        return 2
    pieces = [known[name] for name in names or known]
    missing = [] if data.file.exists() else [p.name for p in pieces if p.adult]
    for piece in pieces:
        if piece.name in missing:
            continue
        began, busy = time.monotonic(), time.process_time()
        keep(piece, piece.make(data))
        print(f"{piece.name}: {time.monotonic() - began:.0f} s ({time.process_time() - busy:.0f} s of CPU)", flush=True)
    if missing:
        print(f"left out, for there is no {data.file} (RRPOLICY_DATA names its folder): {', '.join(missing)}")
        return 1
    if unmade := [name for name in known if not (KEPT / f"{name}.json").exists()]:
        print(f"the page is written when every part was made; still to make: {', '.join(unmade)}")
        return 0
    write()
    return 0


def write() -> None:
    """Write the page and its plots from what is kept."""
    made = [(paper, [kept(piece)[1] for piece in paper.pieces]) for paper in PAPERS]
    for plot in (plot for _, parts in made for part in parts for plot in part.plots):
        (KEPT / f"{plot.name}.svg").write_text(svg(plot), encoding="utf-8")
    (ROOT / "docs" / "explanation" / "results.md").write_text(page(made), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
