"""Associations in the audit report: the original's are those that scipy computes, and labels are not taken for values."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy.stats.contingency import association

from rrpolicy.cli.main import main

HEAD = """schema = 1
[policy]
name = "town"
version = "1.0.0"
owner = "registry"
purpose = "tables"
[source]
uri = "people.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"], release_as = "gender" }
town = { role = "quasi-identifier", domain = ["a", "b", "c"] }
ill = { role = "sensitive", domain = ["no", "yes"] }
"""
DRAWN = HEAD + '[[privacy]]\nmodel = "local-dp"\nepsilon = 12\n[mechanism]\nname = "pram"\n'
CLASSES = HEAD + '[[privacy]]\nmodel = "k-anonymity"\nk = 300\n[mechanism]\nname = "l-diversity"\n'


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = [f"{'FM'[i % 2]},{'abc'[i // 2 % 3]},{('no', 'yes')[i % 4 < 1 + (i // 2 % 3 == 0)]}" for i in range(1_200)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,ill", *rows, ""]))
    return tmp_path


def shown(folder: Path, text: str) -> dict[tuple[str, ...], dict[str, str | None]]:
    policy, bundle = folder / "policy.toml", folder / "bundle"
    policy.write_text(text)
    if main(["release", str(policy), "--out", str(bundle)]) != 0:
        policy.write_text(text + '[release]\naccept = ["parameters:sex", "node", "released"]\n')
        assert main(["release", str(policy), "--out", str(bundle)]) == 0
    assert main(["verify", str(bundle), "--source", str(folder / "people.csv"), "--quiet"]) == 0
    report = json.loads((bundle / "audit" / "report.json").read_text())
    return {tuple(row["columns"]): row for row in report["associations"]}


def cramers_v(folder: Path, one: str, other: str) -> float:
    cells = duckdb.sql(f"select {one}, {other}, count(*) from '{folder / 'people.csv'}' group by all").fetchall()
    rows, columns = sorted({c[0] for c in cells}), sorted({c[1] for c in cells})
    table = np.zeros((len(rows), len(columns)), dtype=int)
    for row, column, n in cells:
        table[rows.index(row), columns.index(column)] = n
    return float(association(table, method="cramer"))


def test_the_original_is_what_scipy_says_and_the_estimate_near(people: Path) -> None:
    found = shown(people, DRAWN)

    strongest = found["gender", "ill"]
    assert strongest["original"] is not None
    assert float(strongest["original"]) == pytest.approx(cramers_v(people, "sex", "ill"), rel=0.05)
    assert strongest["estimate"] is not None
    assert float(strongest["estimate"]) == pytest.approx(float(strongest["original"]), abs=0.15)
    ordered = [float(row["original"] or 0) for row in found.values()]
    assert ordered == sorted(ordered, reverse=True)


def test_what_labels_go_with_is_not_shown_for_what_values_go_with(people: Path) -> None:
    found = shown(people, CLASSES)

    assert found
    assert all(row["estimate"] is None for columns, row in found.items() if "town" in columns)
