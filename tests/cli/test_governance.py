"""What people declare and decide: demanded, waived until a day, due for a review; it makes no plan stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from tests.survey import SURVEY

GATE = """
[[utility]]
metric = "expected-l2"
max = "1/100000"
"""
CONTEXT = """
[context]
recipients = ["accredited researchers"]
release_model = "restricted"
licence = "CC-BY-4.0"
legal_basis = "Statistics Act, section 5"
approved_by = "data protection officer"
review_by = 2027-06-30
"""
WAIVER = """
[[waivers]]
finding = "utility/expected-l2"
reason = "the first release of a trial"
approver = "data protection officer"
until = 2027-01-31
"""
BEFORE, AFTER, LATER = "2027-01-31", "2027-02-01", "2027-07-01"


@pytest.fixture
def policy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("policy.toml")
    path.write_text(SURVEY + GATE)
    return path


def add(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def run(*arguments: str) -> int:
    return main([*arguments])


def test_a_gate_that_is_not_met_is_waived_until_a_day(policy, capsys):
    assert run("plan", "policy.toml") == 1

    add(policy, WAIVER)
    assert run("plan", "policy.toml", "--today", BEFORE) == 0
    told = capsys.readouterr().out
    assert "waived until 2027-01-31 by data protection officer: the first release of a trial" in told

    assert run("release", "policy.toml", "--out", "bundle", "--today", AFTER) == 4
    assert "RR416 the waiver of utility/expected-l2 by data protection officer ended on 2027-01-31" in said(capsys)
    assert not Path("bundle").exists()
    assert run("check", "policy.toml", "--today", AFTER) == 4
    assert run("check", "policy.toml", "--today", BEFORE) == 0


def test_what_stands_in_the_way_of_a_plan_is_told_with_its_code(policy, capsys):
    add(policy, WAIVER)
    assert run("plan", "policy.toml", "--today", AFTER) == 4
    told = capsys.readouterr().out
    assert "  RR416: the waiver of utility/expected-l2" in told
    assert "  RR104: expected-l2: " in told

    assert run("plan", "policy.toml", "--today", BEFORE) == 0
    told = capsys.readouterr().out
    assert "  waived    expected-l2: " in told
    assert "in the way" not in told
    assert run("check", "policy.toml", "--today", BEFORE) == 0
    assert "[utility/expected-l2]; waived until 2027-01-31" in capsys.readouterr().out
    assert run("check", "policy.toml", "--today", BEFORE, "--output-format", "github") == 0
    assert "::notice" in capsys.readouterr().out


def test_a_policy_waives_what_it_asks_of_itself_alone(policy, capsys):
    base = 'schema = 1\n[policy]\nname = "base"\nversion = "1.0.0"\nmay_relax = ["other_columns", "accept"]\n%s'
    policy.write_text(policy.read_text().replace("[policy]", '[policy]\nextends = "base.toml"'))
    add(policy, WAIVER)
    Path("base.toml").write_text(base % "")
    assert run("check", "policy.toml", "--today", BEFORE) == 0
    Path("base.toml").write_text(base % '[[utility]]\nmetric = "expected-l2"\nmax = "1/2"\n')
    assert run("check", "policy.toml", "--today", BEFORE) == 2
    assert "RR243 the policy waives utility/expected-l2" in said(capsys)


def test_waivers_can_be_left_out_of_account(policy, capsys):
    add(policy, WAIVER)

    assert run("plan", "policy.toml", "--today", BEFORE, "--no-waivers") == 1
    assert run("release", "policy.toml", "--out", "bundle", "--today", BEFORE, "--no-waivers") == 1
    assert "RR104" in capsys.readouterr().err
    assert run("check", "policy.toml", "--today", AFTER, "--no-waivers") == 0


@pytest.mark.parametrize(
    ("finding", "told"),
    [
        ("privacy/local-dp", "a [[privacy]] entry has no waiver"),
        ("privacy/pk-anonymity", "a [[privacy]] entry has no waiver"),
        ("utility/expected-l3", "did you mean 'utility/expected-l2'?"),
        ("RR101", "`rrpolicy check` lists the names"),
        ("warning/held-by-one?attribute=nobody", "to be waived"),
    ],
)
def test_only_gates_judgements_and_reviews_can_be_waived(policy, capsys, finding, told):
    add(policy, WAIVER.replace("utility/expected-l2", finding))
    line = policy.read_text().count("\n") - 3

    for command in (["check", "policy.toml"], ["plan", "policy.toml"], ["release", "policy.toml", "--out", "bundle"]):
        assert run(*command, "--today", BEFORE) == 2
        error = said(capsys)
        assert f"policy.toml:{line}:11: RR254" in error
        assert told in error
    assert not Path("bundle").exists()


def test_a_waiver_cannot_let_a_privacy_entry_pass(policy, capsys):
    policy.write_text(
        policy.read_text().replace("epsilon = 2", "epsilon = 2\n[[privacy]]\nmodel = 'pk-anonymity'\nk = 1e6")
    )
    add(policy, WAIVER)

    assert run("plan", "policy.toml", "--today", BEFORE) in {1, 2}


def test_a_point_of_judgement_is_waived_by_its_name(policy, capsys):
    policy.write_text(policy.read_text().replace("[release]", '[release]\nformat = "csv"\ncsv_formulas = "keep"'))
    assert run("check", "policy.toml") == 0
    assert "[warning/csv-formulas]" in capsys.readouterr().out

    add(policy, WAIVER.replace("utility/expected-l2", "warning/csv-formulas"))
    assert run("check", "policy.toml", "--today", BEFORE) == 0
    told = capsys.readouterr().out
    assert "warning: " not in told
    assert "waived until 2027-01-31 by data protection officer" in told


def test_past_its_review_nothing_is_released_and_a_release_stays_what_it_was(policy, capsys):
    add(policy, CONTEXT + WAIVER)
    assert run("release", "policy.toml", "--out", "bundle", "--today", BEFORE) == 0
    capsys.readouterr()
    add(policy, "")
    for command in (["check", "policy.toml"], ["release", "policy.toml", "--out", "other"]):
        assert run(*command, "--today", LATER) == 4
        assert "RR415" in said(capsys)
    assert not Path("other").exists()

    assert run("verify", "bundle", "--today", LATER) == 0
    assert "note: the policy was to be reviewed by 2027-06-30" in capsys.readouterr().out
    assert run("verify", "bundle", "--today", BEFORE) == 0
    assert "to be reviewed" not in capsys.readouterr().out

    assert run("verify", "bundle", "--today", LATER, "--output-format", "github") == 0
    told = capsys.readouterr().out.splitlines()
    (due,) = (text for text in told if text.startswith("::warning ") and "was to be reviewed by 2027-06-30" in text)
    lines = Path("bundle/audit/policy.toml").read_text().splitlines()
    assert f"file=bundle/audit/policy.toml,line={lines.index('review_by = 2027-06-30') + 1}," in due
    (waived,) = (text for text in told if "waived until 2027-01-31" in text)
    assert waived.startswith(f"::notice file=bundle/audit/policy.toml,line={lines.index('[[waivers]]') + 2},")
    assert run("verify", "bundle/public", "--today", LATER, "--output-format", "github") == 0
    assert "::warning file=bundle/public/release.json,title=warning::the policy was to be" in capsys.readouterr().out
    assert run("verify", "bundle", "--today", LATER, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["notes"]) == 2


def test_a_comparison_judges_by_the_day_that_is_named(policy, capsys):
    add(policy, CONTEXT)
    for day, passes in ((BEFORE, True), (LATER, False)):
        for planned in ((), ("--data",)):
            assert run("diff", "policy.toml", "policy.toml", "--today", day, *planned, "--json") == 0
            prices = json.loads(capsys.readouterr().out)["comparisons"][0]["prices"]
            assert ("RR415" in prices["after"]["problems"]) != passes


def test_a_due_review_can_be_put_off(policy):
    late = WAIVER.replace("utility/expected-l2", "review_by").replace("2027-01-31", "2027-08-31")
    add(policy, CONTEXT + late)

    assert run("check", "policy.toml", "--today", LATER) == 0
    assert run("check", "policy.toml", "--today", LATER, "--no-waivers") == 4


def test_what_is_declared_reaches_every_document(policy, capsys):
    add(policy, CONTEXT + WAIVER)
    assert run("plan", "policy.toml", "--today", BEFORE) == 0
    told = capsys.readouterr().out
    assert "  Recipients: accredited researchers" in told
    assert "  Approved by: data protection officer" in told
    assert run("plan", "policy.toml", "--json", "--today", BEFORE) == 0
    planned = json.loads(capsys.readouterr().out)
    assert run("release", "policy.toml", "--out", "bundle", "--today", BEFORE) == 0

    manifest = json.loads(Path("bundle/public/release.json").read_text())
    assert manifest["governance"] == planned["governance"]
    assert manifest["governance_digest"] == planned["governance_digest"]
    assert manifest["governance"]["context"]["recipients"] == ["accredited researchers"]
    package = json.loads(Path("bundle/public/datapackage.json").read_text())
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    for page in ("public/report.html", "audit/report.html"):
        text = Path("bundle", page).read_text()
        assert "accredited researchers" in text
        assert "waived until 2027-01-31 by data protection officer" in text
        assert "1 utility requirement is not met and waived" in text


def test_an_approval_makes_no_plan_stale_and_changes_no_number(policy, capsys):
    add(policy, WAIVER)
    assert run("plan", "policy.toml", "--out", "plan.json", "--today", BEFORE) == 0
    add(policy, CONTEXT)

    assert run("release", "plan.json", "--out", "bundle", "--key", "plan.json.key", "--today", BEFORE) == 0
    manifest = json.loads(Path("bundle/public/release.json").read_text())
    planned = json.loads(Path("plan.json").read_text())
    assert manifest["governance"]["context"]["approved_by"] == "data protection officer"
    assert manifest["governance_digest"] != planned["governance_digest"]
    assert json.loads(Path("bundle/audit/plan.json").read_text())["digest"] == planned["digest"]

    add(policy, "")
    policy.write_text(policy.read_text().replace("2027-06-30", "2028-06-30"))
    assert run("release", "policy.toml", "--out", "again", "--key", "plan.json.key", "--today", BEFORE) == 0
    again = json.loads(Path("again/public/release.json").read_text())
    assert again["data"] == manifest["data"]
    assert again["governance_digest"] != manifest["governance_digest"]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda d: d["governance"]["context"].update(approved_by="another person"), "RR118"),
        (lambda d: d["governance"].update(waivers=[]), "RR118"),
        (lambda d: d["governance"]["context"].pop("review_by"), "RR118"),
    ],
)
def test_what_is_declared_cannot_be_edited(policy, capsys, wrong, code):
    from rrpolicy.canonical_json import pretty, record_digest

    add(policy, CONTEXT + WAIVER)
    assert run("release", "policy.toml", "--out", "bundle", "--today", BEFORE) == 0
    path = Path("bundle/public/release.json")
    document = json.loads(path.read_text())
    wrong(document)
    path.write_bytes(pretty(document | {"digest": record_digest(document)}))

    assert run("verify", "bundle", "--today", BEFORE) == 1
    assert code in capsys.readouterr().out


def test_a_resealed_declaration_is_not_that_of_the_policy_as_written(policy, capsys):
    from rrpolicy.canonical_json import pretty, record_digest
    from rrpolicy.declarations import Governance
    from rrpolicy.serialization import read

    add(policy, CONTEXT + WAIVER)
    assert run("release", "policy.toml", "--out", "bundle", "--today", BEFORE) == 0
    path = Path("bundle/public/release.json")
    document = json.loads(path.read_text())
    document["governance"]["context"]["approved_by"] = "another person"
    document["governance_digest"] = read(Governance, document["governance"]).digest()
    path.write_bytes(pretty(document | {"digest": record_digest(document)}))

    assert run("verify", "bundle", "--today", BEFORE) == 1
    assert "does not contain the declarations" in capsys.readouterr().out


def test_a_baseline_demands_and_allows(policy, capsys):
    Path("base.toml").write_text(
        'schema = 1\n[policy]\nname = "base"\nversion = "1.0.0"\n'
        'may_relax = ["other_columns", "accept"]\n[context]\ndemands = ["recipients", "purpose"]\n'
        'approved_by = "the board"\nallows.release_model = ["enclave", "restricted"]\n'
    )
    policy.write_text(policy.read_text().replace("[policy]", '[policy]\nextends = "base.toml"'))

    assert run("check", "policy.toml") == 2
    error = said(capsys)
    assert error.count("RR248") >= 2
    assert "`recipients` is not stated under [context], and base.toml:7:12 demands it" in error
    assert "`purpose` is not stated under [policy]" in error

    policy.write_text(policy.read_text().replace("[policy]", '[policy]\npurpose = "teaching"'))
    add(policy, CONTEXT.replace("restricted", "public").replace('approved_by = "data protection officer"\n', ""))
    assert run("check", "policy.toml") == 2
    assert "RR249 'public' is not allowed as `release_model`" in said(capsys).replace('"', "'")

    policy.write_text(policy.read_text().replace('"public"', '"enclave"'))
    assert run("check", "policy.toml", "--json", "--today", BEFORE) == 0
    (checked,) = json.loads(capsys.readouterr().out)["policies"]
    assert "approved_by" not in checked["governance"]["context"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[context]\nreview_by = "soon"', "RR"),
        ('[context]\nrelease_model = "open"', "RR"),
        ('[context]\nrecipients = "me"', "RR"),
        ('[context]\ndemands = ["epsilon"]', "RR"),
        ('[[waivers]]\nfinding = "review_by"', "RR206"),
        ('[context]\nrecipient = ["me"]', "RR205"),
        ("[context]\nreview_by = 2027-01-31T10:00:00", "RR"),
    ],
)
def test_what_is_wrong_has_a_place(policy, capsys, text, code):
    add(policy, f"\n{text}\n")

    assert run("check", "policy.toml") == 2
    error = said(capsys)
    assert code in error
    assert "policy.toml:3" in error or "policy.toml:4" in error


def said(capsys) -> str:
    return " ".join(capsys.readouterr().err.split())
