"""docs/explanation/anatomy.md: the lines that recompute posteriors and risks, run as printed, give the numbers of plan and audit."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "anatomy.md"
POLICY = policy_text(
    """\
[attributes]
region = { role = "quasi-identifier", domain = ["a", "b", "c"] }
disease = { role = "sensitive", domain = DOMAIN }
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = SIZE
ENTRY
[mechanism]
name = "anatomy"
[release]
format = "csv"
""",
    "people.csv",
    "By hand",
)
ENTRY = """
[[privacy]]
model = "attribute-disclosure"
threshold = "THRESHOLD"
where = { region = "a" }
"""


def lines(number: int) -> str:
    found: list[str] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    return found[number]


def printed(folder: Path, code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def write(folder: Path, people: list[tuple[str, str]], domain: str, size: int, entry: str = "") -> Path:
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("region", "disease"), *people])
    path = folder / "policy.toml"
    path.write_text(POLICY.replace("DOMAIN", domain).replace("SIZE", str(size)).replace("ENTRY", entry))
    return path


def example() -> list[tuple[str, str]]:
    people = [("a", "u")] * 10 + [("a", "w")] * 10 + [("b", "u")] * 100 + [("c", "w")] * 100
    Random(1).shuffle(people)
    return people


def test_the_written_release_is_measured_by_hand(tmp_path: Path, capsys: Any) -> None:
    rng = Random(5)
    people = [(rng.choices("abc", [6, 3, 1])[0], v) for v in "uvwx" for _ in range(40 if v != "x" else 33)]
    path = write(tmp_path, people, '["u", "v", "w", "x"]', 3)
    bundle = tmp_path / "bundle"
    assert main(["release", str(path), "--out", str(bundle)]) == 0
    capsys.readouterr()
    (line,) = printed(tmp_path, lines(0))
    highest, certain, mean = map(float, line.split())

    (measured,) = json.loads((bundle / "audit" / "findings.json").read_text())["attained"]
    beside = {c["name"]: c["measure"]["value"] for c in measured["companions"]}
    assert measured["achieved"]["value"] == pytest.approx(highest, rel=1e-9)
    assert beside["people with a posterior of 1"] == certain
    assert beside["mean highest posterior"] == pytest.approx(mean, rel=1e-9)


def test_the_risk_of_two_values_is_recomputed_by_hand(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path, example(), '["u", "w"]', 2, ENTRY.replace("THRESHOLD", "3/10"))
    assert main(["plan", str(path), "--json"]) == 1
    plan = json.loads(capsys.readouterr().out)
    found = next(f for f in plan["findings"] if f["model"] == "attribute-disclosure")
    by_hand = {tuple(line.split()[:2]): float(line.split()[2]) for line in printed(tmp_path, lines(1))}

    assert by_hand["a", "u"] == by_hand["a", "w"] == pytest.approx(21 / 44)
    assert found["verdict"] == "failed"
    assert found["achieved"]["value"] == pytest.approx(21 / 44)
    beside = {c["name"]: c["measure"] for c in found["companions"] if "=" not in c["of"]}
    assert beside["estimated risk"]["standing"] == "estimate"
    assert abs(beside["estimated risk"]["value"] - 21 / 44) < 3 * beside["estimated risk"]["error"]


@pytest.mark.parametrize(("threshold", "status"), [("3/10", 1), ("47/100", 1), ("21/44", 0), ("1/2", 0)])
def test_the_example_is_released_only_at_its_risk(tmp_path: Path, threshold: str, status: int) -> None:
    path = write(tmp_path, example(), '["u", "w"]', 2, ENTRY.replace("THRESHOLD", threshold))
    assert main(["release", str(path), "--out", str(tmp_path / "bundle")]) == status
