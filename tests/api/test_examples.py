"""The examples in the docstrings of the public functions run, in a folder with what a steward has."""

from __future__ import annotations

import doctest
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import rrpolicy
from rrpolicy.cli.main import main

ASKED = """\
schema = 1

[policy]
name = "asked"
version = "1.0.0"
owner = "Health survey team"
purpose = "Research"

[source]
uri = "answers.csv"

[attributes]
smokes = { role = "sensitive", domain = ["no", "yes"] }

[[privacy]]
model = "local-dp"
epsilon = 2
scope = "attribute"

[mechanism]
name = "pram"
"""
FUNCTIONS = [name for name in rrpolicy.__all__ if inspect.isfunction(getattr(rrpolicy, name))]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A demo table and policy, its release, a questionnaire, a ledger and a key; the working directory."""
    folder, before = tmp_path_factory.mktemp("office"), Path.cwd()
    os.chdir(folder)
    try:
        assert main(["demo", ".", "--records", "5000"]) == 0
        policy = Path("policy.toml")
        policy.write_text(policy.read_text().replace("max = 0.03", "max = 9"))
        Path("asked.toml").write_text(ASKED)
        Path("tests").mkdir()
        case = '[[test]]\nname = "the demo"\ntable = { uri = "demo:survey?records=5000" }\nexpect = { passes = true }\n'
        Path("tests/policy.toml").write_text(case)
        people = pd.read_parquet("survey.parquet")
        people.groupby(list(people.columns), dropna=False).size().reset_index(name="n").to_parquet("counts.parquet")
        for name in ("release", "second"):
            rrpolicy.release(policy, name)
        rrpolicy.plan("asked.toml", expected_rows=300, out="asked.json").require()
        rrpolicy.init_ledger("releases.jsonl")
        assert main(["keys", "new", "steward.pem", "--no-passphrase"]) == 0
        yield folder
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_example_gives_what_it_shows(office: Path, name: str) -> None:
    function = getattr(rrpolicy, name)
    (found,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={"rrpolicy": rrpolicy, "pd": pd})
    assert found.examples, "it has no example"
    shown: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(found, out=shown.append)
    assert not shown, "".join(shown)
