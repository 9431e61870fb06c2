"""A ledger on a git server: a bare repository, clones that race, and everything that cannot be pushed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import RefusedError
from rrpolicy.governance.ledger import ledger_file
from rrpolicy.governance.ledger.ledger_file import BranchMovedError, LedgerBranch, lock_ledger, read_ledger
from tests.governance.ledger.office import HEAD, KEEP, LEDGER, people, privacy

SAME = LEDGER + 'overlap = "same"\n'
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nonexistent"}


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, **GIT}
    done = subprocess.run(
        ["git", "-c", "user.name=office", "-c", "user.email=office@localhost", *words],
        cwd=folder, env=env, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _nobody(monkeypatch):
    """Let git know nobody's name, as on a runner."""
    for name, value in GIT.items():
        monkeypatch.setenv(name, value)


def policy(epsilon: int) -> str:
    budget = privacy("local-dp", "ledger.budget", epsilon=epsilon)
    return HEAD.format(
        source='population = "residents"', attributes='room = { role = "excluded" }',
        rest=privacy("local-dp", epsilon=4) + KEEP + SAME + budget,
    )  # fmt: skip


@pytest.fixture
def server(tmp_path):
    """A bare repository with a policy and a ledger, and two clones of it."""
    server, first = tmp_path / "server.git", tmp_path / "first"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "main", str(server))
    git(tmp_path, "clone", "--quiet", str(server), str(first))
    git(first, "checkout", "--quiet", "-b", "main")
    (first / "policies").mkdir()
    (first / "policies/policy.toml").write_text(policy(100))
    (first / ".gitignore").write_text("*.csv\nrelease-*\n")
    assert main(["ledger", "init", str(first / "policies/releases.jsonl")]) == 0
    git(first, "add", "--all")
    git(first, "commit", "--quiet", "--message", "The policy and its ledger")
    git(first, "push", "--quiet", "origin", "main")
    git(tmp_path, "clone", "--quiet", str(server), str(tmp_path / "second"))
    for clone in (first, tmp_path / "second"):
        people(clone / "policies/people.csv", 240)
    return server


def release(clone: Path, name: str, *more: object) -> int:
    words = ["release", clone / "policies/policy.toml", "--out", clone / f"release-{name}", "--as", name]
    return main([str(word) for word in (*words, "--push", "origin/main", *more)])


def on_server(server: Path) -> list[dict[str, object]]:
    text = git(server, "cat-file", "blob", "main:policies/releases.jsonl")
    return [json.loads(line) for line in text.splitlines()]


