"""The tutorials of plugins, each from an empty folder: its files make a distribution that passes, its commands a release."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rrpolicy.drafting.scaffold.generator import write_scaffold
from rrpolicy.finding import Verdict
from rrpolicy.plugin import Identity, Outline, Product, Recode, SuppressionChannel, hookimpl
from rrpolicy.testing import check_assessor, check_privacy_model, open_policy, policy_text
from tests.docs.make_plugins_pages import BLOCK, FILES, GUIDE, REFERENCE, filled_in, reference

COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
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


def shown(guide):
    """Return the files that a tutorial shows."""
    return {block[1]: block[2] for block in BLOCK.finditer(guide.path.read_text())}


@pytest.mark.parametrize("guide", [GUIDE, FILES], ids=lambda guide: guide.name)
def test_its_files_are_those_of_the_skeleton(guide, tmp_path):
    written = {str(p.relative_to(tmp_path)) for p in write_scaffold(tmp_path, guide.name, guide.kinds)}

    assert written - {"README.md"} == shown(guide).keys() - USED
    assert guide.path.read_text() == filled_in(guide), "write it again: python -m tests.docs.make_plugins_pages"


@pytest.fixture(scope="module", params=[GUIDE, FILES], ids=lambda guide: guide.name)
def guide(request):
    return request.param


@pytest.fixture(scope="module")
def environment(guide, tmp_path_factory):
    """Write the distribution as the tutorial shows it and install it; return (its folder, the environment)."""
    folder = tmp_path_factory.mktemp("empty")
    for name, text in shown(guide).items():
        path = folder / ("." if name in USED else guide.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", site, folder / guide.name], check=True)
    here = Path(sys.executable).parent
    return folder, {**os.environ, "NO_COLOR": "1", "PATH": f"{here}:{os.environ['PATH']}", "PYTHONPATH": str(site)}


@pytest.mark.slow
def test_its_tests_pass(guide, environment):
    folder, variables = environment
    tested = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", guide.name]
    done = subprocess.run(tested, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_its_commands_make_a_release_that_is_verified(guide, environment):
    folder, variables = environment
    commands = COMMAND.findall(guide.path.read_text())
    assert len(commands) == {GUIDE: 7, FILES: 5}[guide]

    said = {}
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said[command.split()[1]] = done.stdout

    assert said["verify"].splitlines()[-1] == "verified at level key; undecided: nothing"
    if guide is GUIDE:
        assert "acme-survey-amplification: amplification <= 8: met" in said["verify"]
        assert "amplification &lt;= 8" in (folder / "report.md").read_text()
    else:
        assert "the same release, byte for byte" in said["verify"]
        assert "ridge regression, shrunk towards an even table" in said["estimate"]


def test_its_model_of_equivalence_classes_conforms(tmp_path, monkeypatch):
    (code,) = EXAMPLE.findall(GUIDE.path.read_text())
    (tmp_path / "alpha_k.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    example = importlib.import_module("alpha_k")

    class Plugin:
        @hookimpl
        def rrpolicy_privacy_models(self):
            return [example.AlphaK()]

    asked = [{"k": 2, "alpha": "1/2"}, {"k": 3, "alpha": "1/2"}, {"k": 3, "alpha": "1/3"}]

    check_privacy_model(example.AlphaK(), asked, refused=[{"k": 1, "alpha": 1}, {"k": 2, "alpha": 0}, {"k": 2}])
    opened = open_policy(ALPHA_K, [Plugin()])
    (finding,) = check_assessor(example.AlphaK().assessors()[0], opened)

    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved.value <= 0.8
    assert next(c.measure.value for c in finding.companions if c.name == "smallest class") >= 5
    (requirement,) = opened.policy.requirements
    recoded = Outline(Product, ((("age", "sex"), Recode), (("disease",), Identity)))
    for outline in (recoded, Outline(SuppressionChannel)):
        assessor = opened.registry.assessor(requirement, opened.policy, outline)
        assert assessor.channel is outline.channel
        assert not opened.registry.provider(assessor).startswith("core")


def test_the_reference_is_that_of_the_docstrings():
    assert REFERENCE.read_text() == reference(), "write it again: python -m tests.docs.make_plugins_pages"
