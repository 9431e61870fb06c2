"""A distribution that somebody else wrote: found only when listed, used end to end, reported; and three that misbehave."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import rrpolicy
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.finding import Verdict
from rrpolicy.planning.check import check
from rrpolicy.planning.gate import gate
from rrpolicy.planning.plan import Plan, make_plan
from rrpolicy.testing import check_assessor, check_mechanism, open_policy

SITE = Path(__file__).parent / "site"
POLICY = """
schema = 1
[policy]
name = "third-party"
version = "1.0.0"
owner = "tests"
purpose = "a mechanism of another distribution"
plugins = ["acme-oue>=1.2"]

[source]
uri = "survey.csv"

[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s", "w"] }
wave = { role = "insensitive", domain = ["1", "2"], assume_unlinkable = "of the survey, not of a person" }

[[privacy]]
model = "acme-amplification"
gamma = 9

[mechanism]
name = "acme-oue"
"""
RECORDS = 4000


@pytest.fixture
def folder(tmp_path):
    generator = np.random.default_rng(1)
    rows = zip(
        generator.choice(["f", "m"], RECORDS, p=[0.3, 0.7]),
        generator.choice(["n", "e", "s", "w"], RECORDS, p=[0.1, 0.2, 0.3, 0.4]),
        generator.choice(["1", "2"], RECORDS),
        strict=True,
    )
    (tmp_path / "survey.csv").write_text("sex,region,wave\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def estimated_elsewhere(public: Path) -> tuple[np.ndarray, np.ndarray]:
    """Estimate where the plugin is not installed: in a process of its own, without its folder."""
    code = (
        "import json, sys; from rrpolicy.estimate.opening import open_release;"
        "t = open_release(sys.argv[1]).crosstab(['sex']);"
        "assert not any(m.startswith('acme') for m in sys.modules);"
        "print(json.dumps([t.estimate.tolist(), t.se().tolist()]))"
    )
    found = subprocess.run([sys.executable, "-c", code, str(public)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    estimate, se = json.loads(found.stdout)
    return np.array(estimate), np.array(se)


def test_it_is_found_and_decides_without_data(site, folder):
    site(SITE)

    opened = open_policy(folder / "policy.toml")
    checked = check(opened)

    (finding,) = checked.findings
    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved.value == 9
    assert {(p.name, p.distribution, p.version) for p in opened.registry.plugins} >= {("oue", "acme-oue", "1.2.0")}
    assert "rrpolicy_assessors" in next(p for p in opened.registry.plugins if p.name == "oue").hooks


def test_it_is_not_imported_unless_listed(site):
    site(SITE)

    registry = load_registry()

    assert "acme-oue" not in registry.mechanisms
    assert "acme_oue" not in sys.modules
    assert "acme-oue" in load_registry(["acme-oue"]).mechanisms


def test_it_conforms(site, folder):
    site(SITE)
    opened = open_policy(folder / "policy.toml")
    mechanism = opened.registry.mechanisms["acme-oue"]
    outline = mechanism.outline(opened.policy.mechanism.options, opened.policy)

    check_mechanism(mechanism, opened)
    assessor = opened.registry.assessor(opened.policy.requirements[0], opened.policy, outline)
    findings = check_assessor(assessor, opened)

    assert findings[0].achieved.value == 9


def test_it_plans_and_is_named_in_the_plan(site, folder):
    site(SITE)
    opened = open_policy(folder / "policy.toml")

    plan = make_plan(opened.policy, opened.registry, RECORDS)
    document = plan.to_json()

    assert json.dumps(document["channel"]).count("acme.unary") == 2
    assert {"name": "oue", "distribution": "acme-oue", "version": "1.2.0"}.items() <= {
        k: v for p in document["software"]["plugins"] if p["name"] == "oue" for k, v in p.items()
    }.items()
    assert Plan.from_json(json.loads(json.dumps(document)), opened.registry).digest() == plan.digest()


def test_its_kind_is_needed_to_read_the_plan(site, folder):
    site(SITE)
    opened = open_policy(folder / "policy.toml")
    document = make_plan(opened.policy, opened.registry, RECORDS).to_json()

    with pytest.raises((RefusedError, PolicyError)):
        Plan.from_json(document, load_registry())


def test_it_releases_and_the_release_is_estimated_without_it(site, folder):
    from rrpolicy.bundle.execute import release
    from rrpolicy.planning.assess import assess
    from rrpolicy.planning.keys import source_tag
    from rrpolicy.planning.waivers import Terms
    from rrpolicy.source.opening import open_original
    from rrpolicy.verification.outcome import VerificationLevel
    from rrpolicy.verification.verify import verify

    site(SITE)
    opened = open_policy(folder / "policy.toml")
    key = bytes(range(32))
    with open_original(opened.policy, opened.registry.sources, folder / "scratch") as original:
        plan = make_plan(opened.policy, opened.registry, original)
        assert gate(assess(plan.policy, opened.registry, plan.channel, original), plan.policy, Terms()).passed
        plan = plan.with_tag(source_tag(key, original.content()))
        bundle = release(plan, opened.policy, opened.registry, original, key, folder / "bundle")
        truth = original.counts("sex").n

    manifest = json.loads((bundle / "public" / "release.json").read_text())
    assert "acme-oue" in {p["distribution"] for p in manifest["software"]["plugins"]}
    loaded = [name for name in sys.modules if name.startswith("acme_")]
    for name in loaded:
        del sys.modules[name]
    with pytest.raises(RefusedError, match="RR412") as refused:
        verify(bundle, level=VerificationLevel.SOURCE, source=folder / "survey.csv")
    assert "--plugin acme-oue" in refused.value.problems[0].hint
    assert not [name for name in sys.modules if name.startswith("acme_")], "it was imported on the bundle's word"
    verified = verify(bundle, level=VerificationLevel.SOURCE, source=folder / "survey.csv", plugins=["acme-oue>=1.2"])
    assert verified.problems == ()
    assert [f.model for f in verified.findings if f.verdict is Verdict.SATISFIED][:1] == ["acme-amplification"]
    estimate, se = estimated_elsewhere(bundle / "public")
    assert np.all(np.abs(estimate - truth) <= 6 * se)
    assert estimate.sum() == pytest.approx(RECORDS)


def test_the_core_assesses_its_axis_too(site, folder):
    from rrpolicy.planning.assess import assess

    site(SITE)
    path = folder / "policy.toml"
    path.write_text(POLICY + '\n[[privacy]]\nmodel = "local-dp"\nepsilon = 4.4\n')
    opened = open_policy(path)

    plan = make_plan(opened.policy, opened.registry, RECORDS)
    findings = assess(plan.policy, opened.registry, plan.channel, RECORDS).findings

    assert findings[1].achieved.value == pytest.approx(2 * math.log(9), rel=1e-12)
    assert [f.verdict for f in findings] == [Verdict.SATISFIED, Verdict.SATISFIED]
    assert findings[0].assessor != findings[1].assessor


def test_a_requirement_without_a_rule_for_the_axes_is_an_error_with_its_place(site, folder):
    site(SITE)
    path = folder / "policy.toml"
    path.write_text(POLICY.replace('name = "acme-oue"', 'name = "pram"'))

    with pytest.raises(PolicyError) as error:
        check(open_policy(path))

    (problem,) = error.value.problems
    assert problem.code == "RR228"
    assert "no rule for axes of kind retention" in problem.message
    assert path.read_text().splitlines()[problem.place.line - 1] in {"[[privacy]]", 'model = "acme-amplification"'}


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("acme-oue>=2", r"RR404.*'acme-oue' 1\.2\.0 is installed"),
        ("acme-nowhere", "RR404.*acme-nowhere"),
    ],
)
def test_a_missing_or_old_distribution_is_refused(site, folder, listed, message):
    site(SITE)
    path = folder / "policy.toml"
    path.write_text(POLICY.replace("acme-oue>=1.2", listed))

    with pytest.raises(RefusedError, match=message):
        open_policy(path)


def test_a_name_that_an_unlisted_plugin_may_offer_is_unknown_with_its_distribution(site, folder):
    site(SITE)
    path = folder / "policy.toml"
    path.write_text(POLICY.replace('plugins = ["acme-oue>=1.2"]\n', ""))

    with pytest.raises(PolicyError) as error:
        open_policy(path)

    unknown = [p for p in error.value.problems if p.code == "RR210"]
    assert len(unknown) == 2
    assert all("installed and not listed: " in p.hint and "acme-oue" in p.hint for p in unknown)
    assert "acme_oue" not in sys.modules


def test_a_broken_plugin_fails_only_the_policies_that_list_it(site, folder, tmp_path, distribution):
    site(distribution(tmp_path / "broken", "acme-broken", "broken", "raise OSError('no licence')\n"))
    site(SITE)

    assert check(open_policy(folder / "policy.toml")).findings
    path = folder / "policy.toml"
    path.write_text(POLICY.replace('["acme-oue>=1.2"]', '["acme-oue>=1.2", "acme-broken"]'))
    with pytest.raises(RefusedError, match="RR406.*'broken' of 'acme-broken' cannot be imported: OSError: no licence"):
        open_policy(path)


def test_an_entry_point_with_a_built_in_name_is_refused(site, tmp_path, distribution):
    site(distribution(tmp_path / "taker", "acme-pram", "pram", "raise OSError('never imported')\n"))

    assert "pram" in load_registry().mechanisms
    with pytest.raises(RefusedError, match="RR405.*both provide the plugin 'pram': 'rrpolicy' and 'acme-pram'"):
        load_registry(["acme-pram"])


def test_a_mechanism_with_a_built_in_name_is_refused(site, tmp_path, distribution):
    code = (
        "from types import SimpleNamespace\nfrom rrpolicy.plugin import hookimpl\n"
        "@hookimpl\ndef rrpolicy_mechanisms():\n    return [SimpleNamespace(name='pram', options=0, outline=0, plan=0)]\n"
    )
    site(distribution(tmp_path / "taker", "acme-other", "other", code))

    with pytest.raises(RefusedError, match="RR405.*mechanism 'pram'.*'pram'.*'other'"):
        _ = load_registry(["acme-other"]).mechanisms


def test_the_solved_noise_is_the_largest_that_the_policy_allows(site, folder):
    site(SITE)
    opened = open_policy(folder / "policy.toml")

    channel = make_plan(opened.policy, opened.registry, RECORDS).channel

    assert channel.axes[0].flip == Fraction(1, 10)


ENGINE = """
from rrpolicy.plugin import PLAIN, hookimpl
from rrpolicy.source.duckdb.source import DuckDBSource

class Records:
    schemes = ("acme-records",)
    def open(self, uri, table, scratch, reading=PLAIN):
        return DuckDBSource().open("csv:" + uri.removeprefix("acme-records:"), table, scratch, reading)

@hookimpl
def rrpolicy_sources(): return [Records()]
"""
RECORDS_POLICY = """schema = 1
[policy]
name = "own-engine"
version = "1.0.0"
owner = "tests"
purpose = "an engine of another distribution"
plugins = ["acme-records"]
[source]
uri = "acme-records:people.txt"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
[[privacy]]
model = "local-dp"
epsilon = 2
[mechanism]
name = "pram"
"""


def test_paths_after_a_plugins_scheme_start_where_those_after_built_in_ones_do(
    tmp_path, monkeypatch, site, distribution
):
    """In a policy they start at its folder, in a call at the working folder."""
    site(distribution(tmp_path / "site", "acme-records", "records", ENGINE))
    for name, rows in (("there", 40), ("here", 60)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "people.txt").write_text("sex\n" + "f\nm\n" * (rows // 2))
    policy = Path("..") / "there" / "policy.toml"
    monkeypatch.chdir(tmp_path / "here")
    policy.write_text(RECORDS_POLICY)
    loaded = rrpolicy.load_policy(policy)

    def records(what, bundle, source=None):
        released = rrpolicy.release(what, bundle, source=source)
        return json.loads((released.public / "release.json").read_text())["records"]

    assert [records(what, f"own{made}") for made, what in enumerate((policy, loaded, rrpolicy.plan(loaded)))] == [
        40
    ] * 3
    for made, what in enumerate((policy, loaded)):
        assert records(what, f"other{made}", "acme-records:people.txt") == 60
    assert rrpolicy.check(policy, source="acme-records:people.txt").records == 60
