"""Numbers become text in one module: `rrpolicy/numbers.py`. The tests find formats and percentages that are made elsewhere."""

from __future__ import annotations

import ast
import errno
import itertools
import re
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rrpolicy.concurrency import map_in_order
from rrpolicy.counts import Counts, tabulate
from rrpolicy.errors import write_error
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.numbers import (
    at_most_decimals,
    edge_label,
    percent_cell,
    percent_number,
    percent_rounded_up,
    percent_tick,
    points_of_percent,
    rough_percent,
    rounded_down,
)

ROOT = Path(__file__).parents[1]
ROUNDED = re.compile(r"\.\{?\w*\}?[gfe%]|[gfe%]$")
"""Formats of f-strings that round a number; `:,` of a count rounds nothing."""
ELSEWHERE = {
    "rrpolicy/numbers.py": "the one module",
    "rrpolicy/plotting/svg.py": "positions of marks, in pixels",
    "reports/rrpolicy_reports/plot_layout.py": "positions of marks, in pixels and percentages of the width",
    "rrpolicy/governance/compare/page.py": "positions of marks, in pixels",
    "rrpolicy/optimize/recode/loss.py": "a number that stays one: rounding errors are cut off",
    "rrpolicy/policy/tree/problems.py": "a decimal of a policy's file, exactly",
    "rrpolicy/source/duckdb/missing.py": "a decimal of a table, exactly",
    "reports/rrpolicy_reports/templates/audit/histogram.html": "positions of marks, in pixels",
}
WRITERS = {"figure", "plain_number", "exact_number", "grouped_number", "fixed_number", "tick_label", "two_digits"}
"""Functions that write a number: it reaches them unrounded."""
TEMPLATE_FORMAT = re.compile(r"%\.?\d*[gfe]|:\.\d+[gfe%]|\*\s*100\b|\b100\s*\*|\|\s*round\b")
DEFAULT_LEVEL = re.compile(r"0?\.95\b|\b95 %|\b95 of 100\b")
PATTERN_FORMAT = re.compile(r"\{\w*:[^{}]*[gfe%]\}|%\.\d+[gfe]")
"""Formats in text that `str.format` or `%` fills."""


def formats(path: Path) -> list[str]:
    """Return the formats that round a number, and the places where a percentage or a rounded number is made by hand."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return TEMPLATE_FORMAT.findall(text)
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    specs = [ast.unparse(n.format_spec)[2:-1] for n in nodes if isinstance(n, ast.FormattedValue) and n.format_spec]
    found = [spec for spec in specs if ROUNDED.search(spec)]
    told = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in told]
    found += [pattern for each in texts for pattern in PATTERN_FORMAT.findall(each)]
    return found + [ast.unparse(n) for n in nodes if _is_hundredfold(n) or _is_rounded_text(n)]


def _is_hundredfold(node: ast.AST) -> bool:
    """Whether a number is multiplied by 100, as for a percentage."""
    factors = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
    return any(isinstance(factor, ast.Constant) and factor.value == 100 for factor in factors)


def _is_rounded_text(node: ast.AST) -> bool:
    """Whether a function that writes a number is called with a rounded one."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in WRITERS:
        return False
    return any(isinstance(a, ast.Call) and isinstance(a.func, ast.Name) and a.func.id == "round" for a in node.args)


def test_numbers_become_text_in_one_module():
    paths = [
        path
        for room in ("rrpolicy", "plugins", "reports")
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in {".py", ".html"}
    ]

    found = {path.relative_to(ROOT).as_posix(): formats(path) for path in paths}

    assert {name for name, specs in found.items() if specs} == set(ELSEWHERE)


