"""Where a release's key is: destroyed, in a file, under a passphrase, or derived from a secret that stands elsewhere."""

from __future__ import annotations

import base64
import json
import stat
import sys
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.planning.key_storage import KeyStorage
from tests.survey import SURVEY

SECRET = bytes(range(32))
OTHER = bytes(32)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(SURVEY)
    monkeypatch.setenv("SURVEY_KEY", SECRET.hex())
    monkeypatch.delenv("RRPOLICY_KEY_PASSPHRASE", raising=False)
    return tmp_path


def run(*words: str) -> int:
    return main([*words])


def said(capsys) -> str:
    return " ".join(capsys.readouterr().err.split())


def record(bundle: str) -> dict:
    return json.loads(Path(bundle, "audit/audit.json").read_text())


def data(bundle: str) -> str:
    return json.loads(Path(bundle, "public/release.json").read_text())["data"]["tables"]["data"]["digest"]


def printing(secret: bytes, *, status: int = 0) -> str:
    program = Path("vault.py")
    program.write_text(f"import sys\nprint({base64.b64encode(secret).decode()!r})\nsys.exit({status})\n")
    return f"command:{sys.executable} {program}"


@pytest.mark.parametrize("source", ["env:SURVEY_KEY", "command"])
def test_a_secret_elsewhere_gives_the_same_release_again(source, capsys):
    key = printing(SECRET) if source == "command" else source

    assert run("release", "policy.toml", "--out", "one", "--key", key) == 0
    assert run("release", "policy.toml", "--out", "two", "--key", key) == 0
    assert data("one") == data("two")
    assert record("one")["key"] == source.partition(":")[0].replace("env", "environment")
    assert not list(Path().glob("*.key"))
    assert run("verify", "one", "--source", "demo:survey", "--key", key) == 0
    assert "drawn again from the source and the key: the same release" in capsys.readouterr().out


def test_the_same_secret_gives_another_plan_another_key(monkeypatch):
    assert run("release", "policy.toml", "--out", "one", "--key", "env:SURVEY_KEY") == 0
    Path("policy.toml").write_text(SURVEY.replace('version = "1.0.0"', 'version = "1.0.1"'))
    assert run("release", "policy.toml", "--out", "two", "--key", "env:SURVEY_KEY") == 0
    assert data("one") != data("two")
    assert record("one")["source_tag"] != record("two")["source_tag"]

    monkeypatch.setenv("SURVEY_KEY", OTHER.hex())
    assert run("release", "policy.toml", "--out", "three", "--key", "env:SURVEY_KEY") == 0
    assert data("three") != data("two")


def test_a_plan_is_bound_by_the_secret(monkeypatch, capsys):
    assert run("plan", "policy.toml", "--out", "plan.json", "--key", "env:SURVEY_KEY") == 0
    assert "--key env:SURVEY_KEY" in capsys.readouterr().out
    assert not Path("plan.json.key").exists()

    monkeypatch.setenv("SURVEY_KEY", OTHER.hex())
    assert run("release", "plan.json", "--out", "bundle", "--key", "env:SURVEY_KEY") == 4
    assert "RR403 the secret is another one" in said(capsys)
    assert not Path("bundle").exists()

    monkeypatch.setenv("SURVEY_KEY", SECRET.hex())
    assert run("release", "plan.json", "--out", "bundle", "--key", "env:SURVEY_KEY") == 0
    monkeypatch.setenv("SURVEY_KEY", OTHER.hex())
    assert run("verify", "bundle", "--source", "demo:survey", "--key", "env:SURVEY_KEY") == 1


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("env:NOTHING_SET", "is not set"),
        ("env:SHORT", "does not contain a secret of 32 bytes"),
        ("env:", "is not set"),
        ("command:", "cannot be run"),
        ("command:/no/such/program", "cannot be run"),
        ("command:'unclosed", "cannot be run"),
        ("command:true", "does not contain a secret of 32 bytes"),
    ],
)
def test_a_secret_that_is_none_is_refused(monkeypatch, capsys, key, told):
    monkeypatch.setenv("SHORT", "abcd")

    for command in (["release", "policy.toml", "--out", "bundle"], ["plan", "policy.toml", "--out", "plan.json"]):
        assert run(*command, "--key", key) == 4
        error = said(capsys)
        assert "RR403" in error
        assert told in error
    assert not Path("bundle").exists()
    assert not Path("plan.json").exists()


