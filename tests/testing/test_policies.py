"""What the kit makes for the tests of plugins is what the commands and the mechanisms take."""

from __future__ import annotations

from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.policy.model import Role
from rrpolicy.testing import TableInMemory, policy_of, policy_text, write_csv

TABLES = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"], nulls = "none" }
"it, or \\"not\\"" = { role = "sensitive", domain = ["=1", "it's"] }
[[privacy]]
model = "local-dp"
epsilon = 4
scope = "attribute"
[mechanism]
name = "pram"
"""


def test_a_policy_and_a_table_are_released(tmp_path: Path) -> None:
    columns = {"sex": ["f", "m", None, "m"] * 20, 'it, or "not"': ["=1", "it's"] * 40}
    write_csv(tmp_path / "people.csv", columns)
    (tmp_path / "policy.toml").write_text(policy_text(TABLES, owner="somebody"), encoding="utf-8")

    rrpolicy.release(tmp_path / "policy.toml", out=tmp_path / "out")

    policy = rrpolicy.load_policy(tmp_path / "policy.toml")
    assert (policy.name, policy.owner) == ("people", "somebody")
    assert rrpolicy.open_release(tmp_path / "out").records == 80


def test_a_resolved_policy_has_defaults_for_what_nobody_says() -> None:
    policy = policy_of({"a": ["x", "y"], "b": [1, 2, 3]}, uri="t.csv", owner="me")

    assert [a.domain for a in policy.released] == [("x", "y"), (1, 2, 3)]
    assert {a.role for a in policy.released} == {Role.QUASI_IDENTIFIER}
    assert (policy.source.uri, policy.owner, policy.mechanism.name) == ("t.csv", "me", "none")
    assert TableInMemory.random(policy, 50, 1).counts("a", "b").records == 50
    with pytest.raises(TypeError):
        policy_of({}, unknown=1)