def test_a_rounding_format_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('f"{x:.3g} {y:,} {z:>{w}} {share:.1%} {v:g} {n:05d} {d:.{digits}f}"\n')

    assert formats(wrong) == [".3g", ".1%", "g", ".{digits}f"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "wrong.py",
            'a = f"{figure(100 * share, 2)} %"\nb = figure(round(v, 3))\n',
            ["figure(round(v, 3))", "100 * share"],
        ),
        ("wrong.py", 'a = "at least {share:g} of {records:,}"\nb = "%.3f" % x\n', ["{share:g}", "%.3f"]),
        (
            "wrong.html",
            '{{ share * 100 }} %, {{ "%.1f" | format(x) }}, {{ x | round(2) }}',
            ["* 100", "%.1f", "| round"],
        ),
        ("right.py", 'a = f"{n:,} of {percent(share)}"\nb = round(estimate)\nc = 1000 * x\n', []),
        ("right.html", "{{ share | percent }} of {{ n | whole }}, width 100%", []),
    ],
)
def test_a_percentage_that_is_made_by_hand_is_found(tmp_path: Path, name: str, text: str, found: list[str]) -> None:
    (tmp_path / name).write_text(text)

    assert formats(tmp_path / name) == found


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (percent_rounded_up(Fraction(1, 3)), "33.4 %"),
        (rough_percent(0.28731), "29 %"),
        (rounded_down(12.389, 3), "12.3"),
        (rounded_down(1234.5, 3), "1230"),
        (percent_number(0.012345), "1.23"),
        (percent_tick(3 * 0.1), "30 %"),
        (percent_cell(0.0123), "1.2"),
        (points_of_percent(0.9912), "99.1 points"),
        (points_of_percent(0.00001), "< 0.01 points"),
        (edge_label(0.30000000000000004), "0.3"),
        (at_most_decimals(0.32801, 3), "0.328"),
        (at_most_decimals(4977.0, 1), "4,977"),
    ],
)
def test_each_form_of_a_number(written: str, text: str) -> None:
    assert written == text


def levels(path: Path) -> list[str]:
    """Return the places where the default confidence level is written as a number."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return DEFAULT_LEVEL.findall(text)
    nodes = list(ast.walk(ast.parse(text)))
    told = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    constants = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in told]
    return [str(c) for c in constants if c == LEVEL or (isinstance(c, str) and DEFAULT_LEVEL.search(c))]


def test_the_default_level_is_stated_once() -> None:
    paths = [
        path
        for room in ("rrpolicy", "plugins", "reports")
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in {".py", ".html", ".R"}
    ]

    found = {path.relative_to(ROOT).as_posix() for path in paths if levels(path)}

    assert found == {"rrpolicy/estimate/default_level.py", "rrpolicy/governance/compare/compare.py"}
    assert levels(ROOT / "rrpolicy/governance/compare/compare.py") == ["0.95"]  # of the work that is done


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wrong.py", 'a = "± half a 95 % interval"\n'),
        ("wrong.py", "def f(level: float = 0.95) -> None: ...\n"),
        ("wrong.R", "rr_count <- function(release, level = .95)\n"),
    ],
)
def test_a_level_that_is_stated_again_is_found(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    assert len(levels(tmp_path / name)) == 1


def test_a_table_of_no_records_and_one_of_too_many_cells():
    none = tabulate(("sex",), (2,), np.zeros((0, 1), np.int32), np.zeros(0, np.int64))
    assert (none.records, none.dense().tolist()) == (0, [0, 0])
    wide = Counts(("a", "b"), (2**32, 2**32), np.zeros((1, 2), np.int32), np.ones(1, np.int64))
    with pytest.raises(OverflowError, match="has no flat index"):
        _ = wide.flat


def test_a_file_that_is_too_large_for_its_place_is_refused_with_what_to_do():
    (problem,) = write_error("out.csv", OSError(errno.EFBIG, "File too large")).problems
    assert (problem.code, problem.message) == ("RR408", "out.csv cannot be written: a file may not be that large there")
    assert "rows_per_file" in str(problem.hint)


def test_calls_that_wait_are_cancelled_when_nobody_reads_further():
    done, go = [], threading.Event()

    def call(item: int) -> int:
        if item:
            go.wait()
        done.append(item)
        return item

    found = map_in_order(call, itertools.count(), 1)
    threading.Timer(0.2, go.set).start()
    assert next(found) == 0
    found.close()
    assert 0 in done
    assert len(done) <= 2
