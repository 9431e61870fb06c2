"""Columns that the policy does not name: refused, or dropped and each printed by name."""

from __future__ import annotations

import json

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text("""\
{other}
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
note = {{ role = "excluded" }}
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
keep_probability = {{ sex = 0.8, ill = 0.8 }}
""")


@pytest.fixture
def policy(tmp_path):
    rows = [f"{'FM'[i % 2]},{'yes' if i % 7 == 0 else 'no'},x,secret-{i},{i}" for i in range(100)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,ill,note,phone number,income", *rows, ""]))

    def write(other=""):
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(other=other))
        return path

    return write


@pytest.mark.parametrize("other", ["", 'other_columns = "refused"'])
def test_columns_without_a_role_are_refused(policy, other, capsys):
    assert main(["plan", str(policy(other))]) == 3
    told = capsys.readouterr().err
    assert told.count("RR310 the table") == 2
    assert 'other_columns = "excluded"' in told


def test_they_are_dropped_on_request_and_each_is_named(policy, tmp_path, capsys):
    path = policy('other_columns = "excluded"')
    assert main(["plan", str(path), "--out", str(tmp_path / "plan.json")]) == 0
    dropped = capsys.readouterr().out.split("\ndropped\n")[1].split("\n\n")[0].splitlines()
    assert [line.strip() for line in dropped] == [
        "note (excluded)",
        "phone number (excluded, since the policy does not name it)",
        "income (excluded, since the policy does not name it)",
    ]
    assert json.loads((tmp_path / "plan.json").read_text())["dropped"] == ["note", "phone number", "income"]
    key = str(tmp_path / "plan.json.key")
    bundle = tmp_path / "bundle"
    assert main(["release", str(tmp_path / "plan.json"), "--key", key, "--out", str(bundle)]) == 0
    assert all(b"secret-" not in p.read_bytes() for p in bundle.rglob("*") if p.is_file())
    assert main(["verify", str(bundle), "--source", str(tmp_path / "people.csv"), "--key", key]) == 0


def test_a_column_that_the_policy_names_must_be_there_all_the_same(policy, tmp_path, capsys):
    path = policy('other_columns = "excluded"')
    path.write_text(path.read_text().replace("sex =", "sexx =").replace("{ sex = 0.8", "{ sexx = 0.8"))
    assert main(["plan", str(path)]) == 3
    told = capsys.readouterr().err
    assert "RR311" in told
    assert "did you mean 'sex'?" in told
