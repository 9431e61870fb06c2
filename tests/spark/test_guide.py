"""The guide's commands, run as written, each with a session of its own that leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.console import ROOT, hold

from .conftest import SETTINGS

QUICK = ("spark.driver.extraJavaOptions", "spark.sql.shuffle.partitions", "spark.master")


@pytest.mark.slow
def test_the_guide_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = " ".join(f"--conf '{name}={SETTINGS[name]}'" for name in QUICK)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{said} pyspark-shell")
    hold(ROOT / "docs" / "how-to" / "spark.md", tmp_path)
