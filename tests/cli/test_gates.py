"""A utility gate that the mechanism cannot answer is refused before any data are read, at its place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rrpolicy.cli.main import main

POLICIES = Path(__file__).resolve().parents[2] / "policies"


@pytest.fixture
def gated(tmp_path, monkeypatch):
    """Return a function that appends a gate to an example policy and returns the gate's line."""
    shutil.copytree(POLICIES, tmp_path / "policies")
    monkeypatch.chdir(tmp_path / "policies")

    def write(policy: str, gate: str) -> int:
        before = Path(f"{policy}.toml").read_text()
        Path("policy.toml").write_text(f"{before}\n[[utility]]\n{gate}\nmax = 0.5\n")
        return before.count("\n") + 3

    return write


@pytest.mark.parametrize(
    ("policy", "gate", "told"),
    [
        ("anatomy", 'metric = "expected-l2"', "spread inside groups or classes"),
        ("l-diversity", 'metric = "expected-l2"', "'sex' is generalised"),
        ("l-diversity", 'metric = "expected-l2"\nattributes = ["region"]', "'region' is generalised"),
        ("pram", 'metric = "expected-l2"\nattributes = ["hours"]', "'hours' is not released with categories"),
        ("pram", 'metric = "addition-mse"', "nothing is released as sets"),
        ("sensitive-addition", 'metric = "addition-mse"\nattributes = ["sex"]', "'sex' is not released as sets"),
    ],
)
def test_a_gate_that_cannot_be_answered_is_refused_at_its_place(policy, gate, told, gated, capsys):
    line = gated(policy, gate)

    for command in ("check", "plan"):
        assert main([command, "policy.toml"]) == 2

        said = " ".join(capsys.readouterr().err.split())
        assert f"policy.toml:{line}:" in said
        assert "RR252" in said
        assert told in said


def test_a_gate_on_what_stays_as_it_is_beside_generalised_columns_is_decided(gated):
    gated("l-diversity", 'metric = "expected-l2"\nattributes = ["disease"]')

    assert main(["check", "policy.toml"]) == 0
