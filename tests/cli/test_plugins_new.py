"""`rrpolicy plugins new`: distributions whose own tests pass, and nothing over what is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.drafting.scaffold.generator import KINDS

ROOT = Path(__file__).resolve().parents[2]
EVERY = [word for kind in KINDS for word in ("--kind", kind)]
RUFF = ("ruff", "check", "--isolated", "--no-cache", "--line-length=120", "--select=E,F,I,UP,B,SIM,RUF")


def ran(words: list[str], folder: Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_tests_of_every_kind_pass(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["plugins", "new", "acme-all", *EVERY]) == 0

    told = capsys.readouterr().out.splitlines()
    assert told[-2:] == [
        "next: pip install -e acme-all && pytest acme-all",
        "then: rrpolicy plugins --plugin acme-all",
    ]
    passed = ran(
        ["pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "acme-all"], tmp_path, PYTHONPATH="acme-all/src"
    )
    assert " passed" in passed
    assert not list(tmp_path.rglob("__pycache__")) or "PYTHONDONTWRITEBYTECODE" not in os.environ


@pytest.mark.slow
def test_what_is_written_is_typed_and_tidy(tmp_path):
    assert main(["plugins", "new", "acme-all", "--into", str(tmp_path), *EVERY]) == 0

    ran([*RUFF, "."], tmp_path)
    ran(["ruff", "format", "--isolated", "--no-cache", "--line-length=120", "--check", "."], tmp_path)
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={os.devnull}"]
    ran(["mypy", *options, "src", "tests"], tmp_path, MYPYPATH=f"src:{ROOT}")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_alone_is_offered(kind, tmp_path, monkeypatch, capsys):
    assert main(["plugins", "new", "acme-one", "--into", str(tmp_path), "--kind", kind]) == 0
    assert len(list((tmp_path / "src").rglob("*.py"))) == 2
    info = tmp_path / "src" / "acme_one-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-one\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[rrpolicy]\nacme-one = acme_one\n")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    monkeypatch.delitem(sys.modules, "acme_one", raising=False)
    capsys.readouterr()

    assert main(["plugins", "--plugin", "acme-one"]) == 0

    offered = capsys.readouterr().out
    assert "acme-one  acme-one 0.1.0: rrpolicy_" in offered
    for module in [name for name in sys.modules if name.startswith("acme_one")]:
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Acme", "--kind", "metric"], "'Acme' is not a name for a plugin"),
        (["../acme", "--kind", "metric"], "is not a name for a plugin"),
        (["acme-x", "--kind", "dialect"], "'dialect' is nothing that a plugin offers"),
        (["acme-x"], "--kind"),
    ],
)
def test_wrong_calls_write_nothing(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["plugins", "new", *words]) == 2

    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "pyproject.toml").write_text("mine")

    assert main(["plugins", "new", "acme-x", "--into", str(tmp_path), "--kind", "metric"]) == 4

    assert "RR411" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["pyproject.toml"]
    assert (tmp_path / "pyproject.toml").read_text() == "mine"
