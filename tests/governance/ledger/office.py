"""An office: a folder with a policy, its table and a ledger, and the command line to use them."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.cli.main import main
from rrpolicy.governance.ledger.entry import ReleaseEntry
from rrpolicy.governance.ledger.ledger_file import read_ledger

ROOMS = 400
HEAD = """schema = 1
[policy]
name = "residents"
version = "1.0.0"
owner = "Statistics Office"
purpose = "A test of the ledger"
[source]
uri = "people.csv"
{source}
[attributes]
person = {{ role = "identifier" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
region = {{ role = "quasi-identifier", domain = ["a", "b", "c", "d"], hierarchy = [{{ "ab" = ["a", "b"], "cd" = ["c", "d"] }}, {{ "*" = ["ab", "cd"] }}] }}
disease = {{ role = "sensitive", domain = ["none", "flu", "cold"] }}
{attributes}
{rest}
"""
LEDGER = '[ledger]\nfile = "releases.jsonl"\n'
PRAM = '[mechanism]\nname = "pram"\nallocation = "fixed"\n'
KEEP = PRAM + 'keep_probability = { sex = "3/4", region = "1/2", disease = "1/2" }\n'


def privacy(model: str, section: str = "privacy", **options: Any) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    return "\n".join([f"[[{section}]]", f'model = "{model}"', *lines, ""])


@dataclass
class Office:
    """A folder with a policy, its table and a ledger."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def policy(
        self, rest: str, *, source: str = 'population = "residents"', attributes: str = "", name: str = "p"
    ) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(HEAD.format(source=source, attributes=attributes, rest=rest))
        return path

    def run(self, *arguments: object) -> tuple[int, str]:
        status = main([str(a) for a in arguments])
        told = self.capsys.readouterr()
        return status, told.out + told.err

    def release(self, policy: Path, name: str, *more: object) -> tuple[int, str]:
        return self.run("release", policy, "--out", self.folder / name, "--as", name, *more)

    def enter(self, policy: Path, reason: str = "a test says so", by: str = "review board") -> None:
        """Enter the population and the budget of a policy."""
        status, told = self.run("ledger", "add", self.ledger, "--budget", policy, "--reason", reason, "--by", by)
        assert status == 0, told

    @property
    def ledger(self) -> Path:
        return self.folder / "releases.jsonl"

    def releases(self) -> list[ReleaseEntry]:
        return list(read_ledger(self.ledger).releases.values())


def people(path: Path, records: int, seed: int = 7) -> None:
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "sex", "region", "disease", "room"])
        for i in range(records):
            writer.writerow([f"CANARY-{i}", rng.choice("FM"), "abcd"[i % 4], ("none", "flu", "cold")[i % 3], i % ROOMS])


DROP_ROOM = 'room = { role = "excluded" }'


def standing(office: Office, ledger: str = LEDGER, more: str = "", **named: str) -> Path:
    """Return a policy of local differential privacy with epsilon = log(9) + ..., whatever the table is."""
    body = privacy("local-dp", epsilon=4) + KEEP + ledger + more
    return office.policy(body, attributes=DROP_ROOM, **named)
