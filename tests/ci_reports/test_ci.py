"""The files for CI, run as their runners run them: the composite action, the GitLab component, the pre-commit hooks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

import rrpolicy
from rrpolicy.signing.signing_keys import make_signing_key
from tests.ci_reports.conftest import ACCEPT, DP, GATE, PK, ROOT, git, policy_text
from tests.ci_reports.runners import action, bare_environment, component
from tests.ci_reports.test_formats import runner_commands

ACTION, COMPONENT = ROOT / "action.yml", ROOT / "templates" / "rrpolicy" / "template.yml"
BIN = Path(sys.executable).parent
PULL, TAG = {"ref_type": "branch", "ref_name": "12/merge"}, {"ref_type": "tag", "ref_name": "2026-11"}
MERGE = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_JOB_URL": "https://gitlab.example.org/-/jobs/7"}


def schema(name, file):
    """Hold a file to the schema of a format as check-jsonschema ships it."""
    command = [BIN / "check-jsonschema", "--builtin-schema", f"vendor.{name}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def workspace(tmp_path):
    """A repository with policies, checked out."""
    folder = tmp_path / "workspace"
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "good.toml").write_text(policy_text(PK, ACCEPT))
    (folder / "policies" / "fails.toml").write_text(policy_text(DP, GATE.format("1/1000000"), ACCEPT))
    (folder / "policies" / "wrong.toml").write_text(policy_text(PK.replace("k = 2", "k = 1")))
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "nothing yet")
    return folder


@pytest.fixture
def run(workspace):
    def run(github=PULL, **inputs):
        given = {"install": "false", **{name.replace("_", "-"): value for name, value in inputs.items()}}
        return action(ACTION, given, workspace, github, bare_environment(BIN))

    return run


def test_the_files_are_what_their_formats_ask():
    schema("github-actions", ACTION)
    head, body = yaml.safe_load_all(COMPONENT.read_text())
    assert all(set(spec) <= {"description", "default"} for spec in head["spec"]["inputs"].values())
    assert set(body) == {".rrpolicy", "rrpolicy-plan", "rrpolicy-release"}


def test_the_workflow_of_the_guide_is_one_and_gives_only_inputs_that_there_are(tmp_path):
    workflow, included, hooks = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "how-to" / "ci.md").read_text(), re.DOTALL
    )
    (tmp_path / "workflow.yml").write_text(workflow)
    schema("github-workflows", tmp_path / "workflow.yml")
    (step,) = [s for s in yaml.safe_load(workflow)["jobs"]["policy"]["steps"] if "rrpolicy@" in s["uses"]]
    assert step["with"].keys() <= yaml.safe_load(ACTION.read_text())["inputs"].keys()
    (tmp_path / "include.yml").write_text(included)
    schema("gitlab-ci", tmp_path / "include.yml")
    head = next(iter(yaml.safe_load_all(COMPONENT.read_text())))
    assert yaml.safe_load(included)["include"][0]["inputs"].keys() <= head["spec"]["inputs"].keys()
    known = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {hook["id"] for hook in yaml.safe_load(hooks)["repos"][0]["hooks"]} <= known


def test_the_jobs_of_the_component_fit_gitlabs_schema(tmp_path):
    body = COMPONENT.read_text().partition("\n---\n")[2]
    (tmp_path / "gitlab-ci.yml").write_text(re.sub(r"\$\[\[ inputs\.\w+ \]\]", "x", body))
    schema("gitlab-ci", tmp_path / "gitlab-ci.yml")


def test_a_pull_request_is_planned_with_summary_annotations_and_a_log(run, workspace):
    ran = run(policy="policies/good.toml")
    assert (ran.status, ran.outputs["exit-status"]) == (0, "0")
    assert "The privacy requirement is met." in ran.summary
    assert runner_commands(ran.log) == []
    log = json.loads((workspace / "rrpolicy.sarif").read_text())
    assert log["runs"][0]["invocations"][0]["exitCode"] == 0
    assert not (workspace / "release").exists()


@pytest.mark.parametrize(
    ("policy", "status", "code"), [("fails", 1, "RR104"), ("wrong", 2, "RR208"), ("no", 2, "RR200")]
)
def test_what_does_not_hold_fails_the_job_and_is_shown_at_its_line(run, workspace, policy, status, code):
    ran = run(policy=f"policies/{policy}.toml", sarif="out.sarif")
    assert (ran.status, ran.outputs["exit-status"], ran.outputs["sarif"]) == (status, str(status), "out.sarif")
    assert f"title={code}" in ran.log
    assert f"file=policies/{policy}.toml" in ran.log or policy == "no"
    assert code in ran.summary or "fails" in ran.summary
    assert code in (workspace / "out.sarif").read_text()


@pytest.mark.slow
def test_a_tag_is_released_and_verified(run, workspace):
    ran = run(TAG, policy="policies/good.toml", out="november")
    assert ran.status == 0
    assert ran.outputs["bundle"] == "november"
    release = json.loads((workspace / "november" / "public" / "release.json").read_text())
    assert release["release"] == "2026-11"
    assert "verified at level audit" in ran.summary
    again = run(TAG, policy="policies/good.toml", out="november")
    assert again.status == 4  # nothing is overwritten


@pytest.mark.slow
def test_a_tag_of_a_policy_that_fails_releases_nothing_and_shows_why(run, workspace):
    ran = run(TAG, policy="policies/fails.toml")
    assert ran.status == 1
    assert not (workspace / "release").exists()
    assert "title=RR104" in ran.log
    assert "<strong>" not in ran.summary
    assert "**not met**" in ran.summary


WEAKER = policy_text(PK, ACCEPT).replace("k = 2", 'k = "3/2"')


@pytest.fixture
def base(workspace):
    """Commit the policies, then make one weaker without a word."""
    git(workspace, "add", "policies")
    git(workspace, "commit", "--quiet", "--message", "policies")
    (workspace / "policies" / "good.toml").write_text(WEAKER)
    return git(workspace, "rev-parse", "HEAD").strip()


@pytest.mark.slow
def test_a_weakening_is_refused_on_a_pull_request_and_on_a_tag(run, base, workspace):
    ran = run(policy="policies/good.toml", base=base)
    assert ran.status == 1
    assert "title=RR140" in ran.log
    assert "rrpolicy diff" in ran.summary
    assert "rrpolicy plan" in ran.summary
    assert run(TAG, policy="policies/good.toml", base=base).status == 1
    assert not (workspace / "release").exists()
    (workspace / "policies" / "new.toml").write_text(WEAKER)
    new = run(policy="policies/new.toml", base=base)
    assert new.status == 0
    assert "policies/new.toml is new: it was compared with nothing" in new.log
    assert run(policy="policies/new.toml", base=base, extends="policies/fails.toml").status == 2


@pytest.mark.slow
def test_no_spelling_of_the_path_and_no_other_name_pass_the_gate(run, job, base, workspace):
    spelled = ("policies//good.toml", "policies/../policies/good.toml", str(workspace / "policies" / "good.toml"))
    for path in spelled:
        assert run(policy=path, base=base).status == 1, path
        merge = {**MERGE, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
        assert job("rrpolicy-plan", merge, policy=path).status == 1, path
    (workspace / "policies" / "good.toml").unlink()
    (workspace / "policies" / "better.toml").write_text(WEAKER.replace('name = "survey"', 'name = "panel"'))
    ran = run(policy="policies/better.toml", base=base)
    assert ran.status == 1
    assert "title=RR140" in ran.log


def test_a_base_that_is_not_fetched_is_no_reason_to_compare_with_nothing(run, job, base, workspace):
    ran = run(policy="policies/good.toml", base="origin/main")
    assert ran.status == 2
    assert "fetch-depth 0" in ran.log
    assert run(TAG, policy="policies/good.toml", base="origin/main").status == 2
    assert not (workspace / "release").exists()
    absent = {**MERGE, "CI_MERGE_REQUEST_DIFF_BASE_SHA": "1" * 40}
    assert job("rrpolicy-plan", absent, policy="policies/good.toml").status != 0


@pytest.mark.slow
def test_a_weakening_is_refused_on_a_merge_request(job, base, workspace):
    merge = {**MERGE, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    ran = job("rrpolicy-plan", merge, policy="policies/good.toml")
    assert ran.status == 1
    assert ran.outputs["paths"] == "rrpolicy.md,rrpolicy-compared.md"
    (workspace / "policies" / "good.toml").write_text(policy_text(PK, ACCEPT))
    assert job("rrpolicy-plan", merge, policy="policies/good.toml").status == 0


def test_check_alone_and_a_mode_that_is_none(run):
    assert run(policy="policies/good.toml", mode="check").status == 0
    assert run(policy="policies/wrong.toml", mode="check").status == 2
    assert run(policy="policies/good.toml", mode="destroy").status == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "$(touch taken)",
        "`touch taken`",
        "; touch taken",
        '"; touch taken; "',
        "x\ntouch taken",
        "--out=taken",
        "' || touch taken '",
    ],
)
def test_no_input_is_run_as_a_script(run, workspace, text):
    others = dict.fromkeys(("source", "root", "out", "label", "sarif", "base", "extends"), text)
    for given in (
        {"policy": text},
        {"policy": "policies/good.toml", "mode": text},
        {"policy": "policies/good.toml", **others},
    ):
        run(TAG, **given)
        assert not (workspace / "taken").exists()


@pytest.mark.slow
def test_the_action_installs_what_it_brings(workspace, tmp_path):
    """Without a network: what rrpolicy needs is lent from here, and only rrpolicy itself is installed."""
    lent = next(path for path in sys.path if path.endswith("site-packages"))
    environment = {**bare_environment(Path(sys.executable).resolve().parent), "PYTHONPATH": lent}
    environment |= {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_IGNORE_INSTALLED": "1"}
    copied = tmp_path / "action"
    listed = git(ROOT, "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard").splitlines()
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (copied / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copied / name)
    ran = action(copied / "action.yml", {"policy": "policies/good.toml", "mode": "check"}, workspace, PULL, environment)

    assert ran.status == 0, ran.log
    assert (tmp_path / "runner_temp" / "rrpolicy-python" / "bin" / "rrpolicy").exists()


@pytest.fixture
def job(workspace):
    def job(name, variables, **inputs):
        given = {"package": "", **inputs}
        if variables is MERGE:
            variables = {**MERGE, "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(workspace, "rev-parse", "HEAD").strip()}
        return component(COMPONENT, name, given, workspace, {**bare_environment(BIN), **variables})

    return job


@pytest.mark.slow
def test_a_merge_request_is_planned_with_gitlabs_reports(job, workspace):
    ran = job("rrpolicy-plan", MERGE, policy="policies/fails.toml")
    assert ran.status == 1
    assert set(ran.outputs) == {"paths", "junit", "codequality", "annotations"}
    (suite,) = JUnitXml.fromfile(str(workspace / ran.outputs["junit"]))
    assert suite.failures == 1
    (_, major) = json.loads((workspace / ran.outputs["codequality"]).read_text())
    assert major["location"]["path"] == "policies/fails.toml"
    annotations = json.loads((workspace / ran.outputs["annotations"]).read_text())
    link = annotations["rrpolicy"][0]["external_link"]
    assert link["url"].startswith(MERGE["CI_JOB_URL"])
    assert (workspace / "rrpolicy.md").exists()
    assert job("rrpolicy-plan", MERGE, policy="policies/good.toml", source="demo:survey").status == 0
    assert job("rrpolicy-plan", {"CI_COMMIT_TAG": "v1"}, policy="policies/good.toml") is None


@pytest.mark.slow
def test_a_tag_is_released_by_the_component(job, workspace):
    ran = job("rrpolicy-release", {"CI_COMMIT_TAG": "2026-11"}, policy="policies/good.toml", out="november")
    assert ran.status == 0, ran.log
    assert ran.outputs["paths"] == "rrpolicy.md,november"
    assert (workspace / "november" / "audit").is_dir()
    assert job("rrpolicy-release", MERGE, policy="policies/good.toml") is None
    assert job("rrpolicy-release", {"CI_COMMIT_TAG": "v2"}, policy="policies/fails.toml", out="december").status == 1
    assert not (workspace / "december").exists()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["$(touch taken)", "; touch taken", '"; touch taken; "', "--out=taken", "$HOME"])
def test_no_input_of_the_component_is_run_as_a_script(job, workspace, text):
    others = dict.fromkeys(("source", "out"), text)
    for given in ({"policy": text}, {"policy": "policies/good.toml", **others}, {"policy": text, "package": text}):
        job("rrpolicy-plan", MERGE, **given)
        job("rrpolicy-release", {"CI_COMMIT_TAG": text}, **given)
        assert not (workspace / "taken").exists()


@pytest.fixture
def hooked(workspace, tmp_path):
    """Commit files under a hook that the project brings, by the real client: as a local hook, which needs no network."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    environment = {**bare_environment(BIN), "PRE_COMMIT_HOME": str(tmp_path / "cache")}

    def hooked(name):
        local = [{**hook, "language": "system"} for hook in hooks if hook["id"] == name]
        (workspace / ".pre-commit-config.yaml").write_text(
            yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]})
        )

        def committed(*names):
            git(workspace, "add", ".pre-commit-config.yaml", *names)
            command = [BIN / "pre-commit", "run"]
            done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                git(workspace, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "policy")
            return done

        return committed

    return hooked


