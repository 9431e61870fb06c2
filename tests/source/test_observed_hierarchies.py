"""A domain taken from the data, with a hierarchy over it: the hierarchy may list more than occurs, and no less."""

from __future__ import annotations

import json

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text("""\
[attributes]
town = {{ role = "quasi-identifier", domain = "observed", hierarchy = {town}{nulls} }}
year = {{ role = "quasi-identifier", domain = "observed", hierarchy = [{{ old = [1, 2], new = [3, 4] }}] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
[[privacy]]
model = "k-anonymity"
k = 20
[mechanism]
name = "l-diversity"
[release]
accept = ["domain:town", "domain:year", "node", "released"]
""")
INLINE = '[{ north = ["A", "B", "none"], south = ["C", "D", "E"] }, { all = ["north", "south"] }]'


@pytest.fixture
def policy(tmp_path):
    rows = [f"{'ABCD'[i % 4] if i % 50 else ''},{1 + i % 3},{'yes' if i % 7 == 0 else 'no'}" for i in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["town,year,ill", *rows, ""]))
    (tmp_path / "towns.csv").write_text("A;n;*\nB;n;*\nC;s;*\nD;s;*\nE;s;*\nnone;n;*\n")

    def write(town=INLINE, nulls=', nulls = "none"'):
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(town=town, nulls=nulls))
        return path

    return write


@pytest.mark.parametrize("town", [INLINE, '"towns.csv"'])
def test_they_work_together(policy, tmp_path, town, capsys):
    path = policy(town)
    assert main(["check", str(path)]) == 0
    assert main(["plan", str(path), "--out", str(tmp_path / "plan.json")]) == 0, capsys.readouterr().err
    attributes = json.loads((tmp_path / "plan.json").read_text())["policy"]["resolved"]["attributes"]
    assert attributes[0]["domain"] == ["A", "B", "C", "D", "none"]
    north = attributes[0]["hierarchy"][1][0]
    assert [group == north for group in attributes[0]["hierarchy"][1]] == [True, True, False, False, True]
    assert attributes[1]["hierarchy"] == [[1, 2, 3], ["old", "old", "new"]]
    bundle, key = tmp_path / "bundle", str(tmp_path / "plan.json.key")
    assert main(["release", str(tmp_path / "plan.json"), "--key", key, "--out", str(bundle)]) == 0


@pytest.mark.parametrize("town", [INLINE.replace(', "D"', "").replace('"B", ', ""), INLINE.replace(', "none"', "")])
def test_a_value_that_the_hierarchy_lacks_is_counted_and_not_named(policy, town, capsys):
    assert main(["plan", str(policy(town))]) == 3
    told = capsys.readouterr().err
    assert "RR336" in told
    assert ("2 values of 'town'" if "none" in town else "1 value of 'town'") in told


@pytest.mark.parametrize(("town", "code"), [("3", "RR216"), ("[]", "RR216"), ("[1]", "RR216"), ('"no.csv"', "RR215")])
def test_what_is_no_hierarchy_is_refused(policy, town, code, capsys):
    assert main(["check", str(policy(town))]) == 2
    assert f"{code} " in capsys.readouterr().err
