"""What the kit makes for the tests of plugins is what the commands and the mechanisms take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import rrpolicy
from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.plugin import Offer, hookimpl
from rrpolicy.testing import TableInMemory, open_policy, policy_of, policy_text, write_csv
from rrpolicy.testing.policies import NoOptions

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


PLUGIN = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "acme-nothing"
"""


class Nothing:
    """A plugin that is not installed."""

    @hookimpl
    def rrpolicy_mechanisms(self):
        return [Offer("acme-nothing", f"{__name__}:none")]


none = SimpleNamespace(name="acme-nothing", options=NoOptions, outline=None, plan=None)


def test_a_policy_is_opened_with_a_plugin_that_is_not_installed(tmp_path: Path) -> None:
    text = policy_text(PLUGIN)

    opened = open_policy(text, [Nothing()], tmp_path)

    assert opened.policy.mechanism.name in opened.registry.mechanisms
    assert opened.policy.folder == str(tmp_path)
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    assert open_policy(tmp_path / "policy.toml", [Nothing()]).policy.digest() == opened.policy.digest()
    assert open_policy(opened.policy, [Nothing()]).policy is opened.policy
    with pytest.raises(PolicyError, match="RR210"):
        open_policy(text)
    with pytest.raises(RefusedError, match="RR404.*acme-lost"):
        open_policy(text, ["acme-lost"])


def test_the_kit_needs_nothing_but_rrpolicy() -> None:
    code = "import sys; sys.modules.update(pytest=None, hypothesis=None, _pytest=None); import rrpolicy.testing"
    subprocess.run([sys.executable, "-c", code], check=True)