def test_pre_commit_checks_the_policies_that_change(workspace, hooked):
    committed = hooked("rrpolicy-check")
    good = committed("policies/good.toml")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "Passed" in good.stdout
    (workspace / "notes.toml").write_text("not a policy")
    assert "Skipped" in committed("notes.toml").stdout
    wrong = committed("policies/wrong.toml")
    assert wrong.returncode == 1
    assert "RR208" in wrong.stdout


def test_pre_commit_refuses_a_weakening_that_nobody_explains(workspace, hooked):
    for name in ("wrong.toml", "fails.toml"):
        (workspace / "policies" / name).unlink()
    git(workspace, "add", "policies")
    git(workspace, "commit", "--quiet", "--message", "policies")
    committed = hooked("rrpolicy-diff")
    policy = workspace / "policies" / "good.toml"
    weaker = policy_text(PK, ACCEPT).replace("k = 2", 'k = "3/2"')
    policy.write_text(weaker)
    refused = committed("policies/good.toml")
    assert refused.returncode == 1
    assert "RR140" in refused.stdout
    told = '[[policy.changes]]\nversion = "1.1.0"\nwhat = "privacy/pk-anonymity"\nwhy = "a small table"\nwho = "data steward"\n\n'
    policy.write_text(weaker.replace('version = "1.0.0"\n', f'version = "1.1.0"\n\n{told}'))
    explained = committed("policies/good.toml")
    assert explained.returncode == 0, explained.stdout + explained.stderr


