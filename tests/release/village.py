"""A village that is asked in the field: a policy, its plan without data, and people with answers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import rrpolicy
from rrpolicy.planning.plan_request import PlannedRelease

POLICY = """
schema = 1
[policy]
name = "village"
version = "1.0.0"
owner = "Tests"
purpose = "Health in the village."
[source]
uri = "answers.csv"
[attributes]
name = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
age = { role = "quasi-identifier", bins = [0, 40, 65, inf], labels = ["0-39", "40-64", "65+"], release_as = "age_group" }
ill = { role = "sensitive", domain = ["yes", "no"], nulls = "no answer" }
[[privacy]]
model = "local-dp"
epsilon = 5
[[privacy]]
model = "pk-anonymity"
k = 3
[mechanism]
name = "pram"
"""


def planned(folder: Path, text: str = POLICY, rows: int = 3000) -> PlannedRelease:
    """Plan for the village without data; returns the plan, written in the folder."""
    (folder / "policy.toml").write_text(text)
    return rrpolicy.plan(folder / "policy.toml", out=folder / "plan.json", expected_rows=rows)


def people(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return answers; the ill are old."""
    rng = random.Random(seed)
    found: list[dict[str, Any]] = []
    for _ in range(number):
        age = rng.choices([rng.randrange(40), rng.randrange(40, 65), rng.randrange(65, 100)], [5, 3, 2])[0]
        ill = rng.choices(["yes", "no", None], [6, 3, 1] if age >= 65 else [1, 7, 1])[0]
        found.append({"sex": rng.choice("ffm"), "age": age, "ill": ill})
    return found
