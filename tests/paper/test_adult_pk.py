"""A Pk-anonymous release of Adult: the common retention is the published algorithm's, the released ones lie just below."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

RANDOMISED = ("education", "marital_status", "sex", "race", "workclass")
DROPPED = (
    "age",
    "fnlwgt",
    "education_num",
    "occupation",
    "relationship",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "salary_class",
)


@pytest.fixture(scope="module")
def policy(adult_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adult") / "policy.toml"
    attributes = [f'{name} = {{ role = "quasi-identifier", domain = "observed" }}' for name in RANDOMISED]
    attributes += [f'{name} = {{ role = "excluded" }}' for name in DROPPED]
    head = 'schema = 1\n[policy]\nname = "adult"\nversion = "1.0.0"\nowner = "office"\npurpose = "a reproduction"\n'
    path.write_text(
        head
        + f'[source]\nuri = "{adult_csv.absolute()}"\n[attributes]\n'
        + "\n".join(attributes)
        + '\n[[privacy]]\nmodel = "pk-anonymity"\nk = 2\n[mechanism]\nname = "pram"\nallocation = "equal"\n'
    )
    return path


def run(*arguments: object, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rrpolicy.cli.main", *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_plan_release_verify_and_estimate(policy: Path, vectors: dict[str, Any], tmp_path: Path) -> None:
    plan_file, key = tmp_path / "plan.json", tmp_path / "key.json"
    plan = json.loads(run("plan", policy, "--out", plan_file, "--key", key, "--json"))
    case = next(c for c in vectors["pk_anonymity"]["retention_for_k"] if c["N"] == 45222 and c["k"] == 2)

    assert plan["records"] == 45222
    assert set(plan["mechanism"]["parameters"]) == set(RANDOMISED)
    for name in RANDOMISED:
        parameters = plan["mechanism"]["parameters"][name]
        assert parameters["unrounded"]["retention_probability"] == pytest.approx(case["retention"], abs=1e-9)
        assert 0 <= case["retention"] - parameters["retention_probability"] <= 2e-5
        assert float(Fraction(parameters["keep_exact"])) == parameters["keep_probability"]
    (finding,) = plan["findings"]
    assert finding["verdict"] == "satisfied"
    assert finding["limit_exact"] == "2"
    assert finding["achieved"]["value"] >= 2
    assert finding["achieved"]["standing"] == "exact"

    bundle = tmp_path / "release"
    run("release", plan_file, "--key", key, "--out", bundle)
    assert "verified at level key" in run(
        "verify", bundle, "--source", policy.read_text().split('uri = "')[1].split('"')[0], "--key", key
    )
    rows = json.loads(run("estimate", bundle, "--by", "sex,race", "--json"))["rows"]
    assert len(rows) == 10
    assert sum(row["estimate"] for row in rows) == pytest.approx(45222)


def test_a_plan_without_data_has_the_same_parameters(policy: Path) -> None:
    text = policy.read_text().replace('domain = "observed"', "domain = {}")
    sizes = {"education": 16, "marital_status": 7, "sex": 2, "race": 5, "workclass": 7}
    for name, size in sizes.items():
        text = text.replace(
            f'{name} = {{ role = "quasi-identifier", domain = {{}} }}',
            f'{name} = {{ role = "quasi-identifier", domain = {list(map(str, range(size)))} }}',
        )
    declared = policy.with_name("declared.toml")
    declared.write_text(text.replace("'", '"'))

    plan = json.loads(run("plan", declared, "--expected-rows", 45222, "--json"))
    keep = {name: plan["mechanism"]["parameters"][name]["keep_exact"] for name in RANDOMISED}
    with_data = json.loads(run("plan", policy, "--json"))
    assert keep == {name: with_data["mechanism"]["parameters"][name]["keep_exact"] for name in RANDOMISED}
