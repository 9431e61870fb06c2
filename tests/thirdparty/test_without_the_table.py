"""An assessor that rests on the original is never called with less, whoever asks; one that raises then would tell."""

from __future__ import annotations

import pytest

from rrpolicy.cli.main import main

POLICY = """
schema = 1
[policy]
name = "third-party"
version = "1.0.0"
owner = "tests"
purpose = "an assessor that rests on the original"
plugins = ["acme-exact"]

[source]
uri = "survey.csv"
SOURCE

[attributes]
id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }

[[privacy]]
model = "acme-exact"

[mechanism]
name = "pram"
allocation = "fixed"
keep_probability = { sex = "4/5" }
"""
PLUGIN = """
from rrpolicy.frozen import replace
from pydantic import BaseModel, ConfigDict
from rrpolicy.plugin import Assessor, Axis, Basis, Finding, Measure, Order, Product, Verdict, hookimpl

class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

class Exact:
    name, options = "acme-exact", Options
    def describe(self, options):
        return "every record is counted"
    def refuses(self, options, policy):
        return None
    def compare(self, old, new):
        return Order.EQUAL

def found(requirement, original):
    assert not isinstance(original, int), "called without the original"
    words = ("acme-exact", "acme-exact", "", requirement.place, Measure(float(original.records)), None)
    return Finding(*words, Verdict.SATISFIED, {basis}, "Who has the table.")

def assess(requirement, channel, original):
    return found(requirement, original)

def holds(requirement, channel, original):
    return found(requirement, original).verdict is Verdict.SATISFIED

def measure(requirement, policy, channel, written):
    raise AssertionError("measured, and rests on the original")

@hookimpl
def rrpolicy_privacy_models():
    return [Exact()]

@hookimpl
def rrpolicy_assessors():
    return [Assessor("acme-exact", Product, (Axis,), {told}, "none", assess, holds=holds, measure=measure, {units})]
"""
CASES = {
    "one record a person": ("Basis.ORIGINAL", "Basis.ORIGINAL", "", ""),
    "several records a person": ("Basis.ORIGINAL", "Basis.CHANNEL", "units=Basis.ORIGINAL", "max_records = 2"),
}


@pytest.fixture(params=CASES)
def policy(request, site, distribution, tmp_path):
    basis, told, units, source = CASES[request.param]
    site(distribution(tmp_path / "site", "acme-exact", "exact", PLUGIN.format(basis=basis, told=told, units=units)))
    (tmp_path / "survey.csv").write_text("id,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(200)))
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.replace("SOURCE", source))
    return path


def test_it_is_undecided_until_the_table_is_there(policy, capsys):
    assert main(["check", str(policy), "--json"]) == 0
    assert '"verdict": "undecided"' in capsys.readouterr().out
    assert main(["plan", str(policy), "--expected-rows", "200"]) == 1
    assert "undecided acme-exact" in capsys.readouterr().out
    assert main(["plan", str(policy)]) == 0
    assert "met       acme-exact" in capsys.readouterr().out


def test_who_verifies_without_the_table_leaves_it_undecided(policy, tmp_path, capsys):
    bundle = str(tmp_path / "bundle")
    assert main(["release", str(policy), "--out", bundle]) == 0
    for folder in (bundle + "/public", bundle):
        assert main(["verify", folder, "--plugin", "acme-exact", "--json"]) == 0, capsys.readouterr()
        assert "acme-exact every record is counted" in capsys.readouterr().out
    assert main(["verify", bundle, "--plugin", "acme-exact", "--source", str(tmp_path / "survey.csv")]) == 0
    assert "undecided: acme-exact" not in capsys.readouterr().out


def test_solvers_refuse_to_plan_without_it(policy, capsys):
    policy.write_text(policy.read_text().partition("allocation")[0])
    assert main(["plan", str(policy), "--expected-rows", "200"]) == 2
    assert "RR255" in capsys.readouterr().err
