"""What docs/how-to/survey-design.md tells to write is what works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import rrpolicy
from rrpolicy.cli.main import main

from .conftest import POLICY, sample

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "survey-design.md").read_text()
KEPT = {"sex": "9/10", "ill": "4/5"}


def test_the_guide_is_followed_from_the_policy_to_calibrated_estimates(released, capsys, monkeypatch):
    (policy,) = re.findall(r"```toml\n\[attributes\]\n(.*?)```", GUIDE, re.DOTALL)
    own = POLICY[POLICY.index("region =") : POLICY.index("dice =")].replace("{{", "{").replace("}}", "}")
    assert tomllib.loads(policy)["weight"]["design"] == "weight"
    release = released(sample().drop(columns="visits"), KEPT, {own: policy})
    monkeypatch.chdir(release.folder.parents[1])
    names = {"rrpolicy": rrpolicy}
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(block, names)
    printed = capsys.readouterr().out

    assert printed.count("of the population (sample and randomisation are random)") == 5
    assert names["calibrated"].crosstab("sex").estimate.round(6).tolist() == [1400.0, 1300.0]
    for line in re.findall(r"^    rrpolicy (.*)$", GUIDE, re.MULTILINE):
        assert main(line.split()) == 0, line
