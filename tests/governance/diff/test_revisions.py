"""Policies of git revisions: the same commit's baselines and hierarchies, and nothing of the repository is started."""

from __future__ import annotations

import json
import os

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.governance.diff import revision
from rrpolicy.policy.folder.root import MAX_FILE_BYTES

BASELINE = ('owner = "survey unit"', 'owner = "survey unit"\nextends = "base/floor.toml"')
FLOOR = 'schema = 1\n[policy]\nmay_relax = ["assume_unlinkable", "other_columns"]\n[source]\nmin_rows = {}\n'


def commit(git, message="change"):
    git("add", "--all")
    git("commit", "--quiet", "--message", message)


def test_a_revision_brings_its_own_baselines_and_hierarchies(write, git):
    ages = ("bins = [16, 30, 45, 65, inf] }", 'bins = [16, 30, 45, 65, inf], hierarchy = "ages.csv" }')
    minimum = ("min_rows = 100\n", "")
    write("policies/survey.toml", BASELINE, ages, minimum)
    floor = write("policies/base/floor.toml", text=FLOOR.format(200))
    write("policies/ages.csv", text="[16, 30);young\n[30, 45);young\n[45, 65);old\n[65, inf);old\n")
    commit(git)
    floor.write_text(FLOOR.format(150))

    (comparison,) = rrpolicy.diff("HEAD:policies/survey.toml", "policies/survey.toml").comparisons
    (change,) = comparison.changes
    assert (change.key, change.effect, change.before, change.after) == ("source.min_rows", "weaker", 200, 150)
    assert change.places.old.file == "HEAD:policies/base/floor.toml"
    assert change.places.new.file == "policies/base/floor.toml"
    (problem,) = comparison.problems
    assert problem.place.file == "policies/base/floor.toml"


@pytest.mark.parametrize("path", ["policies/survey.toml", "policies", "policies/", "./policies/survey.toml"])
@pytest.mark.parametrize("revision", ["HEAD~1", "first", "main^"])
def test_revisions_are_named_as_git_names_them(write, git, revision, path):
    write("policies/survey.toml")
    write("policies/notes.toml", text="title = 'no policy'\n")
    commit(git)
    git("tag", "first")
    write("policies/survey.toml", ("k = 2", "k = 3"))
    commit(git)

    found = rrpolicy.diff(f"{revision}:{path}", "HEAD:policies")
    assert found.effect == "stronger"


def test_links_inside_a_revision_are_followed_and_those_out_of_it_are_not(write, git, tmp_path):
    write("elsewhere.toml", text=FLOOR.format(300))
    write("policies/survey.toml", ("min_rows = 100\n", ""), BASELINE)
    (tmp_path / "policies" / "base").mkdir()
    link = tmp_path / "policies" / "base" / "floor.toml"
    link.symlink_to("../../elsewhere.toml")
    commit(git)
    write("now.toml", ("min_rows = 100", "min_rows = 400"))

    (comparison,) = rrpolicy.diff("HEAD:policies/survey.toml", "now.toml").comparisons
    assert next(c for c in comparison.changes if c.key == "source.min_rows").before == 300
    link.unlink()
    link.symlink_to("/etc/passwd")
    commit(git)
    with pytest.raises(PolicyError) as caught:
        rrpolicy.diff("HEAD:policies/survey.toml", "now.toml")
    assert [p.code for p in caught.value.problems] == ["RR240"]
    assert "/run-" not in str(caught.value)


@pytest.mark.parametrize(
    "named", ["nowhere:x.toml", "HEAD:nowhere.toml", "--all:x.toml", "HEAD:../x.toml", "HEAD:/etc"]
)
def test_what_is_no_revision_is_told(write, git, named, capsys):
    write("x.toml")
    write("notes/y.toml", text="title = 'no policy'\n")
    commit(git)

    assert main(["diff", "--", named, "x.toml"]) == 2
    assert "RR282" in capsys.readouterr().err


