"""Numbers become text in one module: `rrpolicy/numbers.py`. What follows finds formats that round elsewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
}


def formats(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    specs = [
        ast.unparse(n.format_spec)[2:-1] for n in ast.walk(tree) if isinstance(n, ast.FormattedValue) and n.format_spec
    ]
    return [spec for spec in specs if ROUNDED.search(spec)]


def test_numbers_become_text_in_one_module():
    paths = [path for room in ("rrpolicy", "plugins", "reports") for path in sorted((ROOT / room).rglob("*.py"))]

    found = {path.relative_to(ROOT).as_posix(): formats(path) for path in paths}

    assert {name for name, specs in found.items() if specs} == set(ELSEWHERE)


def test_a_rounding_format_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('f"{x:.3g} {y:,} {z:>{w}} {share:.1%} {v:g} {n:05d} {d:.{digits}f}"\n')

    assert formats(wrong) == [".3g", ".1%", "g", ".{digits}f"]
