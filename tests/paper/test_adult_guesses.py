"""Salary on Adult's training records: a small risk beside a salary that everybody reads, and limits that see it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rrpolicy.cli.main import main

pytestmark = pytest.mark.adult

KNOWN = ("education", "sex")
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def write(adult_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Return what writes a policy of the first 30,162 rows, salary being sensitive."""
    folder = tmp_path_factory.mktemp("adult")
    with duckdb.connect() as connection:
        table = connection.read_csv(str(adult_csv)).limit(30162).project(", ".join((*KNOWN, "salary_class")))
        table.write_csv(str(folder / "adult.csv"))
    lines = "\n".join(f'{name} = {{ role = "quasi-identifier", domain = "observed" }}' for name in KNOWN)

    def make(mechanism: str, **asked: str) -> Path:
        path = folder / f"{mechanism}.toml"
        entry = "\n".join(f'{key} = "{value}"' for key, value in asked.items())
        path.write_text(
            'schema = 1\n[policy]\nname = "adult"\nversion = "1.0.0"\nowner = "office"\npurpose = "a reproduction"\n'
            f'[source]\nuri = "adult.csv"\n[attributes]\n{lines}\n'
            'salary_class = { role = "sensitive", domain = ["<=50K", ">50K"] }\n'
            '[release]\naccept = ["released", "domain:education", "domain:sex"]\n'
            f'[[privacy]]\nmodel = "attribute-disclosure"\n{entry}\n[mechanism]\nname = "{mechanism}"\n'
        )
        return path

    return make


def told(capsys: Any, path: Path) -> tuple[int, Any]:
    capsys.readouterr()
    status = main(["plan", str(path), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_salary_that_everybody_reads_passes_the_risk_and_not_the_best_guess(write: Write, capsys: Any) -> None:
    status, plan = told(capsys, write("rr-qi", threshold="1/3"))
    (finding,) = plan["findings"]
    assert status == 0
    assert finding["achieved"]["value"] <= 1 / 3
    beside = {c["name"]: c["measure"]["value"] for c in finding["companions"] if c["of"] == "salary_class"}
    assert beside["largest within-group share"] > 0.95

    assert main(["check", str(write("rr-qi", measure="best-guess", threshold="1/3"))]) == 2
    assert "'salary_class' is released unchanged" in capsys.readouterr().err


def test_limits_of_guessing_state_their_floor_and_are_reached_above_it(write: Write, capsys: Any) -> None:
    path = write("rr-both", measure="best-guess", threshold="1/3")
    rows = duckdb.read_csv(str(path.with_name("adult.csv"))).fetchall()
    groups = Counter(row[:2] for row in rows)
    floor = max(n / groups[key[:2]] for key, n in Counter(rows).items())

    assert main(["plan", str(path)]) == 1
    errors = capsys.readouterr().err
    assert "RR102" in errors
    assert f"the smallest reachable is {floor:.6g}" in errors

    status, plan = told(capsys, write("rr-both", measure="gain", threshold="1/10"))
    (finding,) = plan["findings"]
    assert status == 0
    assert finding["achieved"]["value"] == pytest.approx(0.1, abs=1e-4)
    assert finding["achieved"]["value"] <= 0.1
