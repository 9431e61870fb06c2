"""Distributions as an installer would put them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture
def site(monkeypatch):
    """Put distributions on the path as an installer would; nothing of them stays behind."""

    def add(folder: Path) -> None:
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()

    before = set(sys.modules)
    yield add
    for name in set(sys.modules) - before:
        if name.startswith("acme_"):
            del sys.modules[name]


@pytest.fixture
def distribution():
    return written


def written(folder: Path, name: str, plugin: str, code: str) -> Path:
    """Write an installed distribution with one entry point."""
    module = name.replace("-", "_")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rrpolicy]\n{plugin} = {module}\n")
    (folder / f"{module}.py").write_text(code)
    return folder
