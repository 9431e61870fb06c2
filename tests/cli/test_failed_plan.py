"""A plan that does not pass leaves no file, so that the next one can be written under the same name."""

from __future__ import annotations

import json

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text("""\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
ill = { role = "sensitive", domain = ["no", "yes"] }
[[privacy]]
model = "pk-anonymity"
k = 2
[mechanism]
name = "pram"
""")
TOO_STRICT = '[[utility]]\nmetric = "expected-l2"\nmax = 1e-9\n'
CONDITIONAL = POLICY.replace(
    "[mechanism]",
    '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = 0.95\n[[privacy]]\nmodel = "local-dp"\nepsilon = 4\n[mechanism]',
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = [f"{'FM'[i % 2]},{'yes' if i % 9 == 0 else 'no'}" for i in range(360)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,ill", *rows, ""]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("policy", [POLICY + TOO_STRICT, CONDITIONAL], ids=["utility", "conditional"])
@pytest.mark.parametrize("options", [[], ["--key", "k.json"], ["--json"]], ids=["companions", "key", "json"])
def test_a_plan_that_does_not_pass_leaves_no_file(folder, capsys, policy, options):
    (folder / "policy.toml").write_text(policy)
    before = sorted(p.name for p in folder.iterdir())

    assert main(["plan", "policy.toml", "--out", "plan.json", *options]) == 1

    told = capsys.readouterr().out
    if "--json" in options:
        assert json.loads(told)["passed"] is False
    else:
        assert "plan.json was not written" in told
    assert sorted(p.name for p in folder.iterdir()) == before
    (folder / "policy.toml").write_text(POLICY)
    assert main(["plan", "policy.toml", "--out", "plan.json", *options]) == 0
    assert main(["release", "plan.json", *(options[:2] if "--key" in options else []), "--out", "out"]) == 0


def test_a_key_that_was_drawn_with_stays_as_it_was_and_is_found_before_anything_is_read(folder, capsys):
    (folder / "policy.toml").write_text(POLICY)
    assert main(["plan", "policy.toml", "--out", "plan.json", "--key", "k.json"]) == 0
    assert main(["release", "plan.json", "--key", "k.json", "--out", "out"]) == 0
    used = (folder / "k.json").read_bytes()
    (folder / "people.csv").unlink()  # whoever is told of the key did not wait for the table
    capsys.readouterr()

    assert main(["plan", "policy.toml", "--out", "next.json", "--key", "k.json"]) == 4

    assert "RR403" in capsys.readouterr().err
    assert (folder / "k.json").read_bytes() == used
    assert not (folder / "next.json").exists()
