"""Malformed bundles, plans and keys end with the status of their code: never 70, and nothing is waited for."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

BROKEN = {
    "empty": b"",
    "no object": b"[1]",
    "cut off": b'{"schema": "rrpolicy.release/1", ',
    "twice": b'{"schema": 1, "schema": 1}',
    "not a number": b'{"schema": NaN}',
    "out of reach": b'{"schema": 1e999}',
    "whole and out of reach": b'{"schema": 1' + b"0" * 308 + b"}",
    "huge": b'{"schema": ' + b"9" * 5000 + b"}",
    "deep": b"[" * 50000,
    "nested": b'{"a":' * 200 + b"1" + b"}" * 200,
    "not UTF-8": b'{"schema": "\xff"}',
    "half a pair": b'{"schema": "\\ud800"}',
}
WRONG = (None, 7, -1, True, "x", [], {}, [[]], {"x": {}}, 1e300, "\u202e")


def run(*arguments: object) -> int:
    from rrpolicy.cli.main import main

    return main([str(a) for a in arguments])


def replace_file(path: Path, how: str) -> None:
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "link":
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_manifest_that_cannot_be_read(copied, content):
    case = copied("csv")
    public = case.bundle / "public"
    (public / "release.json").write_bytes(content)
    assert run("verify", case.bundle) == 1
    for no_verify in ((), ("--no-verify",)):
        assert run("estimate", public, "--by", "sex", *no_verify) == 2
        assert run("report", public, *no_verify) == 2
    plan = case.bundle / "plan.json"
    plan.write_bytes(content)
    assert run("release", plan, "--out", case.bundle.parent / "new") == 4
    key = case.bundle.parent / "broken.key"
    key.write_bytes(content)
    key.chmod(0o600)
    assert run("verify", case.bundle, "--source", case.case.table, "--key", key) in {1, 4}


@pytest.mark.parametrize("how", ["missing", "folder", "pipe", "link"])
@pytest.mark.parametrize("name", ["release.json", "data.csv"])
def test_something_else_in_place_of_a_file(copied, how, name):
    case = copied("csv")
    replace_file(case.bundle / "public" / name, how)
    assert run("verify", case.bundle) == 1
    assert run("estimate", case.bundle / "public", "--by", "sex") == 2
    assert run("estimate", "query", case.bundle / "public", "SELECT count(*) FROM release", "--no-verify") == 2
    assert run("report", case.bundle, "--page", "public") == 2


@pytest.mark.slow
def test_any_field_of_another_type(copied, capsys):
    """A seeded walk: in each round one value of release.json becomes something else, digests unchecked."""
    case = copied("csv")
    path = case.bundle / "public" / "release.json"
    whole, rng = path.read_bytes(), random.Random(3)
    for _ in range(60):
        document = json.loads(whole)
        place, key = document, rng.choice([*document])
        while isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
            place = place[key]
            key = rng.choice([*place]) if isinstance(place, dict) else rng.randrange(len(place))
        place[key] = rng.choice(WRONG)
        path.write_text(json.dumps(document))
        for command in (("estimate", "--by", "sex"), ("report", "--page", "public")):
            status = run(command[0], case.bundle, *command[1:], "--no-verify")
            assert status in {0, 2, 3, 4}, (command, key, place[key], capsys.readouterr().err)
        assert run("verify", case.bundle, "--level", "public") in {1, 4}, (key, place[key])


def test_a_database_or_a_table_that_is_garbage(copied):
    for form in ("parquet", "duckdb"):
        case = copied(form)
        data = case.bundle / "public" / f"data.{form}"
        data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
        assert run("verify", case.bundle) == 1
        assert run("estimate", case.bundle / "public", "--by", "sex") == 2
        assert run("estimate", case.bundle / "public", "--by", "sex", "--no-verify") == 2
        shutil.rmtree(case.bundle)


@pytest.mark.parametrize("name", ["audit.json", "plan.json", "findings.json", "policy.json", "policy.toml"])
def test_an_audit_that_cannot_be_read_fails_whoever_opens_the_bundle(copied, capsys, name):
    case = copied("csv")
    path = case.bundle / "audit" / name
    whole = path.read_bytes()

    def held(place: str) -> None:
        for command, *further in (("verify",), ("attack", "--source", case.case.table), ("compare",)):
            assert run(command, case.bundle, *further) == 1, (command, place)
            assert name in "".join(capsys.readouterr()), (command, place)

    for content in (b"", whole[: len(whole) // 2], b"\xff[]"):
        path.write_bytes(content)
        held(repr(content[:9]))
    for how in ("missing", "folder", "pipe", "link"):
        replace_file(path, how)
        held(how)
        path.rmdir() if how == "folder" else path.unlink(missing_ok=True)
        path.write_bytes(whole)
