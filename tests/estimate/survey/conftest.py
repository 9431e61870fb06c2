"""A stratified sample of clusters with unequal weights, released with its design."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rrpolicy
from rrpolicy.estimate.release import Release
from tests.survey import waived

POLICY = """
schema = 1
[policy]
name = "living-conditions"
version = "1.0.0"
owner = "Tests"
purpose = "A survey with its design."
[source]
uri = "memory:"
[attributes]
region = {{ role = "insensitive", domain = ["north", "south", "west"], design = "stratum", unchanged = "so" }}
village = {{ role = "insensitive", design = "cluster", unchanged = "so" }}
weight = {{ role = "insensitive", design = "weight", assume_unlinkable = "so" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"], unchanged = "so" }}
ill = {{ role = "sensitive", domain = ["no", "yes"], unchanged = "so" }}
visits = {{ role = "sensitive", domain = [0, 1, 2, 3], unchanged = "so" }}
income = {{ role = "insensitive", assume_unlinkable = "so" }}
dice = {{ role = "sensitive", domain = ["a", "b"] }}
[[privacy]]
model = "local-dp"
epsilon = 20
scope = "attribute"
[mechanism]
name = "pram"
attributes = {randomised}
keep_probability = {{ {keep} }}
"""


def sample(seed: int = 1, villages: int = 12, people: int = 12) -> pd.DataFrame:
    """Return a sample: villages in regions, people in villages, with weights that go with who they are."""
    rng = np.random.default_rng(seed)
    rows = []
    for h, region in enumerate(["north", "south", "west"]):
        for c in range(villages):
            near = rng.normal(0, 0.6)
            for _ in range(people):
                female = rng.random() < 0.5
                ill = rng.random() < 1 / (1 + np.exp(1.0 - near - 0.5 * h - 0.4 * female))
                rows.append(
                    {
                        "region": region,
                        "village": 100 * h + c,
                        "weight": round(float(2 + 3 * h + 4 * rng.random() + 2 * ill), 2),
                        "sex": "F" if female else "M",
                        "ill": "yes" if ill else "no",
                        "visits": int(min(3, rng.poisson(0.6 + 0.8 * ill))),
                        "income": float(round(20 + 5 * h + 4 * near + 6 * rng.normal(), 1)),
                    }
                )
    return pd.DataFrame(rows)


def _releasing(folder: Path) -> Callable[..., Release]:
    made = count()

    def release(
        table: pd.DataFrame, keep: Mapping[str, str] | None = None, changes: Mapping[str, str] | None = None
    ) -> Release:
        kept = {**(keep or {}), "dice": "3/4"}
        text = POLICY.format(
            randomised=json.dumps(list(kept)), keep=", ".join(f'{name} = "{p}"' for name, p in kept.items())
        )
        for old, new in (changes or {}).items():
            assert old in text
            text = text.replace(old, new)
        exact = [name for name in table.columns if name not in kept and f'\n{name} = {{ role = "excluded"' not in text]
        text += waived("protection", *(f"association/{one}/{drawn}" for one in exact for drawn in kept))
        own = folder / str(next(made))
        own.mkdir()
        (own / "policy.toml").write_text(text)
        rrpolicy.release(own / "policy.toml", own / "bundle", source=table.assign(dice="a"))
        return rrpolicy.open_release(own / "bundle")

    return release


@pytest.fixture
def released(tmp_path: Path) -> Callable[..., Release]:
    """Return a function (table, keep, changes of the policy) -> the opened release; what is in `keep` is randomised."""
    return _releasing(tmp_path)


@pytest.fixture(scope="module")
def released_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Release]:
    """Return the same for all tests of a module."""
    return _releasing(tmp_path_factory.mktemp("released"))
