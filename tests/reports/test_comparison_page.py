"""The page of `rrpolicy compare` in a browser: widths, contrast, keyboard, and the map beside its table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.cli.main import main

pytestmark = [pytest.mark.browser, pytest.mark.slow]
POLICY = Path(__file__).resolve().parents[2] / "policies" / "pram.toml"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("comparison") / "page.html"
    call = ["compare", str(POLICY), "--vary", "privacy.0.k=2,5,100000000", "--risk", "privacy/pk-anonymity"]
    assert main([*call, "--html", str(page)]) == 0
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_read_at_every_width(
    comparison: Path, visited: Callable[..., Any], contrast: str, scheme: str
) -> None:
    for width in (320, 768, 1400):
        page = visited(comparison, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    ratios = page.evaluate(contrast)
    assert len(ratios) > 10
    assert {key: ratio for key, ratio in ratios.items() if ratio < 4.5} == {}


def test_the_map_has_a_name_and_the_table_the_same_candidates(comparison: Path, visited: Callable[..., Any]) -> None:
    page = visited(comparison, 1200, "light")

    assert page.get_by_role("img", name="Map of risk and error").count() == 1
    assert page.locator("svg g").count() == 2
    assert page.get_by_role("row").count() == 4
    assert page.locator("tr.best").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    left = [page.locator("svg g circle.pass").nth(i).get_attribute("cx") for i in (0, 1)]
    assert float(left[0]) < float(left[1])
    page.emulate_media(media="print")
    assert page.pdf(format="A4").startswith(b"%PDF")
