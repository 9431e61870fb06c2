"""JUnit, GitHub, GitLab and Markdown: read as their clients read them, and one truth in all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from lxml import etree
from markdown_it import MarkdownIt

from rrpolicy.ci_reports.formats import FORMATS, Output, format_outcome
from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryLevel,
    EntryPart,
    OutcomeEntry,
    OutcomeKind,
    OutcomeNote,
    OutcomeSubject,
)
from rrpolicy.declarations import Waiver
from rrpolicy.errors import Place
from tests.ci_reports.conftest import ACCEPT, DP, GATE, PK, ROOT, call

HOSTILE = [
    "::error file=x::taken",
    "  ::stop-commands::pause",
    "##[add-mask]value",
    "a,b:c%0A::set-output name=x::y",
    "line\n::add-mask::secret\r::debug::x",
    "| cell | <script>alert(1)</script> **bold** [link](javascript:x) `code`",
    "\u202e gnp.exe \x1b[31m \x00 \ufffe",
    "]]> &amp; <!-- -->",
]


def hostile(tmp_path, text):
    place = Place(str(tmp_path / text.replace("/", "").replace("\0", "")), 3, 4, "privacy.0", "", 5)
    entries = (
        OutcomeEntry(
            text,
            text,
            EntryPart.REQUIREMENT,
            OutcomeKind.FAIL,
            text,
            text,
            blocking=True,
            place=place,
            expected=text,
            hint=text,
        ),
        OutcomeEntry(
            "m",
            text,
            EntryPart.REQUIREMENT,
            OutcomeKind.CONDITIONAL,
            text,
            text,
            derived=(text,),
            beside=(text,),
            place=place,
        ),
        OutcomeEntry("m", text, EntryPart.JUDGEMENT, OutcomeKind.REVIEW, text, text),
        OutcomeEntry(
            "RR104",
            text,
            EntryPart.GATE,
            OutcomeKind.FAIL,
            text,
            text,
            blocking=True,
            waived=Waiver(text, text, text, "2027-01-31", place),
        ),
        OutcomeEntry("RR208", text, EntryPart.PROBLEM, OutcomeKind.ERROR, text, text, blocking=True, place=place),
    )
    return CommandOutcome("plan", 1, (OutcomeSubject(text, text, place.file, 1, entries, text),), tmp_path, text)


def runner_commands(text: str) -> list[str]:
    """Return what a runner of workflows would take for commands in what a job prints, as it reads lines."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        begins = re.match(r"\s*::([\w-]+)(?: (.*?))?::(.*)", line)
        if begins:
            found.append(begins[1])
        elif "##[" in line:
            found.append("##[")
    return found


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", FORMATS)
def test_no_text_of_a_policy_becomes_a_command_of_the_runner(tmp_path, form, text):
    told = format_outcome(hostile(tmp_path, text), form)

    expected = ["error", "error", "warning", "warning", "notice"] if form == "github" else []
    assert runner_commands(told) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_every_format_stays_one_with_any_text(tmp_path, text):
    outcome = hostile(tmp_path, text)
    etree.fromstring(format_outcome(outcome, Output("junit")).encode())
    json.loads(format_outcome(outcome, Output("sarif")))
    assert len(json.loads(format_outcome(outcome, Output("gitlab")))) == 5
    page = MarkdownIt("gfm-like", {"linkify": False}).render(format_outcome(outcome, Output("markdown")))
    tags = set(re.findall(r"<([a-z0-9]+)", page))
    assert tags <= {
        "h2",
        "h3",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "strong",
        "ul",
        "li",
        "code",
        "details",
        "summary",
    }
    assert "<h2>" in page
    assert page.count("<table>") == 1
    for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL):
        assert len(re.findall(r"<t[hd]", row)) == 6


def test_an_annotation_is_read_back_as_it_was_meant(tmp_path):
    text = "a,b:c%0A::x\nnext"
    told = format_outcome(hostile(tmp_path, text), Output("github")).splitlines()[0]
    name, properties, message = re.fullmatch(r"::(\w+) (.*?)::(.*)", told).groups()

    def unescaped(value):
        for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            value = value.replace(code, character)
        return value

    found = {key: unescaped(value) for key, value in (item.split("=", 1) for item in properties.split(","))}
    assert name == "error"
    assert (found["line"], found["col"], found["endColumn"]) == ("3", "4", "9")
    assert found["file"] == text.replace("/", "").replace("\n", "\\n")
    assert unescaped(message).startswith(text)


