"""Printed commands can be pasted into a shell, whatever files and columns are called; nothing is ever overwritten."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.escaping.printable import command_line, shortest_path

POLICY = """\
schema = 1
[policy]
name = "people"
version = "1.0.0"
[source]
uri = {uri}
[attributes]
{column} = {{ role = "quasi-identifier", domain = ["F", "M"] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
keep_probability = {{ {column} = 0.8, ill = 0.8 }}
"""
HOSTILE = ["it's $(touch hacked)", '-dash "b"; c', "two  é*?[x]"]


def make(folder: Path, name: str, column: str) -> Path:
    folder.mkdir()
    rows = [f"{'FM'[i % 2]},{'yes' if i % 7 == 0 else 'no'}" for i in range(100)]
    quoted = column.replace('"', '""')
    (folder / f"{name}.csv").write_text("\n".join([f'"{quoted}",ill', *rows, ""]))
    spelled = [f'"{text}"' for text in (t.replace("\\", "\\\\").replace('"', '\\"') for t in (f"{name}.csv", column))]
    path = folder / f"{name}.toml"
    path.write_text(POLICY.format(uri=spelled[0], column=spelled[1]))
    return path


@pytest.fixture
def paste(tmp_path, monkeypatch, capsys):
    """Return a function that pastes a command into a shell, and calls rrpolicy here with what the shell hands to it."""
    said = tmp_path / "said"
    stand_in = tmp_path / "bin" / "rrpolicy"
    stand_in.parent.mkdir()
    stand_in.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {said}\n")
    stand_in.chmod(0o755)

    def pasted(command: str, folder: Path) -> list[str]:
        said.unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{stand_in.parent}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=True)
        monkeypatch.chdir(folder)
        status = main(said.read_text().split("\0")[:-1])
        out, err = capsys.readouterr()
        assert status == 0, (command, err)
        return out.splitlines()

    return pasted


@pytest.mark.parametrize("name", HOSTILE)
def test_each_printed_command_runs_as_it_is(tmp_path, paste, name):
    folder = tmp_path / "work"
    policy = make(folder, name, name)
    command = command_line("check", policy.name)
    for step in ("check", "plan", "release", "verify"):
        lines = paste(command.replace(" DIR", " out"), folder)
        command = next((line.removeprefix("next: ") for line in lines if line.startswith("next: ")), "")
        if step == "release":
            paste(lines[-1], folder)
    assert not (folder / "hacked").exists()
    lines = paste(command_line("plan", policy.name, options={"--out": "-p.json"}), folder)
    (following,) = (line for line in lines if line.startswith("next: "))
    paste(following.removeprefix("next: ").replace(" DIR", " again"), folder)


def test_words_are_what_they_were():
    line = command_line("estimate", Path("-x y"), options={"--by": "-a'b", "--key": None, "--source": "s;t"})

    assert shlex.split(line) == ["rrpolicy", "estimate", "./-x y", "--by=-a'b", "--source", "s;t"]
    assert command_line("plan", "policies/pram.toml") == "rrpolicy plan policies/pram.toml"


@pytest.mark.parametrize("what", ["plan", "report", "release"])
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_exists_is_never_overwritten(tmp_path, capsys, what, kind):
    policy = make(tmp_path / "work", "people", "sex")
    out = policy.with_name("taken")
    commands = {"plan": ["plan", str(policy)], "release": ["release", str(policy)]}
    if what == "report":
        assert main(["release", str(policy), "--out", str(policy.with_name("bundle"))]) == 0
        commands["report"] = ["report", str(policy.with_name("bundle"))]
    {
        "file": lambda: out.write_text("mine"),
        "folder": out.mkdir,
        "link": lambda: out.symlink_to("nowhere"),
    }[kind]()
    before = sorted(p.name for p in policy.parent.iterdir())
    capsys.readouterr()

    assert main([*commands[what], "--out", str(out)]) == 4
    assert "RR402" in capsys.readouterr().err
    assert sorted(p.name for p in policy.parent.iterdir()) == before
    assert kind != "file" or out.read_text() == "mine"


def test_a_plan_that_appears_meanwhile_stays(tmp_path, capsys, monkeypatch):
    policy = make(tmp_path / "work", "people", "sex")
    out = policy.with_name("plan.json")
    from rrpolicy.planning import file as planfile

    def late(made, path):
        path.write_text("another's")
        appear(made, path)

    appear = planfile.appear
    monkeypatch.setattr(planfile, "appear", late)
    assert main(["plan", str(policy), "--out", str(out)]) == 4
    assert "RR402" in capsys.readouterr().err
    assert out.read_text() == "another's"
    assert sorted(p.name for p in policy.parent.iterdir()) == ["people.csv", "people.toml", "plan.json"]


def test_without_links_a_file_appears_all_the_same(tmp_path, monkeypatch):
    from rrpolicy.errors import RefusedError
    from rrpolicy.safe_io.atomic_write import appear

    def refused(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    (tmp_path / "made").write_text("new")
    appear(tmp_path / "made", tmp_path / "plan")
    assert (tmp_path / "plan").read_text() == "new"
    (tmp_path / "made").write_text("newer")
    with pytest.raises(RefusedError, match="RR402"):
        appear(tmp_path / "made", tmp_path / "plan")
    assert (tmp_path / "plan").read_text() == "new"


def test_a_file_that_cannot_get_its_name_leaves_nothing(tmp_path, monkeypatch):
    from rrpolicy.errors import RefusedError
    from rrpolicy.safe_io.atomic_write import write_new, write_new_file

    def refused(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(RefusedError, match="RR407"):
        write_new_file(tmp_path / "plan", b"new")
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "file").touch()
    with pytest.raises(RefusedError, match="RR407"):
        write_new(tmp_path / "file" / "folder", {"plan": lambda path: path.write_text("new")})


def test_a_table_beside_the_policies_folder_is_named_without_a_step_back(tmp_path, monkeypatch, capsys):
    make(tmp_path / "data", "people", "sex")
    (tmp_path / "policies").mkdir()
    text = (tmp_path / "data/people.toml").read_text()
    (tmp_path / "policies/people.toml").write_text(text.replace('"people.csv"', '"../data/people.csv"'))
    monkeypatch.chdir(tmp_path)
    assert main(["release", "policies/people.toml", "--root", ".", "--out", "out"]) == 0
    assert "next: rrpolicy verify out --source data/people.csv" in capsys.readouterr().out.splitlines()


def test_a_step_back_from_where_a_link_leads_stays(tmp_path, monkeypatch):
    (tmp_path / "elsewhere/policies").mkdir(parents=True)
    (tmp_path / "policies").symlink_to(tmp_path / "elsewhere/policies")
    monkeypatch.chdir(tmp_path)
    assert shortest_path("policies/../data/people.csv") == "policies/../data/people.csv"
    assert shortest_path("elsewhere/policies/../data/people.csv") == "elsewhere/data/people.csv"
