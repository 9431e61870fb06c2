"""A small table with canaries where nothing may be released from, and bundles made of it."""

from __future__ import annotations

import csv
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rrpolicy.cli.main import main

LABELS = ("plain", 'quoted, "label"', "<b>bold & bare</b>", "two\nlines", "ünï 'code'; DROP TABLE data; --")
"""Category labels that each format must carry as they are."""

POLICIES = Path(__file__).resolve().parents[2] / "policies"
MECHANISMS = sorted(p.stem for p in POLICIES.glob("*.toml") if p.stem != "baseline")
FORMATS = ("parquet", "csv", "duckdb")
CONTEXT = """\
[context]
recipients = ["accredited researchers"]
release_model = "restricted"
environment = "a reading room"
legal_basis = "Statistics Act, section 5"
licence = "CC-BY-4.0"
review_by = 2199-06-30
"""
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


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Return public/ of a small release of each example policy, in each format."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(POLICIES / "hierarchies", folder / "hierarchies")
    made = {}
    for name in (*MECHANISMS, "baseline"):
        text = (POLICIES / f"{name}.toml").read_text()
        text = re.sub(r"\[\[utility\]\]\n(?:[^\[\n].*\n)*", "", text)
        text = text.replace('uri = "demo:survey"', 'uri = "demo:survey?records=6000"')
        text = re.sub(r"min_rows = \d[\d_]*", "min_rows = 1000", text)
        text = text.replace('threshold = "1/10"', 'threshold = "1/2"')  # few people hide less well
        (folder / f"{name}.toml").write_text(re.sub(r'(?m)^format = ".*"\n', "", text))
    for name in MECHANISMS:
        for form in FORMATS if not name.startswith("rr-") else FORMATS[:1]:  # of the same tables as pram
            text, head = (folder / f"{name}.toml").read_text(), "[release]\n"
            stated = f'{head}format = "{form}"\n'
            text = text.replace(head, stated) if head in text else f"{text}\n{stated}"
            (folder / f"{name}-{form}.toml").write_text(f"{text}\n{CONTEXT}")
            out = folder / f"{name}-{form}"
            assert main(["release", str(out) + ".toml", "--out", str(out), "--as", "2026-11-22"]) in {0, 1}
            made[name, form] = out / "public"
    return made
