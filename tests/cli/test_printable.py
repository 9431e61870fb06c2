"""Names and values of others reach neither a terminal nor its reader in disguise."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.canonical_json import pretty
from rrpolicy.cli.main import main
from rrpolicy.escaping.printable import command_line, visible

ODD = "\x1b[31m\x9b\x7f\u202e\u2066\u200f\u061c\u2028"
SOFT = ODD[7:]  # what a policy lets a name hold
COLUMN, KEPT = f"se{SOFT}x", f"kept{SOFT}"
VALUES = [f"a{ODD}", f"b{ODD}\nverify: everything holds"]
TABLE = f"t{SOFT}.csv"

POLICY = f"""
schema = 1
[policy]
name = "odd"
version = "1.0.0"
owner = "o{SOFT}"
purpose = "p{SOFT}"
[source]
uri = {json.dumps(TABLE)}
[attributes]
{json.dumps(COLUMN)} = {{ role = "quasi-identifier", domain = {json.dumps(VALUES)} }}
{json.dumps(KEPT)} = {{ role = "insensitive", unchanged = {json.dumps("why" + SOFT)} }}
[[privacy]]
model = "local-dp"
epsilon = 2
scope = "attribute"
[mechanism]
name = "pram"
"""


def hidden(text: str) -> set[str]:
    return {c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / TABLE).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([COLUMN, KEPT])
        rows.writerows([VALUES[i % 2], f"k{i % 3}{ODD}"] for i in range(60))
    (tmp_path / f"p{ODD}.toml").write_text(POLICY.replace("\x7f", "\\u007f"), encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(f'schema = 1\n"key\u202e" = "\u2066" # {ODD[3:7]}\n', encoding="utf-8")
    return tmp_path


def test_no_command_prints_what_is_not_seen(folder: Path, capsys: Any) -> None:
    policy, out = f"p{ODD}.toml", f"out{ODD}"
    by = f'SELECT "{COLUMN}", count(*) AS "n{ODD}" FROM release GROUP BY "{COLUMN}"'
    runs = [
        (0, "check", policy),
        (2, "check", "wrong.toml"),
        (2, "check", f"absent{ODD}.toml"),
        (0, "plan", policy),
        (0, "release", policy, "--out", out),
        (4, "release", policy, "--out", out),
        (0, "verify", out),
        (0, "estimate", out, "--by", COLUMN),
        (2, "estimate", out, "--by", f"none{ODD}"),
        (0, "estimate", "query", out, by),
        (2, "estimate", "query", out, f"SELECT {ODD} FROM release"),
        (0, "check-table", TABLE, "--qi", COLUMN, "--sensitive", KEPT),
        (3, "check-table", TABLE, "--qi", f"none{ODD}"),
        (0, "init", TABLE),
        (2, f"comm{ODD}and"),
        (2, "check", f"--opt{ODD}"),
        (2, "verify", f"absent{ODD}"),
    ]
    wrong = []
    for expected, *arguments in runs:
        for call in (arguments, [*arguments, "--json"]) if arguments[0] in {"check", "estimate"} else (arguments,):
            status = main(call)
            told = capsys.readouterr()
            if hidden(told.out + told.err):
                wrong.append((call, hidden(told.out + told.err)))
            assert status == expected, told.err
    assert not wrong, wrong
    assert main(["estimate", out, "--by", COLUMN]) == 0
    assert visible(COLUMN) in capsys.readouterr().out
    page = (folder / out / "public" / "report.html").read_text(encoding="utf-8")
    assert not hidden(page)
    assert visible(COLUMN) in page


STEERS = re.compile(r"^\s*::|##[\w.-]*\[|section_(start|end):|\x1b", re.MULTILINE)
"""What GitHub, Azure, TeamCity and GitLab take for a command in a log of a job."""
STEERING = "##vso[task.setvariable variable=a]b"
LABELS = ["section_start:1:a", "::error::b", "##[error]c", "##teamcity[d]"]
STEERED = f"""
schema = 1
[policy]
name = "{LABELS[0]}"
version = "1.0.0"
owner = "{STEERING}"
purpose = "::set-output name=a::b"
[source]
uri = "t.csv"
[attributes]
{json.dumps(STEERING)} = {{ role = "quasi-identifier", domain = {json.dumps(LABELS)} }}
"::other" = {{ role = "sensitive", domain = {json.dumps(LABELS)} }}
"section_end:kept" = {{ role = "insensitive", unchanged = "##[group]why" }}
[[privacy]]
model = "local-dp"
epsilon = 2
scope = "attribute"
[mechanism]
name = "pram"
[ledger]
file = "l.jsonl"
"""


def test_no_command_prints_what_steers_the_runner_of_a_job(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([STEERING, "::other", "section_end:kept"])
        rows.writerows([LABELS[i % 4], LABELS[i // 4 % 4], LABELS[i % 3]] for i in range(160))
    (tmp_path / "p.toml").write_text(STEERED)
    (tmp_path / "q.toml").write_text(STEERED.replace("epsilon = 2", "epsilon = 3"))
    (tmp_path / "wrong.toml").write_text(STEERED.replace('role = "sensitive"', 'role = "##vso[x]"'))
    ask = f'SELECT "{STEERING}", count(*) FROM release GROUP BY 1'
    runs = [
        ("ledger", "init", "l.jsonl"),
        ("check", "p.toml"),
        ("check", "p.toml", "--source"),
        ("check", "wrong.toml"),
        ("plan", "p.toml"),
        ("diff", "p.toml", "q.toml"),
        ("compare", "p.toml", "q.toml"),
        ("release", "p.toml", "--out", "o"),
        ("verify", "o"),
        ("verify", "o", "--source", "t.csv"),
        ("attack", "o", "--source", "t.csv"),
        ("ledger", "show", "l.jsonl"),
        ("ledger", "verify", "l.jsonl", "--bundle", "o"),
        ("estimate", "o", "--by", STEERING),
        ("estimate", "o", "--by", f"{STEERING},::other"),
        ("estimate", "o", "--by", "##vso[none]"),
        ("estimate", "query", "o", ask),
        ("estimate", "query", "o", "SELECT ##vso[x] FROM release"),
        ("estimate", "association", "o", STEERING, "::other"),
        ("estimate", "independence", "o", STEERING, "::other"),
        ("estimate", "rules", "o", "--min-support", "0.1", "--min-confidence", "0.1"),
        ("estimate", "what-holds", "o"),
        ("init", "t.csv"),
        ("check-table", "t.csv", "--qi", STEERING, "--sensitive", "::other"),
        ("check-table", "t.csv", "--qi", "##[none]"),
        ("explain", "##vso[x]"),
        ("##vso[x]",),
        ("plugins", "--plugin", "##vso[x]"),
    ]
    wrong, statuses = [], {}
    for call in runs:
        for form in ("", "--json", "--output=github") if call[0] in {"check", "plan"} else ("",):
            statuses[call, form] = main([*call, *filter(None, [form])])
            told = capsys.readouterr()
            printed = told.out + told.err
            own = form == "--output=github" and re.compile(r"^::(error|warning|notice) [^\n]*$", re.MULTILINE)
            found = STEERS.findall(own.sub("", printed) if own else printed)
            if found:
                wrong.append((call, form, [line for line in printed.split("\n") if STEERS.search(line)][:3]))
    assert not wrong, wrong
    assert 70 not in statuses.values()
    works = {call for call in runs if statuses[call, ""] in {0, 1}}
    assert len(works) >= 20


def test_a_printed_command_can_be_pasted() -> None:
    words = ["plan", f"p{ODD}\n'\\.toml"]
    line = command_line(*words)
    assert not hidden(line)
    script = f"rrpolicy() {{ printf '%s\\0' \"$@\"; }}; {line}"
    told = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert told.decode().split("\0")[:-1] == words


@given(st.text())
def test_a_document_says_the_same_and_hides_nothing(text: str) -> None:
    written = pretty({text: [text]}).decode()
    assert not hidden(written)
    assert json.loads(written) == {text: [text]}
    assert not hidden(visible(text))
    assert "\n" not in visible(text)
