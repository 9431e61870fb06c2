"""Who plans, measures tables, reports and estimates knows no privacy model: what he needs of one, it states itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rrpolicy.builtin import MODELS

ROOT = Path(__file__).parents[2]
ROOMS = (
    "rrpolicy/planning",
    "rrpolicy/bundle",
    "rrpolicy/verification",
    "rrpolicy/reports",
    "rrpolicy/exports",
    "rrpolicy/collection",
    "rrpolicy/optimize",
    "rrpolicy/table_risk",
    "rrpolicy/estimate",
    "rrpolicy/mechanism.py",
    "plugins",
)
FILES = [path for room in ROOMS for path in ([ROOT / room] if room.endswith(".py") else (ROOT / room).rglob("*.py"))]
OF_MODELS = ("rrpolicy.privacy.models", "rrpolicy.privacy.disclosure", "rrpolicy.privacy.epsilon.ratio_assessor")
OWN_NAME = {"plugins/rrpolicy_l_diversity/__init__.py", "plugins/rrpolicy_l_diversity/mechanism.py"}
"""A mechanism has the name of a model."""


def named(source: str) -> list[str]:
    """Return the models that a module names in a string of its own, in an entry, or by what it imports."""
    tree = ast.parse(source)
    found = [f"an entry with {name}" for name in MODELS if f'model = "{name}"' in source]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in MODELS:
            found.append(node.value)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OF_MODELS):
            found.append(str(node.module))
        if isinstance(node, ast.ImportFrom) and node.module == "rrpolicy.privacy":
            found += [alias.name for alias in node.names]
    return found


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 100
    assert named('if requirement.model == "local-dp": pass') == ["local-dp"]
    assert named("from rrpolicy.privacy.models import k_anonymity")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_model_is_known_by_name(path: Path) -> None:
    if str(path.relative_to(ROOT)) not in OWN_NAME:
        assert named(path.read_text(encoding="utf-8")) == []