@pytest.mark.slow
def test_pre_commit_holds_policies_to_their_tables(workspace, hooked):
    shutil.rmtree(workspace / "policies")
    shutil.copytree(ROOT / "policies", workspace / "policies")
    for path in (workspace / "policies").glob("*.toml"):
        if path.name not in {"baseline.toml", "pram.toml"}:
            path.unlink()
            shutil.rmtree(workspace / "policies" / "tests" / path.stem, ignore_errors=True)
            (workspace / "policies" / "tests" / path.name).unlink(missing_ok=True)
    committed = hooked("rrpolicy-test")
    good = committed("policies")
    assert good.returncode == 0, good.stdout + good.stderr
    policy = workspace / "policies" / "pram.toml"
    policy.write_text(policy.read_text().replace("k = 2", 'k = "11/10"'))
    refused = committed("policies/pram.toml")
    assert refused.returncode == 1
    assert "Failed" in refused.stdout


def test_the_hooks_are_a_manifest_of_pre_commit():
    command = [BIN / "pre-commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    assert subprocess.run(command, check=False).returncode == 0


# --- releases with a ledger on a git server ---------------------------------------------------------------------------


LEDGER = '[ledger]\nfile = "releases.jsonl"\noverlap = "same"\n[[ledger.budget]]\nmodel = "pk-anonymity"\nk = "3/2"\n'


@pytest.fixture
def server(workspace, tmp_path):
    """Put the repository, with a policy that keeps a ledger, on a server of its own; the workspace has a tag's commit."""
    text = policy_text(PK, ACCEPT) + LEDGER
    (workspace / "policies" / "kept.toml").write_text(text)
    rrpolicy.init_ledger(workspace / "policies" / "releases.jsonl")
    server = tmp_path / "server.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "main", str(server))
    git(workspace, "checkout", "--quiet", "-B", "main")
    git(workspace, "add", "policies")
    git(workspace, "commit", "--quiet", "--message", "policies")
    git(workspace, "remote", "add", "origin", str(server))
    git(workspace, "push", "--quiet", "origin", "main")
    git(workspace, "checkout", "--quiet", "--detach")
    return server


def entered(server) -> list[str]:
    text = git(server, "cat-file", "blob", "main:policies/releases.jsonl")
    return [json.loads(line)["kind"] for line in text.splitlines()]


BRANCH = {"event": {"repository": {"default_branch": "main"}}}


@pytest.mark.slow
def test_three_tags_are_one_budget_whatever_commit_they_are_of(run, server, workspace):
    """Each runner starts from the same commit, whose ledger is empty."""
    outcomes = []
    for number in range(3):
        git(workspace, "checkout", "--quiet", "--", "policies/releases.jsonl")
        ran = run({**TAG, **BRANCH, "ref_name": f"v{number}"}, policy="policies/kept.toml", out=f"release-{number}")
        outcomes.append((ran.status, ran.outputs["ledger-entry"]))
        assert ran.status in {0, 4}, ran.log
    assert outcomes[0][0] == 0
    assert outcomes[0][1].startswith("sha256:")
    assert outcomes[-1][0] == 4  # together they would break the budget
    assert "title=RR441" in ran.log
    assert not (workspace / "release-2").exists()
    assert entered(server).count("release") == sum(status == 0 for status, _ in outcomes)


@pytest.mark.slow
def test_a_release_that_cannot_be_entered_on_the_server_is_not_made(run, server, workspace):
    server.rename(server.with_name("moved.git"))
    ran = run({**TAG, **BRANCH}, policy="policies/kept.toml")
    assert ran.status == 4
    assert "RR449" in ran.log
    assert not (workspace / "release").exists()
    alone = run({**TAG, **BRANCH}, policy="policies/kept.toml", ledger="none")
    assert alone.status == 0, alone.log


@pytest.mark.slow
def test_the_component_enters_a_release_first_and_is_held_to_a_baseline(job, server, workspace):
    tag = {"CI_COMMIT_TAG": "v1", "CI_DEFAULT_BRANCH": "main"}
    ran = job("rrpolicy-release", tag, policy="policies/kept.toml", extends="policies/good.toml")
    assert (ran.status, entered(server)) == (2, ["ledger"]), ran.log
    ran = job("rrpolicy-release", tag, policy="policies/kept.toml")
    assert ran.status == 0, ran.log
    assert entered(server) == ["ledger", "release", "settlement"]
    plan = job("rrpolicy-plan", MERGE, policy="policies/kept.toml", extends="policies/good.toml")
    assert plan.status == 2, plan.log
    alone = job("rrpolicy-release", tag, policy="policies/kept.toml", ledger="none", out="other")
    assert alone.status == 4  # the label is taken
    assert entered(server) == ["ledger", "release", "settlement"]


@pytest.mark.slow
def test_what_requires_signatures_is_released_then_signed_then_verified(run, workspace, tmp_path):
    text = policy_text(PK, ACCEPT).replace("[release]\n", "[release]\nrequire_signatures = 1\n")
    assert "require_signatures" in text
    (workspace / "policies" / "signed.toml").write_text(text)
    ran = run(TAG, policy="policies/signed.toml")
    assert ran.status == 0, ran.log
    assert "who signed the release" in ran.log + ran.summary
    key = tmp_path / "steward.pem"
    make_signing_key(key, None)
    given = {"policy": "policies/signed.toml", "mode": "verify", "signed_by": f"{key}.pub\n\n"}
    assert run(PULL, **given).status == 1
    rrpolicy.sign(workspace / "release", key)
    ran = run(PULL, **given)
    assert ran.status == 0, ran.log


@pytest.mark.slow
def test_a_series_is_released_with_a_key_from_a_secret(run, server, workspace):
    text = (workspace / "policies" / "kept.toml").read_text().replace("[release]\n", '[release]\nseries = "monthly"\n')
    (workspace / "policies" / "kept.toml").write_text(text)
    assert run({**TAG, **BRANCH}, policy="policies/kept.toml").status == 4  # RR403: no key
    ran = run({**TAG, **BRANCH}, policy="policies/kept.toml", key=f"command:printf {'ab' * 32}")
    assert ran.status == 0, ran.log
    assert entered(server).count("release") == 1


def test_pre_commit_refuses_a_ledger_that_was_cut(workspace, server, hooked):
    ledger = workspace / "policies" / "releases.jsonl"
    rrpolicy.release(workspace / "policies" / "kept.toml", workspace / "r1")
    committed = hooked("rrpolicy-ledger")
    longer = committed("policies/releases.jsonl")
    assert longer.returncode == 0, longer.stdout + longer.stderr
    ledger.write_bytes(ledger.read_bytes().splitlines(keepends=True)[0])
    cut = committed("policies/releases.jsonl")
    assert cut.returncode == 1
    assert "RR440" in cut.stdout
