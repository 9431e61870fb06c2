"""The reference numbers are those that their program computes, and those of another implementation where it is at hand."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

import pytest

from . import make


def unlike(mine: Any, other: Any, tolerance: float) -> list[str]:
    """Return what two documents have differently, by place; keys of one alone are passed over."""
    if isinstance(mine, dict):
        inner = [(k, mine[k], other[k]) for k in mine.keys() & other.keys()]
    elif isinstance(mine, list) and len(mine) == len(other):
        inner = list(zip(map(str, range(len(mine))), mine, other, strict=True))
    elif isinstance(mine, (int, float)) and isinstance(other, (int, float)):
        return [] if math.isclose(mine, other, rel_tol=tolerance, abs_tol=tolerance) else [f": {mine} {other}"]
    else:
        return [] if mine == other else [f": {mine} {other}"]
    return [f".{name}{told}" for name, a, b in inner for told in unlike(a, b, tolerance)]


def test_the_numbers_are_computed_without_the_project(vectors: dict[str, Any]) -> None:
    tree = ast.parse(Path(make.__file__).read_text())
    found = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    found |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not any(name.startswith("rrpolicy") for name in found)
    computed = json.loads(json.dumps(make.without_data()))
    assert computed.keys() == vectors.keys() - {"adult_emgrw", "uncertainty_coefficient_x100_adult"}
    assert unlike(computed, vectors, 1e-12) == []


@pytest.mark.slow
@pytest.mark.adult
def test_the_numbers_of_adult_are_computed_and_agree_with_another_implementation(
    adult_csv: Path, vectors: dict[str, Any]
) -> None:
    assert unlike(make.of_adult(adult_csv), vectors, 1e-6) == []
    other = adult_csv.parent.parent / "vectors" / "vectors.json"
    if other.exists():
        assert unlike(vectors, json.loads(other.read_text()), 2e-5) == []
