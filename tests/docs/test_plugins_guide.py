"""docs/tutorials/plugins.md from an empty folder: its files make a distribution, whose tests pass, and its commands a release."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rrpolicy.finding import Verdict
from rrpolicy.plugin import hookimpl
from rrpolicy.skeleton.skeleton import write_skeleton
from rrpolicy.testing import check_assessor, check_privacy_model, open_policy, policy_text
from tests.docs.make_plugins_pages import BLOCK, GUIDE, KINDS, NAME, REFERENCE, guide, reference

FILES = {block[1]: block[2] for block in BLOCK.finditer(GUIDE.read_text())}
COMMANDS = re.findall(r"^\$ (.*)$", GUIDE.read_text(), re.MULTILINE)
EXAMPLE = re.compile(r"<!-- example: alpha_k.py -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ALPHA_K = policy_text(
    """
[attributes]
age = { role = "quasi-identifier", domain = [1, 2, 3, 4], hierarchy = [{ young = [1, 2], old = [3, 4] }] }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
disease = { role = "sensitive", domain = ["flu", "cold", "none"] }
[[privacy]]
model = "acme-alpha-k"
k = 5
alpha = "4/5"
[mechanism]
name = "l-diversity"
"""
)
USED = {"policy.toml", "people.py"}
"""What uses the distribution, and is no part of it."""


def test_the_sink_that_is_shown_is_the_one_that_is_tested():
    (shown,) = re.findall(
        r"<!-- example: acme_pool.py -->\n```python\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert shown == (Path(__file__).parents[1] / "thirdparty" / "apart" / "acme_pool.py").read_text()


def test_its_files_are_those_of_the_skeleton(tmp_path):
    written = {str(p.relative_to(tmp_path)) for p in write_skeleton(tmp_path, NAME, KINDS)}

    assert written - {"README.md"} == FILES.keys() - USED
    assert GUIDE.read_text() == guide(), "write it again: python -m tests.docs.make_plugins_pages"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Write the distribution as the guide shows it and install it; return (its folder, the environment)."""
    folder = tmp_path_factory.mktemp("empty")
    for name, text in FILES.items():
        path = folder / ("." if name in USED else NAME) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", site, folder / NAME], check=True)
    here = Path(sys.executable).parent
    return folder, {**os.environ, "NO_COLOR": "1", "PATH": f"{here}:{os.environ['PATH']}", "PYTHONPATH": str(site)}


@pytest.mark.slow
def test_its_tests_pass(environment):
    folder, variables = environment
    tested = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", NAME]
    done = subprocess.run(tested, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_its_commands_make_a_release_that_is_verified(environment):
    folder, variables = environment
    assert len(COMMANDS) == 7

    said = {}
    for command in COMMANDS:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said[command.split()[1]] = done.stdout

    assert said["verify"].splitlines()[-1] == "verified at level key; undecided: nothing"
    assert "acme-survey-amplification: amplification <= 8: satisfied" in said["verify"]
    assert "amplification &lt;= 8" in (folder / "report.md").read_text()


def test_its_model_of_equivalence_classes_conforms(tmp_path, monkeypatch):
    (code,) = EXAMPLE.findall(GUIDE.read_text())
    (tmp_path / "alpha_k.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    example = importlib.import_module("alpha_k")

    class Plugin:
        @hookimpl
        def rrpolicy_privacy_models(self):
            return [example.AlphaK()]

        @hookimpl
        def rrpolicy_assessors(self):
            return example.assessors()

    asked = [{"k": 2, "alpha": "1/2"}, {"k": 3, "alpha": "1/2"}, {"k": 3, "alpha": "1/3"}]

    check_privacy_model(example.AlphaK(), asked, refused=[{"k": 1, "alpha": 1}, {"k": 2, "alpha": 0}, {"k": 2}])
    (finding,) = check_assessor(example.assessors()[0], open_policy(ALPHA_K, [Plugin()]))

    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved.value <= 0.8
    assert finding.companions[0].measure.value >= 5


def test_the_reference_is_that_of_the_docstrings():
    assert REFERENCE.read_text() == reference(), "write it again: python -m tests.docs.make_plugins_pages"