@pytest.fixture
def planned(write):
    path = write(DP, PK, GATE.format("1/1000000"), ACCEPT)
    return path, {form: call("plan", path, "--output-format", form) for form in FORMATS}


def test_all_formats_of_a_plan_say_the_same(planned):
    path, told = planned
    assert {status for status, _ in told.values()} == {1}

    (suite,) = JUnitXml.fromstring(told["junit"][1].encode())
    assert suite.name == "survey 1.0.0"
    cases = {case.name: case for case in suite}
    assert len(cases) == 3
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 1, 0, 0)
    failed = [case for case in cases.values() if not case.is_passed]
    assert [case.result[0].type for case in failed] == ["RR104"]
    conditional = cases["privacy/local-dp"]
    assert "conditional on what is derived from the data: domain:disease, " in conditional.system_out

    assert runner_commands(told["github"][1]) == ["error", "warning"]
    assert f"file={path},line=" in told["github"][1]

    issues = json.loads(told["gitlab"][1])
    assert [(i["check_name"], i["severity"]) for i in issues] == [("local-dp", "minor"), ("RR104", "major")]
    log = json.loads(told["sarif"][1])
    marks = {r["partialFingerprints"]["rrpolicy/v1"] for r in log["runs"][0]["results"]}
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["fingerprint"] in marks
        assert issue["location"]["path"] == path
        assert issue["location"]["lines"]["begin"] > 0

    page = MarkdownIt("gfm-like", {"linkify": False}).render(told["markdown"][1])
    assert "1 of 3 requirements is not met. 1 conditional on what is derived from the data." in page
    assert "<strong>not met</strong>" in page
    assert "met, conditional" in page
    assert "given the published parameters (domain:disease" in page


def test_junit_tells_errors_undecided_and_what_waits_apart(write, tmp_path):
    _, text = call("check", write(PK.replace("k = 2", "k = 1")), "--output-format", "junit")
    (suite,) = JUnitXml.fromstring(text.encode())
    assert (suite.tests, suite.errors, suite.failures) == (1, 1, 0)
    assert next(iter(suite)).result[0].type == "RR208"

    _, text = call("check", write(PK), "--output-format", "junit")
    (suite,) = JUnitXml.fromstring(text.encode())
    assert (suite.tests, suite.skipped, suite.failures) == (1, 1, 0)

    policy = str(ROOT / "policies" / "sensitive-addition.toml")
    _, text = call("plan", policy, "--expected-rows", "50000", "--output-format", "junit")
    (suite,) = JUnitXml.fromstring(text.encode())
    assert "undecided" in [case.result[0].type for case in suite if not case.is_passed]


def test_what_is_waived_is_told_as_waived_everywhere(tmp_path):
    waived = Waiver(
        "utility/m", "a survey is under way", "data protection officer", "2027-01-31", Place("p.toml", 9, 1)
    )
    entry = OutcomeEntry(
        "RR104", "utility/x", EntryPart.GATE, OutcomeKind.FAIL, "x <= 1", "x: 2 is over 1", waived=waived
    )
    outcome = CommandOutcome("plan", 0, (OutcomeSubject("p", "1", "p.toml", 0, (entry,)),), tmp_path)

    (suite,) = JUnitXml.fromstring(format_outcome(outcome, Output("junit")).encode())
    assert suite.skipped == 1
    assert "until 2027-01-31 by data protection officer" in next(iter(suite)).result[0].message
    (result,) = json.loads(format_outcome(outcome, Output("sarif")))["runs"][0]["results"]
    (suppression,) = result["suppressions"]
    assert (suppression["kind"], suppression["status"]) == ("inSource", "accepted")
    assert "a survey is under way" in suppression["justification"]
    assert format_outcome(outcome, Output("github")).startswith("::notice ")
    assert json.loads(format_outcome(outcome, Output("gitlab")))[0]["severity"] == "info"
    assert "1 waived." in format_outcome(outcome, Output("markdown"))


