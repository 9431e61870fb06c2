"""docs/how-to/field.md: its policy, its commands and its Python, run as printed."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from rrpolicy.cli.main import main

from .village import people

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "field.md").read_text()


def block(language: str, number: int = 0) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    return found[number]


def test_the_guide_runs_as_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(block("toml"))
    commands = [shlex.split(line, comments=True)[1:] for line in block("sh").splitlines()]
    assert [c[0] for c in commands] == ["plan", "collect", "collect", "collect"]
    plan, questions, one, collect = commands

    assert main(plan) == 0
    assert "next: rrpolicy collect randomize plan.questionnaire.json" in capsys.readouterr().out
    assert main(questions) == 0
    assert "epsilon 2.9999" in capsys.readouterr().out
    assert main(one) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["sex", "age_group", "ill"]
    text = "sex,age,ill\n" + "".join(f"{p['sex']},{p['age']},{p['ill'] or ''}\n" for p in people(10_000))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["collect", "randomize", "plan.questionnaire.json", "--csv"]) == 0
    Path("answers.csv").write_text(capsys.readouterr().out)
    assert main(collect) == 0
    assert main(["verify", "bundle"]) == 0
    assert "verified at level audit; undecided: whether each record" in capsys.readouterr().out

    shown: dict[str, object] = {}
    exec(block("python"), shown)
    assert set(shown["sent"]) == {"sex", "age_group", "ill"}  # type: ignore[call-overload]
