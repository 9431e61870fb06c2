"""What a policy may read: regular files of a limited size under a root, and nothing is quoted that is no policy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.policy.folder.root import blob_id, head_commit, repository_root

SECRET = "root:SECRET-of-another-file:0:0"
POLICY = """
schema = 1
[policy]
name = "survey"
version = "1.0.0"
extends = "{extends}"
[source]
uri = "survey.csv"
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
[[privacy]]
model = "k"
k = 5
[mechanism]
name = "flip"
keep = {{ sex = 0.8 }}
"""


def told(load, path: Path, **named: object) -> list[tuple[str, str]]:
    begun = time.process_time()
    with pytest.raises(PolicyError) as caught:
        load(path, **named)
    assert time.process_time() - begun < 10
    text = repr([(p, p.place and p.place.text) for p in caught.value.problems])
    assert "SECRET" not in text
    return [(p.code, p.message) for p in caught.value.problems]


def codes(load, path: Path, **named: object) -> set[str]:
    return {code for code, _ in told(load, path, **named)}


@pytest.fixture
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("elsewhere") / "passwd"
    path.write_text(f"{SECRET}\n")
    return path


def written(tmp_path: Path, extends: object, text: str = POLICY) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(text.format(extends=extends))
    return path


def test_a_baseline_outside_of_the_root_is_refused_by_its_path_and_by_links(load, tmp_path, secret):
    assert codes(load, written(tmp_path, secret)) == {"RR289"}
    assert codes(load, written(tmp_path, os.path.relpath(secret, tmp_path))) == {"RR289"}
    (tmp_path / "near.toml").symlink_to(secret)
    assert codes(load, written(tmp_path, "near.toml")) == {"RR289"}
    (tmp_path / "folder").symlink_to(secret.parent)
    assert codes(load, written(tmp_path, "folder/passwd")) == {"RR289"}


def test_a_file_that_is_no_policy_is_never_quoted(load, tmp_path, secret):
    assert codes(load, written(tmp_path, secret), root=Path("/")) == {"RR240"}
    env = tmp_path / "settings.toml"
    env.write_text('password = "SECRET"\n')
    assert codes(load, written(tmp_path, env.name)) == {"RR240"}
    assert codes(load, secret) == {"RR202"}
    table = tmp_path / "hierarchy.csv"
    table.write_text("F;SECRET-a;SECRET-b\nM;SECRET-a;SECRET-c\n")
    path = written(
        tmp_path, "", POLICY.replace('extends = "{extends}"\n', "").replace('"M"]', '"M"], hierarchy = "hierarchy.csv"')
    )
    assert codes(load, path) == {"RR216"}


def test_a_hierarchy_outside_of_the_root_is_refused(load, tmp_path, secret):
    head = POLICY.replace('extends = "{extends}"\n', "")
    path = written(tmp_path, "", head.replace('"M"]', f'"M"], hierarchy = "{secret}"'))
    assert codes(load, path) == {"RR289"}


def test_the_root_is_the_repositorys_top_or_the_one_given(load, tmp_path):
    (tmp_path / "policies").mkdir()
    baseline = tmp_path / "baseline.toml"
    baseline.write_text("schema = 1\n")
    path = written(tmp_path / "policies", "../baseline.toml")
    assert codes(load, path) == {"RR289"}
    assert load(path, root=tmp_path).baselines == (str(baseline),)
    (tmp_path / ".git").mkdir()
    assert load(path).baselines == (str(baseline),)


def test_pipes_devices_and_endless_files_are_refused_at_once(load, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", "/dev/zero", "/dev/tty", "."):
        assert codes(load, written(tmp_path, path), root=Path("/")) == {"RR240"}, path
        hierarchy = POLICY.replace('extends = "{extends}"\n', "").replace('"M"]', f'"M"], hierarchy = "{path}"')
        assert codes(load, written(tmp_path, "", hierarchy), root=Path("/")) == {"RR215"}, path
    assert codes(load, tmp_path / "pipe") == {"RR200"}
    assert codes(load, Path("/dev/zero")) == {"RR200"}
    endless = tmp_path / "endless.toml"
    with endless.open("wb") as file:
        file.truncate(1 << 40)
    assert codes(load, written(tmp_path, "endless.toml")) == {"RR240"}
    assert codes(load, endless) == {"RR200"}


HUGE = {
    "a dotted key": "a" + ".a" * 1_000_000 + " = 1",
    "a quoted dotted key": '"a"' + ' . "a"' * 500_000 + " = 1",
    "a dotted header": "[a" + ".a" * 1_000_000 + "]",
    "a dotted key within a table": "x = { a" + ".a" * 1_000_000 + " = 1 }",
    "arrays in arrays": "a = " + "[" * 200 + "]" * 200,
    "more arrays in arrays": "a = " + "[" * 1_000_000 + "]" * 1_000_000,
    "tables in tables": "a = " + "{ a = " * 200 + "1" + "}" * 200,
    "many values": "a = [" + "1," * 2_000_000 + "]",
    "many keys": "\n".join(f"k{i} = 1" for i in range(300_000)),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_policy_that_would_keep_the_reader_busy_is_refused_in_seconds(load, tmp_path, name):
    path = tmp_path / "policy.toml"
    path.write_text(f"schema = 1\n{HUGE[name]}\n")
    assert codes(load, path) == {"RR287"}


@pytest.mark.slow
def test_a_domain_of_too_many_categories_is_refused_and_a_large_one_on_one_line_is_read(load, tmp_path):
    head = POLICY.replace('extends = "{extends}"\n', "")
    large = ", ".join(f'"é{i}"' for i in range(60_000))
    path = written(tmp_path, "", head.replace('"F", "M"', large))
    begun = time.process_time()
    policy = load(path)
    assert time.process_time() - begun < 10
    assert len(policy.attributes["sex"].domain) == 60_000
    at = policy.places["attributes.sex.domain.59999"]
    assert path.read_text().split("\n")[at.line - 1][at.column - 1 :].startswith('"é59999"')
    path = written(tmp_path, "", head.replace('"F", "M"', ", ".join(f'"{i}"' for i in range(100_001))))
    assert codes(load, path) == {"RR293"}


def test_dots_in_texts_and_deep_names_are_no_nesting(load, tmp_path):
    head = POLICY.replace('extends = "{extends}"\n', "")
    path = written(
        tmp_path, "", head.replace('name = "survey"', 'name = "survey"\npurpose = "Wait' + "." * 100 + ' 1.2.3.4"')
    )
    assert load(path).name == "survey"


def git(folder: Path, *arguments: str) -> str:
    """Run git for the tests' sake; rrpolicy never does."""
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_is_what_git_says_and_the_blob_too(tmp_path):
    assert head_commit(tmp_path) is None
    git(tmp_path, "init", "--quiet")
    assert head_commit(tmp_path) is None
    (tmp_path / "policies").mkdir()
    policy = tmp_path / "policies" / "policy.toml"
    policy.write_text("schema = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    said = git(tmp_path, "rev-parse", "HEAD")
    assert head_commit(policy.parent) == said
    assert repository_root(policy.parent) == tmp_path
    assert blob_id(policy.read_bytes(), said) == git(tmp_path, "rev-parse", "HEAD:policies/policy.toml")
    git(tmp_path, "pack-refs", "--all")
    assert head_commit(policy.parent) == said
    git(tmp_path, "branch", "other/branch")
    git(tmp_path, "worktree", "add", "--quiet", str(tmp_path / "tree"), "other/branch")
    git(tmp_path / "tree", "commit", "--quiet", "--allow-empty", "-m", "two")
    assert head_commit(tmp_path / "tree") == git(tmp_path / "tree", "rev-parse", "HEAD") != said
    git(tmp_path, "checkout", "--quiet", "--detach")
    assert head_commit(tmp_path) == said


@pytest.mark.parametrize(
    "head",
    ["ref: ../../secret", "ref: refs/../../secret", "ref: refs/heads/\x1b[2J", "SECRET", "ref: refs/heads/main", ""],
)
def test_a_repository_made_to_mislead_tells_nothing(tmp_path, head):
    (tmp_path / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text(head)
    (tmp_path / "secret").write_text("SECRET")
    (tmp_path / ".git" / "refs" / "heads" / "main").write_text("ref: refs/heads/main")
    assert head_commit(tmp_path) is None
    (tmp_path / ".git" / "HEAD").unlink()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert head_commit(tmp_path) is None
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("folder: ../secret")
    assert head_commit(tmp_path / "tree") is None


def test_no_program_of_the_policys_folder_is_started(tmp_path):
    """A release in a repository whose settings name programs: none of them runs."""
    ran = tmp_path / "ran"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    subprocess.run(
        [sys.executable, "-m", "rrpolicy.cli.main", "demo", "d", "--records", "2000"],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    policy = tmp_path / "d" / "policy.toml"
    policy.write_text(policy.read_text().replace("max = 0.03", "max = 1"))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "d")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    said = git(tmp_path, "rev-parse", "HEAD")
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.hooksPath",
        "diff.external",
        "log.showSignature",
    ):
        git(tmp_path, "config", key, str(hook) if key != "log.showSignature" else "true")
    done = subprocess.run(
        [sys.executable, "-m", "rrpolicy.cli.main", "release", "d/policy.toml", "--out", "out"],
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0
    assert not ran.exists()
    record = json.loads((tmp_path / "out" / "audit" / "audit.json").read_text())
    assert record["policy_commit"] == said
    git(tmp_path, "config", "--unset", "core.fsmonitor")
    assert record["policy_blob"] == git(tmp_path, "rev-parse", f"{said}:d/policy.toml")
