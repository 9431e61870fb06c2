"""docs/explanation/disclosure.md: the lines that recompute a risk, run as they are printed on a release, give the plan's number."""

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

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "disclosure.md"
POLICY = policy_text(
    """\
[attributes]
disease = { role = "sensitive", domain = ["none", "flu", "cold"] }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
region = { role = "quasi-identifier", domain = ["north", "south", "east", "west"] }
[[privacy]]
model = "attribute-disclosure"
threshold = "THRESHOLD"
[[privacy]]
model = "identity-disclosure"
threshold = "1/20"
[mechanism]
name = "rr-both"
""",
    "people.csv",
    "By hand",
)


@pytest.mark.parametrize("threshold", ["1/8", "1/2"])
def test_the_risk_is_recomputed_from_what_is_published(tmp_path: Path, capsys: Any, threshold: str) -> None:
    rng = Random(5)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sex", "region", "disease"])
        for _ in range(600):
            region = rng.choices(["north", "south", "east"], [8, 4, 1])[0]  # nobody lives in the west
            rows.writerow([rng.choice("FM"), region, rng.choices(["none", "flu", "cold"], [5, 3, 1])[0]])
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("THRESHOLD", threshold))
    assert main(["plan", str(policy), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert main(["release", str(policy), "--out", str(tmp_path / "bundle")]) == 0
    (code,) = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)

    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    achieved = plan["findings"][0]["achieved"]["value"]
    assert plan["findings"][0]["model"] == "attribute-disclosure"
    assert float(done.stdout) == pytest.approx(achieved, rel=1e-9)