def test_a_release_is_on_the_server_before_it_appears_and_others_are_held_against_it(server, tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    git(first, "tag", "one")
    git(first, "checkout", "--quiet", "one")  # a runner has the tag's commit, and no branch
    assert release(first, "one") == 0
    assert "pushed to origin/main" in capsys.readouterr().err
    lines = on_server(server)
    assert [line["kind"] for line in lines] == ["ledger", "release", "settlement"]
    manifest = json.loads((first / "release-one/public/release.json").read_text())
    assert lines[2]["entry"] == manifest["ledger"]["entry"]
    assert git(server, "log", "-1", "--format=%an %s", "main").startswith("rrpolicy releases.jsonl: settlement")
    assert git(server, "diff", "--name-only", "main~2", "main") == "policies/releases.jsonl"
    assert git(first, "diff", "--name-only", "--cached") == ""

    (second / "policies/policy.toml").write_text(policy(5))
    assert release(second, "two") == 4  # its own file knew nothing of the first
    told = capsys.readouterr().err
    assert "RR441" in told
    assert "together 5.78074, limit 5" in told
    assert not (second / "release-two").exists()
    assert len(on_server(server)) == 3
    (second / "policies/policy.toml").write_text(policy(100))
    assert release(second, "two") == 0
    assert [line["kind"] for line in on_server(server)] == ["ledger", "release", "settlement", "release", "settlement"]


def test_three_clones_that_release_at_once_are_never_alone(server, tmp_path):
    """Real processes, the same moment: each release names all that came before, or was refused and says so."""
    git(tmp_path, "clone", "--quiet", str(server), str(tmp_path / "third"))
    people(tmp_path / "third/policies/people.csv", 240)
    clones = [tmp_path / name for name in ("first", "second", "third")]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "rrpolicy.cli.main", "release", "policies/policy.toml", "--out", "release-x",
             "--as", clone.name, "--push", "origin/main"],
            cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **GIT},
        )
        for clone in clones
    ]  # fmt: skip
    ended = [(process.communicate()[1], process.returncode) for process in started]
    assert {status for _, status in ended} <= {0, 4}, ended
    assert all("RR449" in told for told, status in ended if status == 4), ended
    assert any(status == 0 for _, status in ended)
    lines = on_server(server)
    released = [line for line in lines if line["kind"] == "release"]
    assert len(released) == sum(status == 0 for _, status in ended)
    for clone, (_, status) in zip(clones, ended, strict=True):
        assert (clone / "release-x").exists() is (status == 0)
        if status == 4:  # run again
            assert release(clone, f"again-{clone.name}") == 0
    assert len([line for line in on_server(server) if line["kind"] == "release"]) == 3
    assert len(read_ledger(clones[0] / "policies/releases.jsonl").releases) >= 1


