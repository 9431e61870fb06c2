"""Values that one record alone has, of columns released unchanged: told to the audit, never to the public."""

from __future__ import annotations

import json

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text
from tests.survey import WAIVED

POLICY = (
    policy_text("""\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
town = { role = "quasi-identifier", domain = "observed", unchanged = "counts by town are public" }
hours = { role = "insensitive", unchanged = "told to nobody", nulls = "keep" }
plain = { role = "insensitive", unchanged = "told to nobody" }
[[privacy]]
model = "local-dp"
epsilon = 4
scope = "attribute"
[mechanism]
name = "pram"
attributes = ["sex"]
keep_probability = { sex = 0.8 }
[release]
accept = ["domain:town", "released"]
""")
    + WAIVED
)


@pytest.fixture
def policy(tmp_path):
    town = [f"t{i % 5}" for i in range(197)] + ["lone-a", "lone-b", "lone-c"]
    hours = [i // 2 % 20 for i in range(195)] + [201, 202, 203, 204, ""]
    rows = [f"{'FM'[i % 2]},{town[i]},{hours[i]},{i % 3}" for i in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,hours,plain", *rows, ""]))
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_the_plan_and_the_audit_report_warn_and_the_public_is_not_told(policy, tmp_path, capsys):
    plan = tmp_path / "plan.json"
    assert main(["plan", str(policy), "--out", str(plan)]) == 0
    warnings = capsys.readouterr().out.split("\nwhat needs judgement\n")[1].split("\n\n")[0].splitlines()
    told = [line.strip().partition(". ")[0] for line in warnings]
    assert told == [
        "`protection` is waived until 2099-12-31 by survey office: a test: nobody is in the table",
        "1 requirement is met only given the statistics of the table in the description: domain:town, released",
        "'town' is released unchanged; values that one record alone has: 3",
        "'hours' is released unchanged; values that one record alone has: 4",
    ]
    bundle = tmp_path / "bundle"
    assert main(["release", str(plan), "--key", f"{plan}.key", "--out", str(bundle)]) == 0
    remarks = json.loads((bundle / "audit" / "report.json").read_text())["remarks"]
    assert sum("values that one record alone has" in json.dumps(remark) for remark in remarks) == 2
    assert b"values that one record alone has: 4" in (bundle / "audit" / "report.html").read_bytes()
    public = [p.read_bytes() for p in (bundle / "public").rglob("*") if p.is_file()]
    assert not any(b"one record alone" in content for content in public)


def test_it_is_said_that_the_file_of_a_plans_key_goes_with_the_key(policy, tmp_path, capsys):
    plan = tmp_path / "plan.json"
    assert main(["plan", str(policy), "--out", str(plan)]) == 0
    kept = tmp_path / "plan.json.key"
    assert kept.exists()
    capsys.readouterr()

    assert main(["release", str(plan), "--out", str(tmp_path / "one")]) == 0
    assert f"the key was destroyed, and so was its file {kept}" in " ".join(capsys.readouterr().out.split())
    assert not kept.exists()
    assert main(["release", str(policy), "--out", str(tmp_path / "two")]) == 0
    assert "so was its file" not in capsys.readouterr().out
