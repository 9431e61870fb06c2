"""An unexpected error in a plugin names the plugin, wherever it is raised; one in the core stays a bug of the core."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main

SITE = Path(__file__).parent / "site"
POLICY = """
schema = 1
[policy]
name = "third-party"
version = "1.0.0"
owner = "tests"
purpose = "a plugin with a mistake"
plugins = ["acme-oue", "acme-wrong"]

[source]
uri = "survey.csv"

[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
wave = { role = "insensitive", domain = ["1", "2"], assume_unlinkable = "of the survey, not of a person" }

[[privacy]]
model = "acme-amplification"
gamma = 9

[mechanism]
name = "acme-wrong"
"""
SECRET = "value-of-a-person"
PLUGIN = """
from dataclasses import dataclass
from rrpolicy.frozen import replace
from typing import ClassVar
from acme_oue.axis import Unary
from acme_oue.mechanism import UnaryEncoding
from rrpolicy.plugin import Identity, Problem, RequirementError, hookimpl

class Odd(Unary):
    kind: ClassVar[str] = "acme.odd"
    def split(self, codes, n, stream):
        raise KeyError({secret!r})

class Wrong(UnaryEncoding):
    name = "acme-wrong"
    def outline(self, options, policy):
        {outline}
        return super().outline(options, policy)
    def plan(self, options, task):
        {plan}
        return super().plan(options, task)

class Drawing(UnaryEncoding):
    name = "acme-drawing"
    def _odd(self, axis):
        return Odd(axis.attribute, axis.labels, axis.flip, axis.name) if isinstance(axis, Unary) else axis
    def outline(self, options, policy):
        found = super().outline(options, policy)
        channel = replace(found.fixed, axes=tuple(map(self._odd, found.fixed.axes)))
        return replace(found, fixed=channel, axes=tuple((a.attributes, type(a)) for a in channel.axes))

@hookimpl
def rrpolicy_mechanisms():
    return [Wrong(), Drawing()]

@hookimpl
def rrpolicy_channels():
    return [Odd]
"""


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    """Install acme-wrong with one line of its functions replaced; return a policy that uses it."""

    def install(mechanism: str = "acme-wrong", **lines: str) -> Path:
        site = tmp_path / "site"
        info = site / "acme_wrong-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-wrong\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[rrpolicy]\nwrong = acme_wrong\n")
        told = {"outline": "pass", "plan": "pass", **lines}
        (site / "acme_wrong.py").write_text(PLUGIN.format(secret=SECRET, **told))
        monkeypatch.syspath_prepend(str(SITE))
        monkeypatch.syspath_prepend(str(site))
        importlib.invalidate_caches()
        rows = "".join(f"{'fm'[i % 2]},{1 + i % 3 % 2}\n" for i in range(400))
        (tmp_path / "survey.csv").write_text("sex,wave\n" + rows)
        policy = tmp_path / "policy.toml"
        policy.write_text(POLICY.replace('name = "acme-wrong"', f'name = "{mechanism}"'))
        return policy

    before = set(sys.modules)
    yield install
    for name in set(sys.modules) - before:
        if name.startswith("acme_"):
            del sys.modules[name]


RAISES = f"raise KeyError({SECRET!r})"
CASES = {
    "outline, asked by check": ({"outline": RAISES}, "check", "Wrong.outline", "KeyError"),
    "outline, asked by plan": ({"outline": RAISES}, "plan", "Wrong.outline", "KeyError"),
    "plan": ({"plan": RAISES}, "plan", "Wrong.plan", "KeyError"),
    "plan, asked by release": ({"plan": "1 / 0"}, "release", "Wrong.plan", "ZeroDivisionError"),
    "what plan calls": ({"plan": "Identity.of(1, 2)"}, "plan", "Wrong.plan", "TypeError"),
    "the draw": ({"mechanism": "acme-drawing"}, "release", "Odd.split", "KeyError"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_named_and_no_value_is_shown(wrong, capsys, case):
    lines, command, function, error = CASES[case]
    policy = wrong(**lines)
    before = sorted(p.name for p in policy.parent.iterdir())

    out = ["--out", str(policy.with_name("bundle"))] if command == "release" else []
    assert main([command, str(policy), *out]) == 4

    said = capsys.readouterr().err
    assert f"RR413 acme-wrong 1.0: `{function}` failed: {error} (acme_wrong, line " in said
    assert SECRET not in said
    assert "bug" not in said
    assert sorted(p.name for p in policy.parent.iterdir()) == before


def test_the_whole_error_is_printed_where_it_is_asked_for(wrong, capsys, monkeypatch):
    monkeypatch.setenv("RRPOLICY_TRACEBACK", "1")
    assert main(["plan", str(wrong(plan=RAISES))]) == 4
    said = capsys.readouterr().err
    assert f"KeyError: '{SECRET}'" in said
    assert said.count("Traceback") == 1


def test_the_functions_raise_it_as_the_commands_print_it(wrong):
    policy = wrong(plan="1 / 0")
    with pytest.raises(rrpolicy.RefusedError, match=r"RR413: acme-wrong 1\.0: `Wrong\.plan` failed: Zero") as raised:
        rrpolicy.plan(policy)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_what_it_refuses_by_itself_is_shown_as_it_is(wrong, capsys):
    problem = "raise RequirementError(Problem('RR102', 'it cannot', task.policy.place('mechanism')))"
    assert main(["plan", str(wrong(plan=problem))]) == 1
    assert "RR102 it cannot" in capsys.readouterr().err


def test_a_mistake_of_the_core_is_no_plugin_s(wrong, capsys, monkeypatch):
    policy = wrong()
    monkeypatch.setattr("rrpolicy.planning.policy_opening.load_registry", lambda *_: 1 / 0)
    assert main(["plan", str(policy)]) == 70
    assert "a bug, please report it: ZeroDivisionError" in capsys.readouterr().err