def test_who_pushes_between_fetch_and_push_is_noticed_and_nothing_is_released(server, tmp_path, capsys, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    fetch = LedgerBranch.fetch

    def raced(self: LedgerBranch) -> bytes:
        content = fetch(self)
        if not (second / "release-two").exists():
            monkeypatch.setattr(LedgerBranch, "fetch", fetch)
            assert release(second, "two") == 0
        return content

    monkeypatch.setattr(LedgerBranch, "fetch", raced)
    before = (first / "policies/releases.jsonl").read_bytes()
    assert release(first, "one") == 4
    told = capsys.readouterr().err
    assert "RR449" in told
    assert "another person pushed meanwhile" in told
    assert "run again" in told
    assert not (first / "release-one").exists()
    assert (first / "policies/releases.jsonl").read_bytes() == before
    assert release(first, "one") == 0
    assert [line["kind"] for line in on_server(server)].count("release") == 2


def test_what_became_of_a_release_follows_what_others_entered_meanwhile(server, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    push = LedgerBranch.push

    def raced(self: LedgerBranch, content: bytes, message: str) -> None:
        if ": settlement" in message and not (second / "release-two").exists():
            monkeypatch.setattr(LedgerBranch, "push", push)
            assert release(second, "two") == 0
        push(self, content, message)

    monkeypatch.setattr(LedgerBranch, "push", raced)
    assert release(first, "one") == 0
    assert [line["kind"] for line in on_server(server)] == ["ledger", *["release"] * 2, *["settlement"] * 2]
    assert not read_ledger(first / "policies/releases.jsonl").open


def test_a_settlement_that_never_gets_through_leaves_an_open_entry_and_says_so(server, tmp_path, monkeypatch, capsys):
    first = tmp_path / "first"
    push = LedgerBranch.push

    def refused(self: LedgerBranch, content: bytes, message: str) -> None:
        if ": settlement" in message:
            raise self._refused("another person pushed meanwhile", moved=True)
        push(self, content, message)

    monkeypatch.setattr(LedgerBranch, "push", refused)
    assert release(first, "one") == 0
    assert "but its outcome is not" in capsys.readouterr().err
    assert [line["kind"] for line in on_server(server)] == ["ledger", "release"]


@pytest.mark.parametrize("how", ["no server", "protected", "no ledger there", "a line more here", "no branch"])
def test_what_cannot_be_pushed_is_not_released(server, tmp_path, capsys, how):
    first = tmp_path / "first"
    if how == "no server":
        server.rename(tmp_path / "moved.git")
    elif how == "protected":
        hook = server / "hooks/pre-receive"
        hook.write_text("#!/bin/sh\necho 'the branch is protected' >&2\nexit 1\n")
        hook.chmod(0o755)
    elif how == "no ledger there":
        git(first, "rm", "--quiet", "--cached", "policies/releases.jsonl")
        git(first, "commit", "--quiet", "--message", "Gone")
        git(first, "push", "--quiet", "origin", "main")
    elif how == "a line more here":
        words = ("ledger", "add", "policies/releases.jsonl", "--budget", "policies/policy.toml")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(first)
            assert main([*words, "--reason", "a test", "--by", "board"]) == 0
    else:
        git(server, "branch", "-m", "main", "other")
    before = (first / "policies/releases.jsonl").read_bytes()
    capsys.readouterr()
    assert release(first, "one") == 4
    told = capsys.readouterr().err
    assert "RR449" in told
    if how == "a line more here":
        assert "lacks 1 entries" in told
    assert not (first / "release-one").exists()
    assert (first / "policies/releases.jsonl").read_bytes() == before


@pytest.mark.parametrize("named", ["main", "origin/", "/main", "--upload-pack=x/y"])
def test_a_name_that_is_no_branch_of_a_remote_is_refused(server, tmp_path, named, capsys):
    assert (
        main(["release", str(tmp_path / "first/policies/policy.toml"), "--out", str(tmp_path / "r"), f"--push={named}"])
        == 2
    )
    assert "RR250" in capsys.readouterr().err


def test_outside_of_a_repository_and_without_git_nothing_is_pushed(tmp_path, monkeypatch):
    (tmp_path / "releases.jsonl").touch()
    with pytest.raises(RefusedError.__mro__[1], match="RR282"):
        LedgerBranch("origin/main", tmp_path / "releases.jsonl")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(RefusedError.__mro__[1], match="git is not installed"):
        LedgerBranch("origin/main", tmp_path / "releases.jsonl")


def test_a_server_that_does_not_answer_is_not_waited_for_without_end(server, tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_file, "_LONGEST", 0.001)
    branch = LedgerBranch("origin/main", tmp_path / "first/policies/releases.jsonl")
    with pytest.raises(RefusedError, match="does not respond"):
        branch.fetch()


def test_a_shared_book_is_never_longer_than_the_branch(server, tmp_path, monkeypatch):
    ledger = tmp_path / "first/policies/releases.jsonl"
    before = ledger.read_bytes()
    from rrpolicy.governance.ledger.entry import LedgerBudgetEntry

    with lock_ledger(ledger, "origin/main") as book:
        entry = LedgerBudgetEntry(book.ledger.head, None, ({"model": "m", "options": {}, "where": {}},), "2027-01-01")
        monkeypatch.setattr(
            LedgerBranch, "push", lambda self, *_: (_ for _ in ()).throw(self._refused("moved", moved=True))
        )
        with pytest.raises(BranchMovedError):
            book.append(entry)
    assert ledger.read_bytes() == before


def test_series_are_begun_from_the_servers_ledger(server, tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    for clone in (first, second):
        text = policy(100).replace("[[privacy]]", '[release]\nseries = "monthly"\n[[privacy]]', 1)
        (clone / "policies/policy.toml").write_text(text)
    key = tmp_path / "series.key"
    assert release(first, "one", "--key", key) == 0
    assert release(second, "two", "--key", key) == 0
    assert len(read_ledger(second / "policies/releases.jsonl").releases) == 1  # the same table: the same draw


def test_a_policy_without_a_ledger_pushes_nothing(server, tmp_path):
    first = tmp_path / "first"
    text = (first / "policies/policy.toml").read_text()
    (first / "policies/policy.toml").write_text(text.partition("[ledger]")[0])
    assert release(first, "one") == 0
    assert len(on_server(server)) == 1
