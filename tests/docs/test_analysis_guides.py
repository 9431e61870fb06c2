"""docs/how-to/analysis.md and programs.md: every command, and every block of Python, SQL and R, runs as printed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import rrpolicy
from rrpolicy.cli.main import main

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "how-to"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
POLICY = """
schema = 1
[policy]
name = "survey"
version = "1.0.0"
owner = "Tests"
purpose = "What the guides ask."
[source]
uri = "memory:"
[attributes]
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age_group = { role = "quasi-identifier", domain = ["16-44", "45-64", "65+"] }
region = { role = "quasi-identifier", domain = ["north", "south"] }
disease = { role = "sensitive", domain = ["none", "asthma", "diabetes"] }
income = { role = "sensitive", bins = [0, 1000, 5000, inf] }
hours = { role = "insensitive", unchanged = "so" }
[[privacy]]
model = "local-dp"
epsilon = 20
scope = "attribute"
[mechanism]
name = "pram"
keep_probability = { sex = "9/10", age_group = "9/10", region = "9/10", disease = "9/10", income = "9/10" }
[release]
format = "csv"
"""


def blocks(page: str, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall((GUIDES / page).read_text("utf-8")) if kind == language]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release a small survey."""
    made = tmp_path_factory.mktemp("guides")
    rng = np.random.default_rng(4)
    n = 1500
    female = rng.random(n) < 0.5
    table = pd.DataFrame(
        {
            "sex": np.where(female, "female", "male"),
            "age_group": rng.choice(["16-44", "45-64", "65+"], n),
            "region": rng.choice(["north", "south"], n),
            "disease": np.where(rng.random(n) < 0.2 + 0.2 * female, rng.choice(["asthma", "diabetes"], n), "none"),
            "income": rng.lognormal(7.5, 0.8, n),
            "hours": rng.integers(0, 20, n) / 2,
        }
    )
    (made / "policy.toml").write_text(POLICY)
    rrpolicy.release(made / "policy.toml", made / "survey", source=table)
    return made / "survey"


@pytest.fixture
def folder(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that the reader of a guide is in: the bundle stands there, and nothing else."""
    shutil.copytree(released, tmp_path / "survey")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(line: str) -> None:
    words = shlex.split(line)
    assert words[0] == "rrpolicy"
    assert main(words[1:]) == 0, line


def test_every_command_of_the_analysis_guide_answers(folder, capsys):
    text = (GUIDES / "analysis.md").read_text("utf-8")
    (classes,) = blocks("analysis.md", "text")
    (folder / "classes.csv").write_text(classes)
    told = re.findall(r"`(rrpolicy [^`]+ survey[^`]*)`", text)
    assert len(told) >= 12
    for line in told:
        asked(line)
    for line in "".join(blocks("analysis.md", "sh")).replace("\\\n", " ").splitlines():
        asked(line)
    names: dict[str, Any] = {}
    for block in blocks("analysis.md", "python"):
        exec(block, names)
    printed = capsys.readouterr().out
    assert "largest asthma: " in printed
    assert "Differences between every two rows: Estimated mean of hours by region" in printed
    assert "sex = female" in printed
    assert "the estimate by their middles" in printed
    assert "estimates are of these numbers, not of 'income' itself" in printed


def test_the_programs_guide_runs(folder, monkeypatch, capsys):
    for line in "".join(blocks("programs.md", "sh")).splitlines():
        asked(line)
    assert {path.name for path in folder.iterdir()} >= {
        "rrpolicy.R",
        "labels.do",
        "labels.sps",
        "macros.sql",
        "weights.parquet",
    }
    by_ibis, frames = blocks("programs.md", "python")
    exec(frames, {"rrpolicy": rrpolicy})
    (sql,) = blocks("programs.md", "sql")
    public = folder / "survey" / "public"
    monkeypatch.chdir(public)
    shutil.copy(folder / "macros.sql", public)
    # by itself: ibis changes sqlglot for a whole process; and ibis 12 calls DuckDB and pandas in deprecated ways
    program = f"{by_ibis}\nimport json\nprint(json.dumps(found.iloc[0].tolist()))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    row = rrpolicy.open_release(public).crosstab((), "disease = 'asthma' AND hours > 3").rows[0]
    assert json.loads(done.stdout.splitlines()[-1]) == pytest.approx([row.estimate, row.se])
    with duckdb.connect() as connection:
        connection.execute((folder / "macros.sql").read_text())
        answers = [connection.execute(part).fetchall() for part in sql.split(";") if part.strip()]
    assert [len(answer) for answer in answers] == [1, 3]
    assert "replicates, scale" in capsys.readouterr().err


def test_the_programs_guide_runs_in_r(folder):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    (reading,) = [block for block in blocks("programs.md", "r") if "rr_open" in block]
    rrpolicy.export("survey", "r", out="rrpolicy.R")
    (folder / "guide.R").write_text(f"options(warn = 2)\n{reading}")
    done = subprocess.run(["Rscript", "--vanilla", "guide.R"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "asthma" in done.stdout
