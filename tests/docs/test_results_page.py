"""docs/explanation/results.md: of what is kept in docs/explanation/results/, which the present programs made; the quick parts made again."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.papers.data import Data
from benchmarks.papers.library import PAPERS
from benchmarks.papers.page import page
from benchmarks.papers.plot import svg
from benchmarks.papers.result import KEPT, ROOT, Part, Piece, as_kept, kept
from rrpolicy.frozen import replace

PIECES = [piece for paper in PAPERS for piece in paper.pieces]
PAGE = ROOT / "docs" / "explanation" / "results.md"
STALE = "`make papers` computes it again, with the folder of the Adult table in RRPOLICY_DATA"


def named(piece: Piece) -> str:
    return piece.name


def numbers(value: Any) -> list[float]:
    """Return every number of a part's tables and plots, in order."""
    if isinstance(value, Part):
        return numbers([[t.rows for t in value.tables], [p.lines for p in value.plots]])
    if isinstance(value, list | tuple):
        return [n for each in value for n in numbers(each)]
    return [float(value)] if isinstance(value, int | float) else []


def words(part: Part) -> list[str]:
    """Return every sentence of a part without its numbers."""
    said = [part.title, part.asked, part.difference]
    said += [text for c in part.claims for text in (c.text, c.source, c.outcome, c.why)]
    said += [str(cell) for t in part.tables for row in (t.columns, *t.rows) for cell in row if isinstance(cell, str)]
    return [re.sub(r"\d[\d.,]*(e-?\d+)?", "#", text) for text in said]


def same(one: Part, other: Part) -> bool:
    """Tell whether two parts say the same, but for the last digits of what an optimiser found."""
    return words(one) == words(other) and numbers(one) == pytest.approx(numbers(other), rel=2e-3, abs=1e-9)


def test_the_page_and_its_plots_are_of_the_kept_numbers() -> None:
    made = [(paper, [kept(piece)[1] for piece in paper.pieces]) for paper in PAPERS]
    plots = [plot for _, parts in made for part in parts for plot in part.plots]

    assert PAGE.read_text(encoding="utf-8") == page(made), STALE
    for plot in plots:
        assert (KEPT / f"{plot.name}.svg").read_text(encoding="utf-8") == svg(plot), STALE
    assert {path.name for path in KEPT.iterdir()} == {f"{p.name}.json" for p in PIECES} | {
        f"{p.name}.svg" for p in plots
    }
    assert len({plot.name for plot in plots}) == len(plots)


@pytest.mark.parametrize("piece", PIECES, ids=named)
def test_the_kept_numbers_are_of_the_present_program(piece: Piece) -> None:
    assert kept(piece)[0] == piece.digest, STALE


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [pytest.param(p, marks=pytest.mark.adult if p.adult else (), id=p.name) for p in PIECES if p.quick],
)
def test_a_quick_part_is_made_again(piece: Piece, request: pytest.FixtureRequest) -> None:
    data = Data(request.getfixturevalue("adult_csv").parent) if piece.adult else Data()

    assert same(as_kept(piece.make(data)), kept(piece)[1])


def test_another_number_or_outcome_is_not_the_same() -> None:
    part = kept(PIECES[0])[1]
    (first, *others), claim = part.tables, part.claims[0]
    cells = [list(row) for row in first.rows]
    place = next(i for i, cell in enumerate(cells[0]) if isinstance(cell, float))
    cells[0][place] *= 1.01
    altered = replace(part, tables=(replace(first, rows=tuple(map(tuple, cells))), *others))

    assert same(part, part)
    assert not same(part, altered)
    assert not same(part, replace(part, claims=(replace(claim, outcome="unknown"), *part.claims[1:])))


def test_outcomes_are_of_three_kinds() -> None:
    outcomes = {claim.outcome for piece in PIECES for claim in kept(piece)[1].claims}

    assert outcomes <= {"holds", "fails", "in part"}


def test_a_plot_is_read_without_eyes_or_colours() -> None:
    for plot in (plot for piece in PIECES for plot in kept(piece)[1].plots):
        drawn = ET.fromstring(svg(plot))
        inside = {element.tag.rpartition("}")[2]: element.text for element in drawn}

        assert drawn.attrib["role"] == "img"
        assert inside["title"] == plot.title
        assert all(name in (inside["desc"] or "") for name, _ in plot.lines)
        assert "prefers-color-scheme:dark" in svg(plot)


def test_papers_use_the_public_door_alone() -> None:
    for file in (ROOT / "benchmarks" / "papers").glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        names += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]

        assert not [name for name in names if name.startswith(("rrpolicy.", "rrpolicy_"))], file


def test_without_data_it_lists_what_is_left_out_and_fails(tmp_path: Path) -> None:
    """Only parts that need Adult are named, so that nothing is made."""
    adult = [piece.name for piece in PIECES if piece.adult]
    before = PAGE.read_bytes()

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", *adult],
        cwd=ROOT,
        env={**os.environ, "RRPOLICY_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert all(name in done.stdout for name in adult)
    assert "RRPOLICY_DATA" in done.stdout
    assert PAGE.read_bytes() == before


def test_an_unknown_part_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", "no-such"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "there is no part no-such" in done.stdout


def test_another_table_than_adult_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adult.csv.gz").write_bytes(b"another")

    with pytest.raises(ValueError, match="SHA-256"):
        Data(tmp_path).training("sex")
