"""A small table with canaries where nothing may be released from, and bundles made of it."""

from __future__ import annotations

import csv
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

LABELS = ("plain", 'quoted, "label"', "<b>bold & bare</b>", "two\nlines", "ünï 'code'; DROP TABLE data; --")
"""Category labels that each format must carry as they are."""

CANARIES = ("CANARY-identifier", "CANARY-excluded", "CANARY-rare")
POLICY = """
schema = 1
[policy]
name = "Canaries"
version = "1.0.0"
owner = "Tests"
purpose = "A release for tests."
[source]
uri = "{uri}"
[attributes]
person_id = {{ role = "identifier" }}
note = {{ role = "excluded" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
level = {{ role = "quasi-identifier", domain = {labels}, outside = "plain" }}
age = {{ role = "sensitive", bins = [0, 40, 65, inf], labels = ["0-39", "40-64", "65+"], release_as = "age_group" }}
hours = {{ role = "insensitive", assume_unlinkable = "a test says so" }}
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[[privacy]]
model = "pk-anonymity"
k = 2
[mechanism]
name = "pram"
[[utility]]
metric = "expected-l2"
max = 1
[release]
format = "{format}"
"""


@dataclass(frozen=True)
class Case:
    """A policy with its table, in a folder of its own."""

    folder: Path
    policy: Path
    table: Path


@dataclass(frozen=True)
class Made:
    """A release with its kept key."""

    case: Case
    bundle: Path
    key: Path


def write_case(folder: Path, form: str = "parquet", records: int = 2000) -> Case:
    """Write the table and a policy for it."""
    rng = random.Random(7)
    table = folder / "people.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person_id", "note", "sex", "level", "age", "hours"])
        for i in range(records):
            rare = f"CANARY-rare-{i}" if i % 500 == 3 else rng.choices(LABELS, [60, 20, 10, 6, 4])[0]
            row = [f"CANARY-identifier-{i}", f"CANARY-excluded-{i}", rng.choices("FM", [85, 15])[0], rare]
            writer.writerow([*row, rng.choice([25, 30, 35, 50, 70]), rng.choice([10, 20, 30])])
    policy = folder / "policy.toml"
    labels = "[" + ", ".join(toml(label) for label in LABELS) + "]"
    policy.write_text(POLICY.format(uri="people.csv", labels=labels, format=form))
    return Case(folder, policy, table)


def toml(text: str) -> str:
    """Return a TOML string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def run(*arguments: object) -> int:
    """Run the command line in this process; return the exit status."""
    from rrpolicy.cli.main import main

    return main([str(a) for a in arguments])


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """Return a fresh case."""
    return write_case(tmp_path)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Return a function that gives the release of a format, made once."""
    done: dict[str, Made] = {}

    def make(form: str) -> Made:
        if form not in done:
            case = write_case(tmp_path_factory.mktemp(form), form)
            bundle, key = case.folder / "bundle", case.folder / "release.key"
            assert run("release", case.policy, "--out", bundle, "--key", key) == 0
            done[form] = Made(case, bundle, key)
        return done[form]

    return make


@pytest.fixture
def copied(made: Callable[[str], Made], tmp_path: Path) -> Callable[[str], Made]:
    """Return a function that gives a copy of a release, to be tampered with."""

    def copy(form: str) -> Made:
        source = made(form)
        bundle = tmp_path / "bundle"
        shutil.copytree(source.bundle, bundle)
        return Made(source.case, bundle, source.key)

    return copy