def test_a_command_that_fails_is_believed_nothing(capsys):
    assert run("release", "policy.toml", "--out", "bundle", "--key", printing(SECRET, status=3)) == 4
    error = said(capsys)
    assert "ended with exit status 3" in error
    assert SECRET.hex() not in error


def test_no_shell_reads_the_command():
    assert run("release", "policy.toml", "--out", "bundle", "--key", "command:true; touch pwned") == 4
    assert not Path("pwned").exists()


def test_a_key_file_stands_under_a_passphrase(monkeypatch, capsys):
    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "correct horse")
    assert run("release", "policy.toml", "--out", "one", "--key", "key.json", "--key-passphrase") == 0
    document = json.loads(Path("key.json").read_text())
    assert "key" not in document
    assert stat.S_IMODE(Path("key.json").stat().st_mode) == 0o600
    assert record("one")["key"] == "file under a passphrase"

    assert run("verify", "one", "--source", "demo:survey", "--key", "key.json") == 0
    assert run("release", "policy.toml", "--out", "two", "--key", "key.json") == 0
    assert data("one") == data("two")
    assert record("two")["key"] == "file under a passphrase"

    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "another one")
    assert run("verify", "one", "--source", "demo:survey", "--key", "key.json") == 4
    assert "the passphrase is another one, or the file was changed" in said(capsys)
    monkeypatch.delenv("RRPOLICY_KEY_PASSPHRASE")
    assert run("verify", "one", "--source", "demo:survey", "--key", "key.json") == 4
    assert "set RRPOLICY_KEY_PASSPHRASE" in said(capsys)


@pytest.mark.parametrize("edit", ["source_tag", "plan_digest", "n", "ciphertext", "both"])
def test_a_protected_key_that_was_changed_does_not_open(monkeypatch, capsys, edit):
    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "correct horse")
    assert run("release", "policy.toml", "--out", "one", "--key", "key.json", "--key-passphrase") == 0
    document = json.loads(Path("key.json").read_text())
    if edit in document:
        document[edit] = document[edit][:-1] + ("0" if document[edit][-1] != "0" else "1")
    elif edit == "n":
        document["protected"]["n"] = 1 << 30
    elif edit == "both":
        document["key"] = SECRET.hex()
    else:
        document["protected"]["ciphertext"] = "00" * 48
    Path("key.json").write_text(json.dumps(document))

    assert run("verify", "one", "--source", "demo:survey", "--key", "key.json") == 4
    assert "RR403" in said(capsys)


def test_a_plan_whose_key_stands_under_a_passphrase_is_released(monkeypatch):
    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "correct horse")
    assert run("plan", "policy.toml", "--out", "plan.json", "--key-passphrase") == 0
    assert "protected" in json.loads(Path("plan.json.key").read_text())
    assert run("release", "plan.json", "--out", "one", "--key", "plan.json.key") == 0
    assert record("one")["key"] == "file under a passphrase"


@pytest.mark.parametrize("key", [[], ["--key", "env:SURVEY_KEY"]])
def test_a_passphrase_without_a_file_makes_no_sense(monkeypatch, capsys, key):
    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "correct horse")

    assert run("release", "policy.toml", "--out", "one", *key, "--key-passphrase") == 2
    assert "RR250" in said(capsys)
    assert not Path("one").exists()


@pytest.mark.parametrize(
    "custody", [one for one in KeyStorage if one is not KeyStorage.PERSONS]
)  # that has no key: collect
def test_the_audit_page_says_what_became_of_the_key(custody, monkeypatch):
    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "correct horse")
    options = {
        KeyStorage.DESTROYED: [],
        KeyStorage.FILE: ["--key", "key.json"],
        KeyStorage.PROTECTED: ["--key", "key.json", "--key-passphrase"],
        KeyStorage.ENVIRONMENT: ["--key", "env:SURVEY_KEY"],
        KeyStorage.COMMAND: ["--key", printing(SECRET)],
    }
    assert run("release", "policy.toml", "--out", "one", *options[custody]) == 0

    assert record("one")["key"] == custody.value
    assert custody.meaning(series=False) in Path("one/audit/report.html").read_text()
    held = b"".join(path.read_bytes() for path in Path("one").rglob("*") if path.is_file())
    assert SECRET.hex().encode() not in held
