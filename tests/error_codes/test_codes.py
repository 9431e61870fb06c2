"""Every code that the sources use has a page, every page's code is used, and every page tells what it should."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rrpolicy.error_codes import codes, page

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("rrpolicy", "plugins", "reports") for p in sorted((ROOT / folder).rglob("*.py"))]


def used():
    """Codes in string literals, not in prose about ranges such as RR2xx."""
    return {code for path in SOURCES for code in re.findall(r"\"(RR\d{3})\"", path.read_text("utf-8"))}


def test_every_code_has_a_page():
    assert sorted(used() - set(codes())) == []


def test_every_page_is_of_a_code_that_is_used():
    mentioned = {code for path in SOURCES for code in re.findall(r"RR\d{3}", path.read_text("utf-8"))}
    assert sorted(set(codes()) - mentioned) == []


@pytest.mark.parametrize("code", codes())
def test_a_page_says_what_it_means_and_what_to_do(code):
    text = page(code)

    assert re.match(rf"# {code}: \S", text)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["What it means", "What to do", "Example"]
    for section in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        assert len(section.strip()) > 10
