"""The page on mechanisms shows a policy of each, and it is that of the file that it names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"```toml\n(# (policies/[\w-]+\.toml).*?)```", (ROOT / "docs/explanation/mechanisms.md").read_text(), re.DOTALL
)


def test_there_is_one_of_each_way_to_change_records() -> None:
    assert {tomllib.loads(text)["mechanism"]["name"] for text, _ in BLOCKS} == {
        *("pram", "rr-both", "rr-s", "sensitive-addition", "anatomy", "generalisation"),
    }


@pytest.mark.parametrize(("text", "file"), BLOCKS)
def test_what_is_shown_stands_in_the_policy(text: str, file: str) -> None:
    shown, whole = tomllib.loads(text), tomllib.loads((ROOT / file).read_text())

    assert all(entry in whole["privacy"] for entry in shown["privacy"])
    assert "in part" in text or shown["privacy"] == whole["privacy"]
    assert shown["mechanism"].items() <= whole["mechanism"].items()
