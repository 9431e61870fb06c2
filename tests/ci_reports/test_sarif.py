"""SARIF: the official schema, a real client, and what each kind of finding becomes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryPart,
    OutcomeEntry,
    OutcomeKind,
    OutcomeSubject,
)
from rrpolicy.ci_reports.sarif import MOST_RESULTS, sarif
from tests.ci_reports.conftest import ACCEPT, DERIVED, DP, GATE, PK, ROOT, call, policy_text


@pytest.fixture
def run(validator):
    """Run a command; its log fits the schema; return the exit status and the run."""

    def run(*arguments):
        status, text = call(*arguments, "--output-format", "sarif")
        log = json.loads(text)
        assert [error.message for error in validator.iter_errors(log)] == []
        (found,) = log["runs"]
        (invocation,) = found["invocations"]
        assert invocation["exitCode"] == status
        return status, found

    return run


def by_entry(run):
    return {result["properties"]["entry"]: result for result in run["results"]}


def test_a_policy_that_waits_for_the_plan_is_open_and_no_failure(write, run):
    status, found = run("check", write(DP, PK, GATE.format("1/2")))

    assert status == 0
    results = by_entry(found)
    assert set(results) == {"privacy/local-dp", "privacy/pk-anonymity", "utility/expected-l2?attributes=sex"}
    assert {(r["kind"], r["level"]) for r in results.values()} == {("open", "none")}
    place = results["privacy/pk-anonymity"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "policies/survey.toml", "uriBaseId": "SRCROOT"}
    line = policy_text(DP, PK).splitlines()[place["region"]["startLine"] - 1]
    assert line in {"[[privacy]]", 'model = "pk-anonymity"'}


def test_a_problem_stands_where_it_is_with_its_page(write, run):
    path = write(PK.replace("k = 2", "k = 1"))
    status, found = run("check", path)

    assert status == 2
    (result,) = found["results"]
    assert (result["ruleId"], result["kind"], result["level"]) == ("RR208", "fail", "error")
    region = result["locations"][0]["physicalLocation"]["region"]
    text = policy_text(PK.replace("k = 2", "k = 1")).splitlines()[region["startLine"] - 1]
    assert text[region["startColumn"] - 1 : region["endColumn"] - 1] == "1"
    rule = found["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == "RR208"
    assert rule["help"]["markdown"].startswith("# RR208: ")


def test_a_plan_tells_what_is_met_conditional_and_failed(write, run):
    status, found = run("plan", write(DP, PK, GATE.format("1/1000000"), ACCEPT))

    assert status == 1
    results = by_entry(found)
    met = results["privacy/pk-anonymity"]
    assert (met["kind"], met["level"], met["ruleId"]) == ("pass", "none", "pk-anonymity")
    assert met["properties"]["achieved"] >= 2
    assert met["properties"]["limit_exact"] == "2"
    assert {"standing", "basis", "assessor"} <= met["properties"].keys()
    conditional = results["privacy/local-dp"]
    assert (conditional["kind"], conditional["level"]) == ("pass", "warning")
    assert conditional["properties"]["derived"] == DERIVED
    assert "domain:disease" in conditional["message"]["text"]
    failed = results["utility/expected-l2?attributes=sex"]
    assert (failed["ruleId"], failed["kind"], failed["level"]) == ("RR104", "fail", "error")


def test_what_is_derived_and_not_accepted_fails(write, run):
    status, found = run("plan", write(DP))

    assert status == 1
    failed = by_entry(found)["privacy/local-dp"]
    assert (failed["ruleId"], failed["kind"]) == ("RR108", "fail")
    assert failed["properties"]["derived"]


def test_undecided_in_a_plan_is_open_and_an_error(run):
    """Without a table nobody can say what a requirement that reads one comes to."""
    status, found = run("plan", str(ROOT / "policies" / "sensitive-addition.toml"), "--expected-rows", "50000")

    assert status == 1
    (result,) = [r for r in found["results"] if r["kind"] == "open"]
    assert (result["ruleId"], result["level"]) == ("RR103", "error")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["check", "nowhere.toml"], 2, "RR200"),
        (["plan", "nowhere.toml"], 2, "RR200"),
        (["plan"], 2, "RR250"),
        (["check", "--loud", "x.toml"], 2, "RR250"),
        (["verify", "nowhere"], 2, "RR260"),
        (["check-table", "nowhere.csv", "--qi", "a"], 3, "RR300"),
        (["chek"], 2, "RR250"),
    ],
)
def test_whatever_goes_wrong_is_in_the_log(run, write, arguments, status, code):
    write(PK)
    found_status, found = run(*arguments)

    assert found_status == status
    assert found["results"][0]["ruleId"] == code


def test_a_defect_says_so_without_its_message(run, write, monkeypatch):
    from rrpolicy import api

    def broken(*_, **__):
        raise KeyError("canary-4711")

    monkeypatch.setattr(api, "check", broken)
    status, found = run("check", write(PK))

    assert status == 70
    assert not found["invocations"][0]["executionSuccessful"]
    assert "canary" not in json.dumps(found)


def test_every_command_that_offers_it_writes_what_the_schema_allows(write, run, tmp_path):
    path = write(PK, ACCEPT)
    (tmp_path / "policies" / "weaker.toml").write_text(policy_text(PK.replace("k = 2", 'k = "3/2"'), ACCEPT))
    (tmp_path / "t.csv").write_text("sex,age,disease\n" + "f,20,flu\nm,30,none\n" * 3)
    assert call("release", path, "--out", "out")[0] == 0
    assert run("verify", "out")[0] == 0
    assert run("verify", "out", "--strict")[0] == 1
    assert run("verify", "out/public")[0] == 0
    assert run("check-table", "t.csv", "--qi", "sex,age", "--k", "4")[0] == 1
    assert run("check-table", "t.csv", "--qi", "sex,age")[0] == 0
    assert run("diff", path, "policies/weaker.toml")[0] == 1
    assert run("test", str(ROOT / "policies" / "pram.toml"))[0] == 0


def test_a_real_client_reads_it(write, tmp_path):
    from sarif.loader import load_sarif_file

    path = write(DP, PK, GATE.format("1/1000000"), ACCEPT)
    _, text = call("plan", path, "--output-format", "sarif")
    (tmp_path / "log.sarif").write_text(text)
    log = load_sarif_file(str(tmp_path / "log.sarif"))

    assert log.get_distinct_tool_names() == ["rrpolicy"]
    report = log.get_report()
    counted = report.get_severities_to_issue_counts() if hasattr(report, "get_severities_to_issue_counts") else None
    records = log.get_records()
    failed = [r for r in records if r["Code"] == "RR104" or "RR104" in str(r.values())]
    assert len(failed) == 1
    assert failed[0]["Severity"] == "error"
    assert failed[0]["Location"] == path
    assert counted is None or counted["error"] == 1


@pytest.mark.slow
def test_the_loudest_are_kept_where_a_run_can_hold_no_more(tmp_path, validator):
    def entry(index, kind):
        return OutcomeEntry(f"m{index % 7}", f"e/{index}", EntryPart.REQUIREMENT, kind, "t", "m")

    quiet = [entry(i, OutcomeKind.MET) for i in range(MOST_RESULTS + 5)]
    outcome = CommandOutcome(
        "check", 1, (OutcomeSubject("p", "1", "", 1, (*quiet, entry(-1, OutcomeKind.FAIL))),), tmp_path
    )
    (run,) = json.loads(sarif(outcome))["runs"]

    assert len(run["results"]) == MOST_RESULTS
    assert run["results"][0]["kind"] == "fail"
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "6 results" in told["message"]["text"]


def test_code_scanning_is_told_nothing_that_it_would_take_for_a_problem(write, validator):
    """It makes an alert of every result, whatever its kind."""
    path = write(DP, PK, GATE.format("1/1000000"), ACCEPT)
    status, text = call("plan", path, "--output-format", "code-scanning")
    log = json.loads(text)
    assert status == 1
    assert list(validator.iter_errors(log)) == []
    assert {r["ruleId"]: r["level"] for r in log["runs"][0]["results"]} == {"local-dp": "warning", "RR104": "error"}
    whole = json.loads(call("plan", path, "--output-format", "sarif")[1])
    marks = {r["ruleId"]: r["partialFingerprints"] for r in whole["runs"][0]["results"]}
    assert all(marks[r["ruleId"]] == r["partialFingerprints"] for r in log["runs"][0]["results"])
    _, text = call("check", write(PK), "--output-format", "code-scanning")
    assert json.loads(text)["runs"][0]["results"] == []


MORE = (
    '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "9/10"\n',
    '[[privacy]]\nmodel = "identity-disclosure"\nthreshold = "9/10"\n',
    GATE.format("1/3").replace("sex", "age"),
)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.sampled_from(MORE), unique=True), st.integers(0, 4), st.data())
def test_a_line_or_an_entry_put_before_changes_no_other_fingerprint(tmp_path_factory, more, blank, data):
    """Fingerprints hang on the policy's name, the entry and the code, not on where anything stands."""
    folder = tmp_path_factory.mktemp("fingerprints")

    def marks(*entries, before=""):
        (folder / "p.toml").write_text(before + policy_text(*entries))
        _, text = call("check", str(folder / "p.toml"), "--output-format", "sarif")
        results = json.loads(text)["runs"][0]["results"]
        return {(r["properties"]["entry"], r["ruleId"]): r["partialFingerprints"]["rrpolicy/v1"] for r in results}

    wrong = PK.replace("k = 2", "k = 1")
    for own in ([PK, DP, GATE.format("1/2")], [wrong, DP]):
        plain = marks(*own)
        place = data.draw(st.integers(0, len(own)))
        changed = marks(*own[:place], *more, *own[place:], before="# a note\n" * blank)
        shared = plain.keys() & changed.keys()
        assert shared == plain.keys()
        assert {key: plain[key] for key in shared} == {key: changed[key] for key in shared}
        assert len(set(plain.values())) == len(plain)
