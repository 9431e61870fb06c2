"""Columns whose names are those of things that releases count by: released, verified and estimated as any other."""

from __future__ import annotations

import csv
import json
import random

import pytest

from rrpolicy.cli.main import main
from rrpolicy.estimate.opening import open_release
from rrpolicy.testing import policy_text

POLICY = policy_text(
    """\
[attributes.{known}]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.{told}]
role = "sensitive"
domain = ["a", "b", "c"]
{rest}
""",
    "t.csv",
    "names",
)
CARRIED = """
[attributes.{carried}]
role = "insensitive"
assume_unlinkable = "numbers of a test"
"""
PRAM = """
[[privacy]]
model = "local-dp"
epsilon = 20
scope = "attribute"
[mechanism]
name = "pram"
allocation = "fixed"
keep_probability = {{ "{known}" = "3/4", "{told}" = "3/4" }}
"""
ANATOMY = """
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
[mechanism]
name = "anatomy"
"""
CLASSES = """
[[privacy]]
model = "k-anonymity"
k = 2
[mechanism]
name = "l-diversity"
algorithm = "mondrian"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "form"),
    [(("n", "sex", "w"), "parquet"), (("k0", "p0", "n"), "csv"), (("count", "N", "mixed"), "duckdb")],
    ids=["n", "k0", "N"],
)
@pytest.mark.parametrize("mechanism", [CARRIED + PRAM, ANATOMY, CLASSES], ids=["pram", "anatomy", "l-diversity"])
def test_names_that_are_counted_by_are_names_as_any_other(tmp_path, monkeypatch, mechanism, names, form):
    known, told, carried = names
    carried = carried if "{carried}" in mechanism else ""
    rng = random.Random(5)
    with (tmp_path / "t.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([c for c in (known, told, carried) if c])
        for i in range(240):
            writer.writerow([rng.choice("fm"), "abc"[i % 3], i % 7][: 3 if carried else 2])
    text = POLICY.format(known=known, told=told, rest=mechanism.format(known=known, told=told, carried=carried))
    (tmp_path / "policy.toml").write_text(f'{text}\n[release]\nformat = "{form}"\n')
    monkeypatch.chdir(tmp_path)

    assert main(["release", "policy.toml", "--out", "out", "--key", "key.json"]) == 0
    assert main(["verify", "out", "--source", "t.csv", "--key", "key.json"]) == 0
    table = open_release("out").crosstab([known, told])
    assert table.estimate.sum() == pytest.approx(240)
    assert json.loads((tmp_path / "out" / "public" / "release.json").read_text())["records"] == 240
