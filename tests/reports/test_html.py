"""The page as bytes: nothing foreign in it, nothing breaks out of it, every field shown and documented."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest
from jinja2 import meta

import rrpolicy.report
from rrpolicy.frozen import field_names, has_fields
from rrpolicy.report import Report
from rrpolicy.serialization import field_descriptions
from rrpolicy_reports.html import HtmlRenderer, environment

NAMES = ("public", "audit", "failing", "hostile", "hostile public", "big", "plan")
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class Reader(HTMLParser):
    """Collects tags with attributes, and complains of tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [n for n, _ in attrs]
        if len(set(names)) < len(names):
            self.faults.append(f"an attribute twice in {tag}")
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rendered(report: Report) -> str:
    return HtmlRenderer().render(report).decode()


def read(report: Report) -> Reader:
    reader = Reader()
    reader.feed(rendered(report))
    reader.close()
    return reader


@pytest.fixture(scope="module")
def page(examples: Any) -> Callable[[str], Reader]:
    """Return what stands on the page of an example, each read once."""
    return cache(lambda name: read(examples.EXAMPLES[name]()))


def template_variables() -> set[str]:
    jinja = environment()
    found: set[str] = set()
    for name in jinja.list_templates(filter_func=lambda n: n.endswith(".html")):
        assert jinja.loader is not None
        found |= meta.find_undeclared_variables(jinja.parse(jinja.loader.get_source(jinja, name)[0]))
    return found


def test_templates_use_exactly_the_fields_of_the_report() -> None:
    frame = {"sheet"}  # each page sets it for the frame that all pages share

    assert template_variables() - set(environment().globals) - frame == {*field_names(Report)}


def test_every_field_of_every_part_is_documented() -> None:
    parts = [c for c in vars(rrpolicy.report).values() if has_fields(c)]
    silent = [
        f"{part.__name__}.{name}"
        for part in parts
        for name in field_names(part)
        if not field_descriptions(part).get(name)
    ]

    assert len(parts) >= 12
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_tags_are_closed_in_order_and_ids_are_unique(page: Any, name: str) -> None:
    reader = page(name)
    ids = [a["id"] for _, a in reader.tags if "id" in a]

    assert reader.faults == []
    assert reader.open == []
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_every_internal_reference_has_a_target(page: Any, name: str) -> None:
    reader = page(name)
    ids = {a["id"] for _, a in reader.tags if "id" in a}
    links = {str(a["href"]) for t, a in reader.tags if t == "a"}
    inside = {link[1:] for link in links if link.startswith("#")}
    described = {part for _, a in reader.tags for part in (a.get("aria-labelledby") or "").split()}

    assert inside - ids == set()
    assert described - ids == set()
    files = {link for link in links if not link.startswith("#")}
    assert bool(files) == ("public" in name)
    assert all(re.fullmatch(r"\./(?!/)[\w.~%/-]+", link) and "/../" not in link for link in files)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_and_nothing_can_run(examples: Any, page: Any, name: str) -> None:
    reader = page(name)
    loading = {"script", "link", "iframe", "img", "image", "object", "embed", "form", "input", "base", "use", "audio"}
    names = {n for _, a in reader.tags for n in a}
    style = "".join(re.findall(r"<style>(.*?)</style>", rendered(examples.EXAMPLES[name]()), re.DOTALL))

    assert {t for t, _ in reader.tags} & loading == set()
    assert {n for n in names if n.startswith("on")} | (names & {"src", "srcset", "style", "xlink:href"}) == set()
    assert re.search(r"url\(|@import|@font-face|https?:|expression", style) is None


@pytest.mark.parametrize("name", [n for n in NAMES if "hostile" not in n])
def test_no_address_stands_in_the_bytes(examples: Any, name: str) -> None:
    page = re.sub(r"'sha256-[\w+/]+=*'", "", rendered(examples.EXAMPLES[name]()))  # of the style: any letters

    assert re.search(r"https?:|url\(|src=|//[a-z]", page) is None


def test_the_page_admits_its_own_stylesheet_and_nothing_else(examples: Any) -> None:
    page = rendered(examples.report())
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    admitted = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)

    assert style is not None
    assert admitted is not None
    own = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert admitted[1] == (
        f"default-src 'none'; style-src 'sha256-{own}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_hostile_labels_stay_text(examples: Any) -> None:
    reader = read(examples.hostile())
    text = "".join(reader.text)

    assert "<script>alert('x')</script>" in text
    assert "</style><img src=http://example.invalid/x.png>" in text
    assert '" onmouseover="alert(1)' in text
    assert "{{ 7 * 7 }} {% raw %}" in text
    assert "&amp; &lt;b&gt;" in text
    assert r"two\nlines\tand a tab" in text
    assert r"\u202egnirts desrever a\u202c" in text
    assert "ذكر" in text
    assert "empty text" in text
    assert "\u202e" not in text


@pytest.mark.parametrize("name", NAMES)
def test_headings_go_down_one_level_at_a_time(page: Any, name: str) -> None:
    levels = [int(t[1]) for t, _ in page(name).tags if re.fullmatch(r"h[1-6]", t)]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


@pytest.mark.parametrize("name", NAMES)
def test_tables_have_captions_and_their_heads_a_scope(page: Any, name: str) -> None:
    tags = page(name).tags
    names = [t for t, _ in tags]

    assert names.count("caption") == names.count("table") > 0
    assert [a for t, a in tags if t == "th" and "scope" not in a] == []
    assert [a for t, a in tags if t == "svg" and not (a.keys() & {"aria-hidden", "aria-labelledby", "x", "y"})] == []


def test_standing_and_verdict_are_words(examples: Any) -> None:
    text = " ".join("".join(read(examples.failing()).text).split())

    for words in (
        "at most 0.7712 upper bound",
        "2.00002 exact",
        "0.61 ± 0.02 estimate",
        "failed",
        "undecided",
        "satisfied",
    ):
        assert words in text
    assert (
        text.index("Not fit for release")
        < text.index("Requirements, as share of their limit")
        < text.index("Risk identity-disclosure")
    )


def test_a_number_that_is_not_published_is_said_to_be_and_whom_to_ask(examples: Any) -> None:
    gone = {"achieved": None, "standing": None, "margin": None, "companions": ()}
    rows = (examples.finding(**gone, basis="original"), examples.finding(**gone, basis="channel", limit=None))
    text = " ".join("".join(read(examples.report(findings=rows)).text).split())

    asked = "Whom to ask: Text."
    assert (
        f"Required: at most 6. The number achieved is a statistic of the original table and not published. {asked}"
        in text
    )
    assert (
        f"The number achieved is not published: it would tell of the probabilities that are withheld. {asked}" in text
    )
    assert "audit report" not in text


def test_a_category_that_cannot_be_released_has_no_released_share(examples: Any) -> None:
    marginal = examples.marginal("sex", examples.SEX, audit=False)
    rows = (rrpolicy.report.MarginalRow("gone", None, None, -0.01, 0.0, 0.02, None), *marginal.rows)
    page = rendered(examples.report(marginals=(rrpolicy.report.MarginalPanel("sex", 0.95, rows, "A remark.", 7),)))

    assert '<td role="cell" class="number" data-head="released">–</td>' in page
    assert "−1.0 %" in page
    assert "A remark." in page
    assert "7 more categories" in page


def test_rendering_again_gives_the_same_bytes(examples: Any) -> None:
    assert HtmlRenderer().render(examples.report()) == HtmlRenderer().render(examples.report())


def test_big_reports_stay_small_enough_to_open(examples: Any) -> None:
    assert len(HtmlRenderer().render(examples.big())) < 2_000_000
