"""`rrpolicy test`: tables beside a policy, and what is told where one comes out otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import rrpolicy
from rrpolicy.cli.main import main

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "rrpolicy" / "schemas" / "rrpolicy.test-1.json").read_text())
POLICY = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"

[source]
uri = "survey.parquet"
min_rows = 100

[attributes]
person_id = { role = "identifier" }
town = { role = "excluded" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age = { role = "quasi-identifier", bins = [0, 30, 120] }
disease = { role = "sensitive", domain = ["none", "flu"] }

[[privacy]]
model = "k-anonymity"
k = 20

[[privacy]]
model = "l-diversity"
kind = "distinct"
l = 2

[mechanism]
name = "l-diversity"
"""
PASSES = """\
[[test]]
name = "four groups"
table = { csv = "survey.csv", repeat = 20 }

[test.expect]
passes = true
entries = { "privacy/k-anonymity" = "satisfied", "privacy/l-diversity?kind=distinct" = "satisfied" }
achieved = { "privacy/k-anonymity" = { at_least = 20, at_most = 40 } }
"""
REFUSED = """
[[test]]
name = "everybody has the flu"
table = { rows = [{ sex = "female", age = 20, disease = "flu" }, { sex = "male", age = 50.5, disease = "flu" }], repeat = 60 }
expect = { passes = false, codes = ["RR105"] }

[[test]]
name = "half a table"
table = { rows = [{ sex = "female", age = 20, disease = "flu" }], repeat = 60 }
expect = { passes = false, codes = ["RR318"] }
"""
CSV = "sex,age,disease\nfemale,20,flu\nfemale,20,none\nmale,50,flu\nmale,50,none\nmale,20,flu\nmale,20,none\nfemale,50,flu\nfemale,50,none\n"


@pytest.fixture
def write(tmp_path):
    """Write a policy with its tests; each pair of texts replaces the first in the policy by the second."""

    def write(*changes: tuple[str, str], tests: str = PASSES + REFUSED, name: str = "survey") -> Path:
        text = POLICY
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        beside = tmp_path / "policies" / "tests"
        beside.mkdir(parents=True, exist_ok=True)
        (beside / "survey.csv").write_text(CSV)
        (beside / f"{name}.toml").write_text(tests)
        path = beside.parent / f"{name}.toml"
        path.write_text(text)
        return path

    return write


def test_tests_come_out_as_expected(write, capsys):
    policy = write()

    assert main(["test", str(policy)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "all 3 tests come out as expected"
    assert main(["test", str(policy.parent), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert [one["unlike"] for one in document["policies"][0]["tried"]] == [[], [], []]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([("k = 20", "k = 81")], "to be at least 20 and at most 40, and it is 160"),
        ([('[[privacy]]\nmodel = "k-anonymity"\nk = 20\n', "")], "the policy has no entry 'privacy/k-anonymity'"),
        (
            [('[[privacy]]\nmodel = "l-diversity"\nkind = "distinct"\nl = 2\n', "")],
            "no entry 'privacy/l-diversity?kind=distinct'",
        ),
        ([("min_rows = 100", "min_rows = 10")], "expected RR318"),
        ([("l = 2", "l = 3")], "RR105"),
    ],
)
def test_what_comes_out_otherwise_is_told_with_its_place(write, capsys, changes, told):
    policy = write(*changes)
    status = main(["test", str(policy)])
    printed = capsys.readouterr()

    assert status == 1
    assert told in printed.err
    assert "RR141" in printed.err
    assert "policies/tests/survey.toml:" in printed.err


def test_one_test_is_told_as_one(write, capsys):
    for tests, last in (
        (PASSES, "the test comes out as expected"),
        (PASSES.replace("at_most = 40", "at_most = 30"), None),
    ):
        assert main(["test", str(write(tests=tests))]) == (0 if last else 1)
        assert capsys.readouterr().out.splitlines()[-1] == (last or "1 of 1 not as expected")


def test_entries_that_no_test_speaks_of_are_named(write, capsys):
    policy = write(tests=PASSES.replace(', "privacy/l-diversity?kind=distinct" = "satisfied"', ""))

    assert main(["test", str(policy)]) == 0
    assert "untested: privacy/l-diversity?kind=distinct" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        (PASSES.replace("passes = true", "passes = false"), "RR208"),
        (PASSES.replace("passes = true", "passes = true\ncodes = ['RR101']"), "RR208"),
        (PASSES.replace('"satisfied"', '"fine"', 1), "RR208"),
        (PASSES.replace('csv = "survey.csv", repeat = 20', "repeat = 20"), "RR208"),
        (PASSES.replace('csv = "survey.csv"', 'uri = "demo:survey"'), "RR208"),
        (PASSES.replace("[test.expect]", "[test.expected]"), "RR205"),
        (PASSES.replace("survey.csv", "nowhere.csv"), "RR256"),
        (PASSES.replace('csv = "survey.csv"', "rows = [{ sex = 1 }, { sex = 'male' }]"), "RR256"),
        (PASSES + PASSES, "RR203"),
        (PASSES.replace("survey.csv", "/etc/passwd"), "RR289"),
        (PASSES.replace("survey.csv", "../../../outside.csv"), "RR289"),
    ],
)
def test_a_file_of_tests_that_is_wrong_is_told(write, capsys, tests, code):
    assert main(["test", str(write(tests=tests)), "--json"]) == 2
    assert code in [problem["code"] for problem in json.loads(capsys.readouterr().out)["problems"]]


def test_policies_without_tests_are_told(write, tmp_path, capsys):
    policy = write()
    (policy.parent / "tests" / "survey.toml").unlink()
    assert main(["test", str(policy.parent)]) == 2
    assert "RR283" in capsys.readouterr().err
    write(name="other")
    assert main(["test", str(policy.parent)]) == 0
    assert "no tests" in capsys.readouterr().out


def test_tests_may_stand_in_a_folder(write):
    policy = write()
    folder = policy.parent / "tests" / "survey"
    folder.mkdir()
    (folder / "more.toml").write_text(PASSES.replace('csv = "survey.csv"', 'csv = "../survey.csv"'))

    (tests,) = rrpolicy.run_tests(policy).policies
    assert [one.name for one in tests.tried] == ["four groups", "everybody has the flu", "half a table", "four groups"]


@pytest.mark.parametrize("form", ["sarif", "junit", "github", "gitlab", "markdown"])
def test_every_format_tells_of_a_test(write, form, capsys):
    assert main(["test", str(write(("l = 2", "l = 3"))), "--output-format", form]) == 1
    assert "four groups" in capsys.readouterr().out


def test_no_day_decides_a_test(write):
    due = ("[source]", "[context]\nreview_by = 2020-01-01\n\n[source]")

    assert rrpolicy.run_tests(write(due)).passed
