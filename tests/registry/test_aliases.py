"""A mechanism under several names: one meaning to digests, plans, comparisons, baselines, series and verification."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import RefusedError
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.plugin_spec import Offer
from rrpolicy.testing import policy_text, write_csv

from .test_registry import Registry, info, plugin

NAMES = ("generalisation", "generalization", "l-diversity")
TABLES = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
disease = { role = "sensitive", domain = ["none", "flu"] }
[[privacy]]
model = "k-anonymity"
k = 2
[mechanism]
name = "NAME"
suppression = 0.25
"""
DIGEST = "sha256:3d89b35d74dfc6de8de33b30872b840f5e48681246d14ae820a316e62a6968a5"
"""Of the policy named `l-diversity`, as rrpolicy 0.2.0 computed it."""


@pytest.fixture
def policies(tmp_path: Path) -> dict[str, Path]:
    """One policy under each name of its mechanism, with its table."""
    write_csv(tmp_path / "people.csv", {"sex": ["F", "F", "M", "M"], "disease": ["none", "flu", "none", "flu"]})
    found = {name: tmp_path / f"{name}.toml" for name in NAMES}
    for name, path in found.items():
        path.write_text(policy_text(TABLES.replace("NAME", name)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_means_the_same_under_every_name_of_its_mechanism(policies: dict[str, Path], name: str) -> None:
    policy = open_policy(policies[name]).policy

    assert policy.mechanism.name == "generalisation"
    assert policy.digest() == DIGEST


def test_diff_finds_no_change_between_two_names(policies: dict[str, Path]) -> None:
    (compared,) = rrpolicy.diff(policies["l-diversity"], policies["generalisation"]).comparisons

    assert compared.changes == ()


@pytest.mark.parametrize(("own", "of_baseline"), [NAMES[::2], NAMES[::-2], NAMES[:2]])
def test_a_policy_inherits_from_a_baseline_that_names_the_mechanism_otherwise(
    policies: dict[str, Path], own: str, of_baseline: str
) -> None:
    extending = policies[own].with_name("extending.toml")
    extending.write_text(f'schema = 1\n[policy]\nextends = "{of_baseline}.toml"\n[mechanism]\nname = "{own}"\n')

    assert open_policy(extending).policy.digest() == DIGEST


def test_a_plan_of_the_earlier_name_is_released_under_the_new_one_and_verifies(
    policies: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, plan, out = policies["l-diversity"], tmp_path / "plan.json", tmp_path / "release"
    assert main(["plan", str(policy), "--out", str(plan)]) == 0
    policy.write_text(policies["generalisation"].read_text())

    assert main(["release", str(plan), "--out", str(out)]) == 0
    assert json.loads((out / "public" / "release.json").read_text())["mechanism"] == "generalisation"
    assert json.loads((out / "audit" / "policy.json").read_text())["mechanism"]["name"] == "l-diversity"
    capsys.readouterr()
    assert main(["verify", str(out)]) == 0
    assert "mechanism" not in capsys.readouterr().err


def test_an_alias_that_another_mechanism_has_as_its_name_is_refused() -> None:
    offer = Offer("acme-coarser", "acme:Coarser", aliases=("pram",))
    one = plugin("rrpolicy_mechanisms", SimpleNamespace(name="pram", options=None, outline=None, plan=None))
    registry = Registry([("one", one), ("two", plugin("rrpolicy_mechanisms", offer))], [info("one"), info("two")])

    with pytest.raises(RefusedError, match="RR405.*'pram': 'one' of 'acme-one' and 'two' of 'acme-two'"):
        _ = registry.mechanisms


def test_explain_says_of_which_mechanism_a_name_is_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "generalization"]) == 0

    assert "generalization: a mechanism, another name of generalisation" in capsys.readouterr().out
