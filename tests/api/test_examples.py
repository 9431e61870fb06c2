"""The examples in the docstrings of the public functions, errors and results run, in a folder with what a steward has."""

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
from rrpolicy.estimate.models.regression import Regression
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.sums.replicates import Replicates

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
OFFERED = {name: getattr(rrpolicy, name) for name in rrpolicy.__all__ if name != "__version__"}
INTERNAL = {
    "files",
    "for_columns",
    "lower_bounds",
    "max_records",
    "resolve_target",
    "tables",
    "weight_sums",
    "weights_inside",
}
"""Members of `Release` that estimates use, and an analyst has no need of."""
REACHED_FIRST = {
    Result: ("to_frame", "to_dict", "to_csv", "summary", "plot", "to_altair"),
    Crosstab: ("rows", "se", "conf_int", "covariance"),
    Estimates: ("se", "conf_int"),
    Regression: ("predict", "margins"),
    Replicates: ("variance", "to_arrow"),
    Release: tuple(name for name in vars(Release) if inspect.isroutine(vars(Release)[name]) or name == "records"),
}
METHODS = {
    f"{kind.__name__}.{name}": vars(kind)[name]
    for kind, names in REACHED_FIRST.items()
    for name in names
    if not name.startswith("_") and name not in INTERNAL
}
LIBRARIES = {"Release.to_polars": "polars", "Result.to_altair": "altair"}


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
        strict, study = Path("strict.toml"), Path("study.toml")
        strict.write_text(policy.read_text().replace("max = 9", "max = 0.0001"))
        epsilon = 'model = "local-dp"\nepsilon = 20\nscope = "attribute"'
        study.write_text(policy.read_text().replace('model = "pk-anonymity"\nk = 2', epsilon))
        rrpolicy.release(study, "study")
        rrpolicy.plan("asked.toml", expected_rows=300, out="asked.json").require()
        rrpolicy.init_ledger("releases.jsonl")
        assert main(["keys", "new", "steward.pem", "--no-passphrase"]) == 0
        yield folder
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", [*OFFERED, *METHODS])
def test_an_example_gives_what_it_shows(office: Path, name: str) -> None:
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    thing = (OFFERED | METHODS)[name]
    globs = {"rrpolicy": rrpolicy, "pd": pd}
    (found,) = doctest.DocTestFinder(recurse=False).find(thing, name, module=False, globs=globs)
    assert found.examples, "it has no example"
    shown: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(found, out=shown.append)
    assert not shown, "".join(shown)
