"""A repository lives a year: draft, pull request, a weakening refused, approval, release, signatures, ledger, audit.

Everything goes through the command line, in one folder, as the people of an office would run it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rrpolicy.cli.main import main

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "data steward",
    "GIT_AUTHOR_EMAIL": "steward@office.invalid",
    "GIT_COMMITTER_NAME": "data steward",
    "GIT_COMMITTER_EMAIL": "steward@office.invalid",
}
JANUARY, JUNE, NEXT_YEAR = "2027-01-15", "2027-06-15", "2028-01-15"
BASELINE = """\
schema = 1
[policy]
name = "office baseline"
version = "1.0.0"
may_relax = ["accept", "other_columns"]
[context]
demands = ["recipients", "release_model", "legal_basis", "approved_by", "review_by", "owner"]
allows.release_model = ["restricted", "enclave"]
[[privacy]]
model = "local-dp"
epsilon = 5
scope = "attribute"
"""
POLICY = """\
schema = 1

[policy]
name = "residents"
version = "1.0.0"
owner = "survey office"
purpose = "teaching"
extends = "baseline.toml"

[source]
uri = "people.csv"
population = "residents of the city"

[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
area = { role = "quasi-identifier", domain = ["north", "south", "west"] }
disease = { role = "sensitive", domain = ["flu", "none"] }

[[privacy]]
model = "local-dp"
epsilon = 3
scope = "attribute"

[mechanism]
name = "pram"

[release]
require_signatures = 2
audit_counts = false

[ledger]
file = "releases.jsonl"
overlap = "same"

[[ledger.budget]]
model = "local-dp"
epsilon = 5
scope = "attribute"
"""
CONTEXT = """
[context]
recipients = ["accredited researchers"]
release_model = "restricted"
legal_basis = "Statistics Act, section 5"
auditor = "audit office"
review_by = 2027-12-31
"""
PANEL = """\
schema = 1

[policy]
name = "panel"
version = "1.0.0"
owner = "survey office"
purpose = "who has work, each month"

[source]
uri = "panel.csv"
population = "panel of the city"

[attributes]
person = { role = "identifier" }
area = { role = "quasi-identifier", domain = ["north", "south", "west"] }
work = { role = "sensitive", domain = ["no", "yes"] }

[[privacy]]
model = "local-dp"
epsilon = 2

[mechanism]
name = "pram"

[release]
series = "monthly"

[ledger]
file = "releases.jsonl"
overlap = "nested"
different_values = 2

[[ledger.budget]]
model = "local-dp"
epsilon = 4
"""


@pytest.fixture
def office(tmp_path_factory):
    """The repository, and the keys that lie elsewhere."""
    folder = tmp_path_factory.mktemp("office")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in GIT.items():
            patch.setenv(name, value)
        patch.setenv("RRPOLICY_PASSPHRASE", "correct horse")
        patch.setenv("SURVEY_KEY", bytes(range(32)).hex())
        git("init", "--quiet", "--initial-branch", "main")
        areas, rows = ("north", "south", "west"), []
        for i in range(600):
            rows.append(f"p{i},{'f' if i % 2 else 'm'},{areas[i % 3]},{'flu' if i % 5 == 0 else 'none'}")
        Path("people.csv").write_text("\n".join(["person,sex,area,disease", *rows]) + "\n")
        Path(".gitignore").write_text("people.csv\npanel.csv\n*.pem\nrelease-*\n")
        Path("baseline.toml").write_text(BASELINE)
        yield folder


def git(*words: str) -> str:
    env = {**os.environ, **GIT}
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True, env=env).stdout


def run(*words: object) -> int:
    return main([str(word) for word in words])


def written(text: str) -> None:
    Path("policy.toml").write_text(text)


def committed(message: str) -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", message)


def told(capsys) -> str:
    return " ".join(capsys.readouterr().err.split())


SIGNED = ["--signed-by", "steward.pem.pub", "--signed-by", "approver.pem.pub"]


def the_draft_waits_for_what_is_to_be_filled_in(capsys):
    assert run("init", "people.csv") == 0
    written(capsys.readouterr().out)

    assert run("check", "policy.toml") == 2
    assert "RR281" in told(capsys)


def the_pull_request_is_annotated_line_by_line(capsys):
    written(POLICY)

    assert run("check", "policy.toml", "--extends", "baseline.toml", "--output-format", "github") == 2
    annotations = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error ")]
    assert len(annotations) == 5  # what the baseline demands
    assert all("file=policy.toml,line=" in line and "title=RR248" in line for line in annotations)

    written(POLICY + CONTEXT + 'approved_by = "data protection officer"\n')
    assert run("check", "policy.toml", "--extends", "baseline.toml", "--today", JANUARY) == 0
    assert run("ledger", "init", "releases.jsonl") == 0
    committed("The policy of residents")


def a_weakening_is_refused_until_it_is_explained(capsys):
    weaker = Path("policy.toml").read_text().replace("epsilon = 3\n", "epsilon = 4\n")
    written(weaker)
    assert run("diff", "main:policy.toml", "policy.toml", "--data") == 1
    said = capsys.readouterr()
    assert "RR140" in said.err
    (named,) = set(re.findall(r"(privacy/\S+) is weaker", said.err))
    explained = f"""
[[policy.changes]]
version = "1.1.0"
what = "{named}"
why = "areas were too noisy"
who = "review board"
"""
    written(weaker.replace('version = "1.0.0"', 'version = "1.1.0"') + explained)
    assert run("diff", "main:policy.toml", "policy.toml", "--data") == 0

    # the board says no
    git("checkout", "--quiet", "--", "policy.toml")
    assert run("diff", "main:policy.toml", "policy.toml") == 0


def a_plan_is_made_and_approved_without_becoming_stale(capsys):
    assert run("plan", "policy.toml", "--out", "release-plan.json", "--key", "env:SURVEY_KEY", "--today", JANUARY) == 0
    before = Path("policy.toml").read_text()
    written(before.replace("2027-12-31", "2027-11-30"))
    committed("Reviewed a month earlier")

    assert run("diff", "HEAD~1:policy.toml", "HEAD:policy.toml") == 0
    assert run("release", "release-plan.json", "--out", "release-1", "--key", "env:SURVEY_KEY", "--today", JANUARY) == 0


def it_is_signed_by_two_and_verified_by_a_third(capsys):
    for who in ("steward", "approver", "auditor"):
        assert run("keys", "new", f"{who}.pem") == 0
    assert run("verify", "release-1", "--today", JANUARY) == 1
    assert "RR136" in capsys.readouterr().out

    assert run("sign", "release-1", "--key", "steward.pem") == 0
    assert run("verify", "release-1", "--signed-by", "steward.pem.pub", "--today", JANUARY) == 1
    assert run("sign", "release-1", "--key", "approver.pem") == 0
    full = ["--source", "people.csv", "--key", "env:SURVEY_KEY", "--ledger", "releases.jsonl", *SIGNED]
    assert run("verify", "release-1", *full, "--sign-with", "auditor.pem", "--today", JANUARY) == 0
    assert list(Path("release-1/attestations").glob("verification-*.dsse.json"))
    committed("Release 1 stands in the ledger")


def a_rerun_is_the_same_release_and_a_second_one_is_refused(capsys):
    again = ["release", "release-plan.json", "--out", "release-again", "--key", "env:SURVEY_KEY", "--today", JANUARY]
    assert run(*again) == 0
    one, two = (json.loads(Path(f"{b}/public/release.json").read_text()) for b in ("release-1", "release-again"))
    assert one["data"] == two["data"]

    capsys.readouterr()
    assert run("release", "policy.toml", "--out", "release-2", "--today", JUNE) == 4
    assert "RR441" in told(capsys)
    assert not Path("release-2").exists()
    assert run("ledger", "verify", "releases.jsonl", "--bundle", "release-1") == 0


def panel(month: int) -> None:
    """Write a month of a panel in which each month somebody else has found work, and somebody joined."""
    areas = ("north", "south", "west")
    rows = (f"m{i},{areas[i % 3]},{'yes' if i % 4 or i < 40 * month else 'no'}" for i in range(500 + month))
    Path("panel.csv").write_text("\n".join(["person,area,work", *rows]) + "\n")


def a_panel_is_released_every_month_and_only_changes_are_drawn_anew(capsys):
    Path("panel.toml").write_text(PANEL)
    panel(1)
    first = ["release", "panel.toml", "--out", "release-panel-1", "--as", "month 1", "--key", "panel.pem"]
    assert run(*first) == 4
    assert "RR446" in told(capsys)  # other people are entered on purpose
    entered = ["ledger", "add", "releases.jsonl", "--budget", "panel.toml", "--reason", "a panel", "--by", "board"]
    assert run(*entered) == 0
    assert run(*first) == 0
    committed("The panel's series is begun")

    panel(2)
    assert run("release", "panel.toml", "--out", "release-panel-2", "--as", "month 2") == 4
    assert "RR403" in told(capsys)
    assert run("release", "panel.toml", "--out", "release-panel-2", "--as", "month 2", "--key", "panel.pem") == 0
    panel(3)
    assert run("release", "panel.toml", "--out", "release-panel-3", "--as", "month 3", "--key", "panel.pem") == 0
    full = ["--source", "panel.csv", "--key", "panel.pem", "--ledger", "releases.jsonl", "--strict"]
    assert run("verify", "release-panel-3", *full) == 0

    capsys.readouterr()
    since = ["estimate", "release-panel-3", "--since", "release-panel-1", "--by", "work", "--json"]
    assert run(*since) == 0
    alone = json.loads(capsys.readouterr().out)["rows"][0]
    assert run(*since, "--unchanged", "0.9") == 0
    shared = json.loads(capsys.readouterr().out)["rows"][0]
    assert shared["estimate"] == alone["estimate"]
    assert shared["se"] < alone["se"] / 2

    Path("panel.toml").write_text(PANEL.replace('["no", "yes"]', '["no", "part", "yes"]'))
    assert run("release", "panel.toml", "--out", "release-panel-4", "--key", "panel.pem") == 4
    assert "RR444" in told(capsys)
    Path("panel.toml").write_text(PANEL.replace('series = "monthly"\n', ""))
    assert run("release", "panel.toml", "--out", "release-panel-4") == 4
    assert "RR441" in told(capsys)
    Path("panel.toml").write_text(PANEL)
    committed("Three months of the panel stand in the ledger")


def who_cuts_the_ledger_is_found(capsys):
    whole = Path("releases.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    Path("releases.jsonl").write_bytes(lines[0])
    try:
        assert run("ledger", "verify", "releases.jsonl", "--bundle", "release-1") != 0
        assert run("verify", "release-1", "--ledger", "releases.jsonl", *SIGNED, "--today", JUNE) == 1
    finally:
        Path("releases.jsonl").write_bytes(whole)


def a_year_later_the_review_is_due_and_the_release_is_what_it_was(capsys):
    assert run("check", "policy.toml", "--today", NEXT_YEAR) == 4
    assert "RR415" in told(capsys)
    assert run("verify", "release-1", "--source", "people.csv", *SIGNED, "--today", NEXT_YEAR) == 0
    assert "the policy was to be reviewed by 2027-11-30" in capsys.readouterr().out


def what_analysts_get_is_enough_for_an_estimate_and_a_signature(tmp_path, capsys):
    for part in ("public", "attestations"):
        shutil.copytree(Path("release-1", part), tmp_path / part)

    assert run("verify", tmp_path, *SIGNED, "--today", JUNE) == 0
    assert run("estimate", tmp_path / "public", "--by", "disease") == 0
    assert "flu" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("office")
def test_a_repository_lives_a_year(capsys, tmp_path):
    the_draft_waits_for_what_is_to_be_filled_in(capsys)
    the_pull_request_is_annotated_line_by_line(capsys)
    a_weakening_is_refused_until_it_is_explained(capsys)
    a_plan_is_made_and_approved_without_becoming_stale(capsys)
    it_is_signed_by_two_and_verified_by_a_third(capsys)
    a_rerun_is_the_same_release_and_a_second_one_is_refused(capsys)
    a_panel_is_released_every_month_and_only_changes_are_drawn_anew(capsys)
    who_cuts_the_ledger_is_found(capsys)
    a_year_later_the_review_is_due_and_the_release_is_what_it_was(capsys)
    what_analysts_get_is_enough_for_an_estimate_and_a_signature(tmp_path, capsys)
