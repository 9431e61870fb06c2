"""Which groups at the highest risk audit/ describes: none of fewer people than the policy says, and verify knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rrpolicy.cli.main import main

POLICY = """schema = 1
[policy]
name = "town"
version = "1.0.0"
owner = "registry"
purpose = "tables"
[source]
uri = "people.csv"
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
town = {{ role = "quasi-identifier", domain = ["a", "b", "c"] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
[[privacy]]
model = "identity-disclosure"
threshold = "3/4"
[mechanism]
name = "rr-both"
[release]
{more}
"""


def top(folder: Path, more: str) -> list[int]:
    policy, bundle = folder / "policy.toml", folder / f"bundle-{more[-1]}"
    policy.write_text(POLICY.format(more=more))
    assert main(["release", str(policy), "--out", str(bundle)]) == 0
    assert main(["verify", str(bundle), "--source", str(folder / "people.csv"), "--quiet"]) == 0
    (finding,) = json.loads((bundle / "audit" / "findings.json").read_text())["findings"]
    return [people for _, _, people in finding["profile"]["top"]]


def test_small_groups_are_not_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("F", "a")] * 90 + [("M", "b")] * 60 + [("F", "c")] * 4 + [("M", "c")] * 2
    lines = [f"{sex},{town},{('no', 'yes')[i % 2]}" for i, (sex, town) in enumerate(rows)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,ill", *lines, ""]))

    every, larger = top(tmp_path, "described_groups = 1"), top(tmp_path, "described_groups = 5")

    assert min(every) < 5
    assert larger == [people for people in every if people >= 5]
    assert larger
    capsys.readouterr()
