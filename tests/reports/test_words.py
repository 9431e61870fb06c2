"""What readers meet speaks as people do: on the pages, in the plan, in the guides."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from tests.prose.lint import REPLACED

ROOT = Path(__file__).resolve().parents[2]
MET_ONCE = re.compile(REPLACED)
NAMES = ("pram", "rr-both", "rr-s", "by-value", "sensitive-addition", "anatomy", "l-diversity", "tp")


@pytest.mark.parametrize("name", NAMES)
def test_the_pages_have_none_of_the_old_sentences(released: Callable[[str], Path], name: str) -> None:
    for page in (released(name) / side / "report.html" for side in ("public", "audit")):
        text = re.sub(r"(?s)<(style|pre)\b.*?</\1>", " ", page.read_text())
        text = " ".join(re.sub(r"<[^>]*>", "", text).split())

        assert not MET_ONCE.findall(text), page


def test_the_plan_and_the_estimates_have_none(
    released: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = (ROOT / "policies" / "rr-both.toml").read_text().replace("1/4", "1/100000")
    (tmp_path / "policy.toml").write_text(policy)
    assert main(["plan", str(tmp_path / "policy.toml")]) == 1
    assert main(["plan", str(ROOT / "policies" / "l-diversity.toml"), "--verbose"]) == 0
    for name in ("pram", "sensitive-addition", "l-diversity"):
        assert main(["estimate", str(released(name)), "--by", "sex"]) == 0
    shown = capsys.readouterr()

    assert not MET_ONCE.findall(shown.out + shown.err)


def test_the_guides_have_none() -> None:
    guides = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "rrpolicy" / "error_codes").glob("*.md")]
    old = {
        path.name: found
        for path in guides
        if path.name != "results.md" and (found := MET_ONCE.findall(path.read_text()))
    }

    assert len(guides) > 100
    assert old == {}
