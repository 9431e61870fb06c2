"""`rrpolicy check`: what it says, how it exits, and how little it loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main

POLICY = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"

[source]
uri = "demo:survey"

[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age = { role = "quasi-identifier", bins = [0, 20, 40, 65, inf], release_as = "age_group" }
disease = { role = "sensitive", domain = "observed" }

[[privacy]]
model = "local-dp"
epsilon = 6

[mechanism]
name = "pram"
"""
HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "duckdb", "jinja2", "cryptography", "rich", "altair")


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_it_says_what_is_decided_and_what_to_run_next(policy, capsys):
    assert main(["check", str(policy)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("survey 1.0.0, mechanism pram")
    assert "  quasi-identifier: sex, age" in lines
    assert any("local-dp" in line and "`rrpolicy plan`" in line for line in lines)
    assert any("domain:disease" in line for line in lines)
    assert lines[-1] == f"next: rrpolicy plan {policy}"


def test_all_files_are_checked_and_the_worst_status_wins(policy, tmp_path, capsys):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(POLICY.replace("epsilon = 6", "epsilon = 0").replace('"pram"', '"prma"'))

    assert main(["check", str(wrong), str(policy)]) == 2

    output = capsys.readouterr()
    assert "did you mean 'pram'?" in output.err
    assert "wrong.toml:18:11" in output.err
    assert f"{policy}: survey 1.0.0" in output.out


def test_json_holds_findings_and_problems(policy, tmp_path, capsys):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("schema = 1\n")

    assert main(["check", "--json", str(policy), str(wrong)]) == 2

    document = json.loads(capsys.readouterr().out)
    good, bad = document["policies"]
    assert good["findings"][0]["model"] == "local-dp"
    assert good["policy"]["digest"].startswith("sha256:")
    assert {"RR206"} == {p["code"] for p in bad["problems"]}


def test_it_loads_no_heavy_library(policy):
    code = f"import sys\nfrom rrpolicy.cli.main import main\nassert main(['check', {str(policy)!r}]) == 0\n"
    code += f"print([m for m in {HEAVY!r} if m in sys.modules])"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert run.stdout.splitlines()[-1] == "[]"


def entry(epsilon):
    return f'[[privacy]]\nmodel = "local-dp"\nepsilon = {epsilon}\n'


@pytest.fixture
def extend(policy):
    """Write a policy that extends the one above, with requirements of its own."""

    def write(*epsilons, name="child.toml"):
        path = policy.with_name(name)
        head = 'schema = 1\n[policy]\nname = "child"\nversion = "2.0.0"\nextends = "policy.toml"\n'
        path.write_text(head + "".join(map(entry, epsilons)))
        return path

    return write


def test_it_says_which_baseline_binds_and_what_comes_from_it(policy, extend, capsys):
    child = extend(8, 4)
    assert main(["check", str(child)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert f"  extends: {policy}" in lines
    inherited, weaker, own = (line for line in lines if "local-dp" in line)
    assert f"(from {policy})" in inherited
    assert "weaker than" in inherited  # the child asks for more
    assert f"weaker than the one of {policy}: it adds nothing" in weaker
    assert "from" not in own
    assert "weaker" not in own

    assert main(["check", "--json", str(child)]) == 0
    (document,) = json.loads(capsys.readouterr().out)["policies"]
    assert document["extends"] == [str(policy)]
    assert [f["origin"] for f in document["findings"]] == [str(policy), None, None]
    assert [f["void"] is None for f in document["findings"]] == [False, False, True]


def test_a_requirement_that_the_baseline_has_already_is_shown_once(policy, extend, capsys):
    assert main(["check", str(extend(6))]) == 0

    (line,) = (line for line in capsys.readouterr().out.splitlines() if "local-dp" in line)
    assert f"(from {policy}):" in line


def test_a_baseline_can_be_demanded(policy, extend, capsys):
    child = extend(4)
    assert main(["check", "--extends", str(policy), str(child)]) == 0
    grandchild = policy.with_name("grandchild.toml")
    grandchild.write_text(child.read_text().replace("policy.toml", "child.toml"))
    assert main(["check", "--extends", str(policy), str(grandchild)]) == 0

    capsys.readouterr()
    assert main(["check", "--extends", str(child), str(policy)]) == 2
    assert "RR245" in capsys.readouterr().err


def test_the_plan_says_the_same(policy, extend, capsys):
    from rrpolicy.cli.text.plan import lines
    from rrpolicy.planning.plan_result import plan_and_assess
    from rrpolicy.planning.policy_opening import open_policy

    pinned = POLICY.replace('domain = "observed"', 'domain = ["flu", "none"]')
    policy.write_text(pinned + 'allocation = "equal"\n')
    opened = open_policy(extend(8))
    text = lines(plan_and_assess(opened.policy, opened.registry, 1000))
    assert text[1:5] == [
        "protection: limited. Only epsilon is known without the table.",
        "",
        "extends",
        f"  {policy}",
    ]
    inherited, weaker = (line for line in text if "local-dp" in line and "at the limit" not in line)
    assert f"(from {policy})" in inherited
    assert f"(weaker than the one of {policy}: it adds nothing)" in weaker


DISCLOSURE = '[[privacy]]\nmodel = "attribute-disclosure"\n'


def refused(policy, text, capsys):
    policy.write_text(text)
    assert main(["check", "--json", str(policy)]) == 2
    (document,) = json.loads(capsys.readouterr().out)["policies"]
    return document["problems"]


@pytest.mark.parametrize(
    ("written", "hint"), [("33", "33 % is written 0.33"), ("0", None), ("12.5", "12.5 % is written 0.125")]
)
def test_a_threshold_is_refused_at_its_own_line(policy, written, hint, capsys):
    text = POLICY.replace("[mechanism]", f"{DISCLOSURE}threshold = {written}\n[mechanism]")
    (problem,) = refused(policy, text, capsys)

    assert problem["code"] == "RR208"
    assert text.splitlines()[problem["line"] - 1] == f"threshold = {written}"
    assert problem["hint"] == hint


def test_entries_are_numbered_from_1(policy, capsys):
    text = POLICY.replace("[mechanism]", f'{DISCLOSURE}threshold = "1/3"\ntreshold = 1\n[mechanism]')
    (problem,) = refused(policy, text, capsys)

    assert "unknown key 'treshold' in [[privacy]] 2:" in problem["message"]


def test_a_sensitive_attribute_that_does_not_exist_is_one_error(policy, capsys):
    text = POLICY.replace("[mechanism]", f'{DISCLOSURE}threshold = "1/3"\nsensitive = ["diseases"]\n[mechanism]')
    (problem,) = refused(policy, text, capsys)

    assert problem["message"] == "attribute-disclosure: 'diseases' is not a sensitive attribute of the policy"


@pytest.mark.parametrize("day", ["2026-13-40", "2026-02-30", "2026-1-5", "26-01-01", "2026-01-01T99:00:00"])
def test_a_day_that_the_calendar_does_not_have_is_told_as_one(policy, day, capsys):
    policy.write_text(f"{POLICY}\n[context]\nreview_by = {day}\n")
    assert main(["check", str(policy)]) == 2
    told = capsys.readouterr().err
    assert f"RR202 {day} is not a calendar date" in told
    assert "expected: a day that the calendar has, as YYYY-MM-DD, such as 2027-01-31" in told


def test_what_is_wrong_beside_a_day_is_no_matter_of_the_day(policy, capsys):
    for wrong in ("review_by = 2027-01-31 2027-01-31", "legal_basis = act of 2027-01-31", 'licence = "2026-13-40'):
        policy.write_text(f"{POLICY}\n[context]\n{wrong}\n")
        assert main(["check", str(policy)]) == 2
        told = capsys.readouterr().err
        assert "RR202 not TOML" in told
        assert "is not a calendar date" not in told


def test_of_a_folder_every_policy_is_checked(policy, tmp_path, capsys):
    (tmp_path / "other.toml").write_text(POLICY.replace("survey", "census", 1).replace("demo:census", "demo:survey"))
    (tmp_path / "no-policy.toml").write_text("[tool]\n")
    assert main(["check", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert [line.split(": ")[1].split()[0] for line in told.splitlines() if "mechanism pram" in line] == [
        "census",
        "survey",
    ]
    assert told.splitlines()[-1] == "all 2 policies are sound"

    (tmp_path / "other.toml").unlink()
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"next: rrpolicy plan {policy}"
    policy.unlink()
    assert main(["check", str(tmp_path)]) == 2
    assert f"RR200 the folder {tmp_path} contains no policy" in capsys.readouterr().err


WITHOUT_LIMIT = {
    'model = "local-dp"\nepsilon = 20.5': ("pram", "limits nothing in practice"),
    'model = "identity-disclosure"\nthreshold = 1': ("pram", "limits nothing: no probability exceeds 1"),
    'model = "attribute-disclosure"\nthreshold = 1': ("pram", "limits nothing: no probability exceeds 1"),
    'model = "attribute-disclosure"\nthreshold = 0.9\nthresholds = { none = 1 }': ("pram", "sets no limit for none"),
    'model = "k-anonymity"\nk = 1': ("l-diversity", "limits nothing: every class has one record"),
    'model = "l-diversity"\nkind = "entropy"\nl = 1': ("l-diversity", "limits nothing"),
    'model = "l-diversity"\nkind = "recursive"\nl = 1\nc = 2': ("l-diversity", "limits nothing"),
    'model = "t-closeness"\nt = 1': ("l-diversity", "limits nothing: no distance exceeds 1"),
    'model = "alpha-k-anonymity"\nalpha = 1\nk = 1': ("l-diversity", "limits nothing: no share exceeds 1"),
}
LIMITING = {
    'model = "local-dp"\nepsilon = 20': "pram",
    'model = "attribute-disclosure"\nthreshold = 0.9\nthresholds = { none = 0.95 }': "pram",
    'model = "l-diversity"\nkind = "recursive"\nl = 1\nc = 0.9': "l-diversity",
    'model = "alpha-k-anonymity"\nalpha = 1\nk = 2': "l-diversity",
}


def _asks(entry, mechanism):
    text = POLICY.replace(
        '"observed"', '["none", "asthma", "diabetes", "heart disease", "depression", "arthritis", "Narcolepsy"]'
    )
    return text.replace('model = "local-dp"\nepsilon = 6', entry).replace('"pram"', f'"{mechanism}"')


@pytest.mark.parametrize("entry", WITHOUT_LIMIT)
def test_a_requirement_that_limits_nothing_is_a_warning(entry, policy, capsys):
    mechanism, reason = WITHOUT_LIMIT[entry]
    policy.write_text(_asks(entry, mechanism))

    assert main(["check", str(policy)]) == 0

    (line,) = (line for line in capsys.readouterr().out.splitlines() if "[warning/no-limit]" in line)
    assert reason in line
    checked = rrpolicy.check(policy)
    (vacuous,) = (remark.vacuous for remark in checked.warnings if remark.name == "no-limit")
    assert vacuous == (checked.findings[0].identity if "limits nothing" in reason else "")


@pytest.mark.parametrize("entry", LIMITING)
def test_a_requirement_that_limits_something_is_no_warning(entry, policy, capsys):
    policy.write_text(_asks(entry, LIMITING[entry]))

    assert main(["check", str(policy)]) == 0
    assert "no-limit" not in capsys.readouterr().out


def test_whoever_decides_reads_that_a_requirement_limits_nothing(policy, tmp_path):
    entry = 'model = "attribute-disclosure"\nthreshold = 0.9\nthresholds = { none = 1 }'
    text = _asks(entry, "pram").replace('uri = "demo:survey"', 'uri = "demo:survey"\nother_columns = "excluded"')
    policy.write_text(text)

    released = rrpolicy.release(policy, tmp_path / "release")

    read = (released.bundle / "audit" / "report.html").read_text()
    assert "sets no limit for none" in read
    assert "sets no limit" not in (released.public / "report.html").read_text()
    policy.write_text(text + _WAIVER)
    assert rrpolicy.check(policy).warnings == ()
    (waived,) = rrpolicy.plan(policy).to_json()["waived"]
    assert waived["what"] == "warning/no-limit"


_WAIVER = """
[[waivers]]
finding = "warning/no-limit"
reason = "`none` is not a secret"
approver = "data protection officer"
until = 2999-01-01
"""


def test_a_sensitive_name_under_role_insensitive_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    text = """\
schema = 1
[policy]
name = "names"
version = "1.0.0"
owner = "o"
[source]
uri = "people.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
monthly_income = { role = "insensitive", domain = [1, 2], unchanged = "public", assume_unlinkable = "public" }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""
    policy.write_text(text)
    main(["check", str(policy)])
    assert "'monthly_income' is insensitive, and by its name it is sensitive" in capsys.readouterr().out
    policy.write_text(text.replace("monthly_income", "shoe_size"))
    main(["check", str(policy)])
    assert "by its name it is sensitive" not in capsys.readouterr().out