def test_without_a_repository_there_are_no_revisions(write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write("x.toml")

    assert main(["diff", "main:x.toml", "x.toml"]) == 2
    assert "lies in no git repository" in capsys.readouterr().err


def test_a_policy_of_a_revision_that_is_wrong_is_told_by_its_name_there(write, git, capsys):
    write("x.toml", ("k = 2", "k = 0"))
    commit(git)
    write("y.toml")

    assert main(["diff", "HEAD:x.toml", "y.toml", "--json"]) == 2
    (problem, *_) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["file"] == "HEAD:x.toml"


def test_nothing_is_started_that_a_repository_names(write, git, tmp_path):
    witness = tmp_path / "witness"
    touch = f"touch '{witness}'"
    write("x.toml")
    write(".gitattributes", text="*.toml filter=evil diff=evil merge=evil\n")
    commit(git)
    blob = git("rev-parse", "HEAD:x.toml").strip()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        hook = write(f".git/hooks/{name}", text=f"#!/bin/sh\n{touch}\n")
        hook.chmod(0o755)
    for key, value in {
        "core.fsmonitor": touch,
        "core.pager": touch,
        "pager.cat-file": touch,
        "pager.ls-tree": touch,
        "core.sshCommand": touch,
        "core.editor": touch,
        "core.alternateRefsCommand": touch,
        "filter.evil.smudge": touch,
        "filter.evil.clean": touch,
        "filter.evil.process": touch,
        "diff.evil.textconv": touch,
        "diff.external": touch,
        "alias.cat-file": f"!{touch}",
        "alias.ls-tree": f"!{touch}",
        "alias.rev-parse": f"!{touch}",
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f'ext::sh -c "{touch}"',
        "protocol.ext.allow": "always",
        "credential.helper": f"!{touch}",
    }.items():
        git("config", key, value)
    witness.unlink(missing_ok=True)

    assert rrpolicy.diff("HEAD:x.toml", "x.toml").comparisons[0].only_data is not None
    (tmp_path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()  # git would fetch what is missing
    with pytest.raises(PolicyError):
        rrpolicy.diff("HEAD:x.toml", "x.toml")
    assert not witness.exists()


def test_surroundings_of_a_hook_do_not_lead_elsewhere(write, git, monkeypatch, tmp_path):
    write("x.toml")
    commit(git)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")

    assert rrpolicy.diff("HEAD:x.toml", "x.toml").comparisons[0].only_data is not None


RENAMED = ('name = "survey"', 'name = "panel"'), ("k = 2", 'k = "3/2"')


@pytest.mark.parametrize(
    "path", ["policies/survey.toml", "policies//survey.toml", "policies/../policies/survey.toml", ""]
)
def test_a_policy_is_compared_with_itself_however_its_path_is_spelled(write, git, tmp_path, path):
    write("policies/survey.toml")
    commit(git)
    write("policies/survey.toml", RENAMED[1])

    found = rrpolicy.diff(path or str(tmp_path / "policies" / "survey.toml"), since="HEAD")
    assert found.effect == "weaker"
    assert not found.passed


@pytest.mark.parametrize("named", ["policies/panel.toml", "policies"])
def test_a_policy_whose_file_and_name_change_is_not_new(write, git, named):
    old = write("policies/survey.toml")
    write("policies/other.toml", ('name = "survey"', 'name = "other"'), ("demo:survey", "demo:other"))
    commit(git)
    old.unlink()
    write("policies/panel.toml", *RENAMED)

    found = rrpolicy.diff(named, since="HEAD")
    assert found.added == ()
    assert [one.new.name for one in found.comparisons if one.effect != "neutral"] == ["panel"]
    assert found.effect == "weaker"
    assert not found.passed
    assert not rrpolicy.diff("HEAD:policies", "policies").passed


def test_a_new_policy_is_announced(write, git, capsys):
    write("policies/survey.toml")
    commit(git)
    write("policies/panel.toml", *RENAMED)

    assert main(["diff", "--since", "HEAD", "policies/panel.toml"]) == 0
    assert "new, with nothing to compare it with: policies/panel.toml" in capsys.readouterr().out
    assert main(["diff", "--since", "HEAD", "policies/panel.toml", "--output-format", "github"]) == 0
    assert "policies/panel.toml is new: it was compared with nothing" in capsys.readouterr().out


def test_what_cannot_be_placed_in_the_revision_is_refused(write, git, tmp_path_factory):
    text = write("policies/survey.toml").read_text()
    commit(git)
    outside = tmp_path_factory.mktemp("outside") / "survey.toml"
    outside.write_text(text)

    for named, code in ((str(outside), "RR282"), ("nowhere.toml", "RR200")):
        with pytest.raises(PolicyError, match=code):
            rrpolicy.diff(named, since="HEAD")
    for arguments in (("policies",), ("policies", "policies", "HEAD")):
        with pytest.raises(PolicyError, match="RR250"):
            rrpolicy.diff(*arguments[:2], since=arguments[2] if len(arguments) > 2 else None)
    with pytest.raises(PolicyError, match="RR250"):
        rrpolicy.diff(rrpolicy.load_policy("policies/survey.toml"), since="HEAD")


def test_rules_alone_are_no_broken_policy(write, git, capsys):
    rules = FLOOR.replace("[policy]", '[policy]\nname = "house"\nversion = "1.0.0"')
    write(
        "policies/survey.toml",
        ("min_rows = 100\n", ""),
        ('owner = "survey unit"', 'owner = "survey unit"\nextends = "house.toml"'),
    )
    house = write("policies/house.toml", text=rules.format(200))
    commit(git)
    assert main(["check", "policies/house.toml", "policies/survey.toml"]) == 0
    assert "policies/house.toml: rules alone" in capsys.readouterr().out
    house.write_text(rules.format(150))

    found = rrpolicy.diff("policies", since="HEAD")
    assert [one.new.name for one in found.comparisons] == ["survey"]
    assert found.effect == "weaker"
    for wrong in ("policy = 3", 'source = "people.csv"'):
        house.write_text(f"schema = 1\n{wrong}\n")
        assert main(["check", "policies"]) == 2
        assert "RR2" in capsys.readouterr().err
    house.write_text(rules.format(150).replace("min_rows", "min_row"))
    assert main(["check", "policies/house.toml"]) == 2
    assert "RR205" in capsys.readouterr().err


def test_a_ledger_outside_of_the_repository_is_not_compared(write, git, tmp_path_factory, capsys):
    ledger = tmp_path_factory.mktemp("elsewhere") / "releases.jsonl"
    policy = write("policies/survey.toml", ("[attributes]", 'population = "residents"\n[attributes]'))
    relative = os.path.relpath(ledger, policy.parent)
    policy.write_text(policy.read_text() + f'[ledger]\nfile = "{relative}"\n')
    assert main(["ledger", "init", str(ledger)]) == 0
    commit(git)

    assert main(["diff", "--since", "HEAD", "policies"]) == 0
    assert main(["ledger", "verify", str(ledger), "--since", "HEAD"]) == 2
    assert "RR282" in capsys.readouterr().err


def test_a_ledger_that_was_cut_back_is_refused(write, git, tmp_path, capsys):
    ledger = tmp_path / "policies" / "releases.jsonl"
    policy = write("policies/survey.toml", ("[attributes]", 'population = "residents"\n[attributes]'))
    policy.write_text(policy.read_text() + '[ledger]\nfile = "releases.jsonl"\n')
    assert main(["ledger", "init", str(ledger)]) == 0
    begun = ledger.read_bytes()
    assert main(["release", "policies/survey.toml", "--out", "bundle", "--quiet"]) == 0
    commit(git)
    grown = ledger.read_bytes()
    assert len(grown) > len(begun)

    for gate in (["diff", "--since", "HEAD", "policies"], ["ledger", "verify", str(ledger), "--since", "HEAD"]):
        ledger.write_bytes(grown)
        assert main(gate) == 0
        ledger.write_bytes(begun)
        capsys.readouterr()
        assert main(gate) == 4
        assert "RR440" in capsys.readouterr().err
        ledger.unlink()
        assert main(gate) == 4
        assert "RR443" in capsys.readouterr().err
    ledger.write_bytes(grown)
    assert main(["release", "policies/survey.toml", "--out", "again", "--quiet"]) in {0, 1, 4}
    assert main(["ledger", "verify", str(ledger), "--since", "HEAD~0"]) == 0


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("notes/y.toml", "title = 'no policy'\n", "its folder 'notes' contains no policy"),
        ("notes/y.toml", "# " + "x" * MAX_FILE_BYTES, "'notes/y.toml' is larger than 16 MiB"),
    ],
)
def test_a_folder_of_a_revision_without_a_policy_is_refused(write, git, file, content, expected):
    write("x.toml")
    write(file, text=content)
    commit(git)
    with pytest.raises(PolicyError, match=expected):
        rrpolicy.diff("HEAD:notes", "x.toml")


def test_a_policy_of_a_revision_that_extends_a_file_outside_is_refused(write, git):
    write("x.toml", ('owner = "survey unit"', 'owner = "survey unit"\nextends = "../elsewhere.toml"'))
    commit(git)
    with pytest.raises(PolicyError) as caught:
        rrpolicy.diff("HEAD:x.toml", write("y.toml"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.place and problem.place.file) == ("RR289", "HEAD:x.toml")
    assert "'../elsewhere.toml' lies outside of 'HEAD'" in problem.message


def test_a_policy_of_a_revision_that_is_no_toml_is_told(write, git, capsys):
    write("x.toml", text="schema = 1\n[policy]\nname = \n")
    commit(git)
    write("y.toml")
    assert main(["diff", "HEAD:x.toml", "y.toml"]) == 2
    assert "HEAD:x.toml" in capsys.readouterr().err


def test_git_that_does_not_respond_is_told(write, git, monkeypatch):
    write("x.toml")
    commit(git)
    monkeypatch.setattr(revision, "_GIT_TIMEOUT_SECONDS", 0)
    with pytest.raises(PolicyError, match="git does not respond within 0 seconds"):
        rrpolicy.diff("HEAD:x.toml", "x.toml")