def test_a_release_is_told_in_every_format(write, tmp_path):
    path = write(PK, ACCEPT)
    assert call("release", path, "--out", "out")[0] == 0
    status, text = call("verify", "out", "--output-format", "sarif")
    results = json.loads(text)["runs"][0]["results"]

    assert status == 0
    (met,) = [r for r in results if r["ruleId"] == "pk-anonymity"]
    where = met["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "out/audit/policy.toml"
    assert (tmp_path / "out/audit/policy.toml").read_text().splitlines()[where["region"]["startLine"] - 1].strip()
    status, text = call("verify", "out/public", "--output-format", "sarif")
    (met,) = [r for r in json.loads(text)["runs"][0]["results"] if r["ruleId"] == "pk-anonymity"]
    assert met["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "out/public/release.json", "uriBaseId": "SRCROOT"}
    }
    data = tmp_path / "out" / "public" / "data.parquet"
    data.write_bytes(data.read_bytes() + b" ")
    status, text = call("verify", "out", "--output-format", "junit")
    assert status == 1
    (suite,) = JUnitXml.fromstring(text.encode())
    assert suite.failures >= 1
    for form in FORMATS:
        assert call("verify", "out", "--output-format", form)[0] == 1


def test_a_table_is_told_in_every_format(write, tmp_path):
    write(PK)
    (tmp_path / "t.csv").write_text("sex,age,disease\n" + "f,20,flu\nm,30,none\n" * 3)
    status, text = call("check-table", "t.csv", "--qi", "sex,age", "--k", "4", "--output-format", "sarif")
    (result,) = json.loads(text)["runs"][0]["results"]

    assert status == 1
    assert (result["ruleId"], result["kind"]) == ("RR101", "fail")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "t.csv"
    status, text = call("check-table", "t.csv", "--qi", "sex,age", "--sensitive", "disease", "--output-format", "sarif")
    assert status == 0
    assert {r["kind"] for r in json.loads(text)["runs"][0]["results"]} == {"informational"}


def test_one_run_can_write_several_formats(write, tmp_path):
    path = write(DP)
    files = {form: f"report.{form}" for form in (*FORMATS, "json")}
    also = [word for form, file in files.items() for word in ("--also", f"{form}={file}")]
    status, text = call("plan", path, *also, "--output-format", "github")

    assert status == 1
    assert (tmp_path / files["github"]).read_text() == text
    assert json.loads((tmp_path / files["json"]).read_text())["schema"] == "rrpolicy.plan/1"
    for form in FORMATS:
        assert (tmp_path / files[form]).read_text() == call("plan", path, "--output-format", form)[1]
    status, text = call("plan", "nowhere.toml", *also)
    assert status == 2
    assert json.loads((tmp_path / files["json"]).read_text())["problems"][0]["code"] == "RR200"
    assert "RR200" in (tmp_path / files["junit"]).read_text()
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("also", ["sarif", "text=x", "yaml=x", "sarif="])
def test_no_format_with_a_file_is_a_wrong_call(write, also):
    assert call("check", write(PK), "--also", also)[0] == 2


def test_a_file_that_cannot_be_written_is_said(write):
    for arguments in (("check", write(PK)), ("plan", "nowhere.toml")):
        status, text = call(*arguments, "--output-format", "github", "--also", "sarif=no/such/folder/x")
        assert status == 4
        assert "RR407" in text
        assert "make the folder" in text
        assert "exit status 0" not in text


def test_two_forms_at_once_are_a_wrong_call(write):
    assert call("check", write(PK), "--json", "--output-format", "sarif")[0] == 2
    assert call("check", write(PK), "--output-format", "yaml")[0] == 2


def test_the_command_line_offers_every_format():
    assert {form.value for form in Output} == {"text", "json", *FORMATS}


NAMED = '"::error::x" = { role = "excluded" }\n"##[add-mask]y" = { role = "excluded" }\n'


@pytest.mark.parametrize("form", ["text", "json", *FORMATS])
def test_hostile_names_steer_no_runner_from_the_command_line(write, capfd, form):
    """Both streams of a step are read for commands: what a column, a policy or a file is called is none."""
    from rrpolicy.cli.main import main

    path = write(PK, ACCEPT)
    text = Path(path).read_text().replace('name = "survey"', 'name = "##[error]survey"')
    hostile = "policies/::warning::##[group].toml"
    Path(hostile).write_text(text.replace("[mechanism]\n", f"{NAMED}[mechanism]\n", 1).replace("\n\n[mech", "\n[mech"))
    for arguments in (["check", hostile], ["plan", hostile], ["check", "::error::nowhere.toml"]):
        main([*arguments, "--output-format", form])
        out, err = capfd.readouterr()
        own = {"error", "warning"} if form == "github" else set()
        assert set(runner_commands(out)) <= own
        assert runner_commands(err) == []


@settings(max_examples=60)
@given(st.text(max_size=60), st.sampled_from(OutcomeKind), st.sampled_from(EntryPart), st.booleans())
def test_any_text_in_any_entry_leaves_every_format_whole(text, kind, part, blocking):
    entry = OutcomeEntry(
        text, text, part, kind, text, text, blocking=blocking, hint=text, derived=(text,), beside=(text,)
    )
    outcome = CommandOutcome(
        "check",
        1,
        (OutcomeSubject(text, text, "", 1, (entry,), text, (OutcomeNote("rests on", (text,)),)),),
        ROOT,
        text,
    )

    assert len(json.loads(format_outcome(outcome, Output("sarif")))["runs"][0]["results"]) == 1
    etree.fromstring(format_outcome(outcome, Output("junit")).encode())
    assert len(json.loads(format_outcome(outcome, Output("gitlab")))) == (entry.level is not EntryLevel.NONE)
    assert len(runner_commands(format_outcome(outcome, Output("github")))) == (entry.level is not EntryLevel.NONE)
    page = format_outcome(outcome, Output("markdown"))
    assert runner_commands(page) == []
    assert "<script" not in MarkdownIt("gfm-like", {"linkify": False}).render(page)


def test_a_waived_point_of_judgement_is_a_case_that_is_skipped(tmp_path):
    waived = Waiver("warning/held-by-one", "checked by hand", "data protection officer", "2027-01-31")
    entry = OutcomeEntry(
        "warning",
        "warning/held-by-one",
        EntryPart.JUDGEMENT,
        OutcomeKind.REVIEW,
        "held-by-one",
        "one record",
        waived=waived,
    )
    (suite,) = JUnitXml.fromstring(
        format_outcome(
            CommandOutcome("plan", 0, (OutcomeSubject("p", "1", "", 0, (entry,)),), tmp_path), Output("junit")
        ).encode()
    )
    assert (suite.tests, suite.skipped) == (1, 1)


@pytest.mark.parametrize(
    "arguments",
    [["plan", "nowhere.toml"], ["verify", "nowhere"], ["check-table", "nowhere.csv", "--qi", "a"], ["plan"], ["diff"]],
)
def test_every_result_has_a_location_as_code_scanning_asks(write, arguments):
    write(PK)
    _, text = call(*arguments, "--output-format", "sarif")
    (result,) = json.loads(text)["runs"][0]["results"]
    (location,) = result["locations"]
    uri = location["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (arguments[1] if len(arguments) > 1 else ".")


def test_of_several_policies_the_summary_says_of_each_what_it_came_to(write):
    good, bad = write(PK), write(PK.replace("k = 2", "k = 1"), name="policies/bad.toml")
    _, page = call("check", good, bad, "--output-format", "markdown")
    assert "## rrpolicy check: the policy or the call is wrong" in page
    assert "### survey 1.0.0: passes" in page
    assert "### survey 1.0.0: the policy or the call is wrong" in page.replace("\\", "")


def test_a_summary_that_a_step_cannot_hold_is_cut_and_says_so(tmp_path):
    entries = tuple(
        OutcomeEntry("m", f"e/{i}", EntryPart.REQUIREMENT, OutcomeKind.MET, "x" * 500, "m") for i in range(3000)
    )
    outcome = CommandOutcome("plan", 0, (OutcomeSubject("p", "1", "", 0, entries),), tmp_path)
    page = format_outcome(outcome, Output("markdown"))
    assert 900_000 < len(page.encode()) < 2**20
    assert "more lines are left out" in page.splitlines()[-1]
