"""The guide's commands, run as written, each with a session of its own that leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from tests.docs.console import ROOT, hold


def test_the_guide_runs_as_written(tmp_path: Path) -> None:
    hold(ROOT / "docs" / "how-to" / "spark.md", tmp_path)
