"""The page in a browser: widths, dark and light, printed, without JavaScript, by keyboard, by accessible names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("width", [320, 360, 768, 1400])
@pytest.mark.parametrize("name", ["public", "audit", "failing", "hostile", "hostile public", "plan", "graded", "wide"])
def test_the_page_never_scrolls_sideways(examples: Any, opened: Callable[..., Any], name: str, width: int) -> None:
    page = opened(examples.EXAMPLES[name](), width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_big_report_opens_without_scrolling_sideways(examples: Any, opened: Callable[..., Any]) -> None:
    page = opened(examples.big(), 360)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#annex details").count() == 40
    assert page.locator("#annex table.heat").count() == 80
    assert page.locator("#annex table.heat").first.is_visible() is False


OUTSIDE = """inside => [...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.unseen, svg, .skip') && !(inside && e.closest('.scroll')))
  .filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 2)
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.tagName + '.' + e.className)"""
"""Elements beyond the right edge; of what scrolls by itself none are, where that may scroll."""


@pytest.mark.parametrize("name", ["audit", "failing", "plan", "graded", "wide"])
def test_on_a_telephone_nothing_is_clipped_and_what_scrolls_says_so(
    examples: Any, opened: Callable[..., Any], name: str
) -> None:
    page = opened(examples.EXAMPLES[name](), 390, script=True)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    silent = page.evaluate(
        """() => [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)
          .filter(e => !e.previousElementSibling?.matches('.sideways')
                       || !e.previousElementSibling.checkVisibility()).map(e => e.ariaLabel)"""
    )

    assert page.evaluate(OUTSIDE, True) == []  # noqa: FBT003 where tables may scroll
    assert silent == []


@pytest.mark.parametrize("name", ["audit", "failing", "plan", "graded", "wide", "big"])
def test_in_print_no_table_is_wider_than_the_paper(examples: Any, opened: Callable[..., Any], name: str) -> None:
    page = opened(examples.EXAMPLES[name](), PAPER[0], script=True)
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    assert page.evaluate(OUTSIDE, False) == []  # noqa: FBT003 on paper nothing scrolls
    assert page.evaluate("[...document.querySelectorAll('.sideways')].some(e => e.checkVisibility())") is False


def test_every_column_of_a_wide_table_is_printed(examples: Any, opened: Callable[..., Any]) -> None:
    report = examples.wide()
    page = opened(report, PAPER[0])
    page.emulate_media(media="print")
    errors = page.locator("#utility table.heat")
    matrix = page.locator("#annex table.heat")

    assert errors.locator("thead th").all_inner_texts() == list(report.pairs.names)
    assert errors.locator("tbody td:not(.none)").count() == 27 * 28 / 2
    assert matrix.locator("thead th").count() == 40
    assert matrix.locator("tbody td").count() == 40 * 40
    assert page.locator("table.upset thead th.held").count() == 40
    assert page.locator("#risk table.related thead th.number").count() >= 27


PAPER = 688, 978
"""Pixels of an A4 page within its margins, across and down."""


def test_the_summary_is_two_pages_and_the_first_has_what_a_decision_takes(
    examples: Any, opened: Callable[..., Any]
) -> None:
    page = opened(examples.graded(), PAPER[0])
    page.emulate_media(media="print")

    def foot(selector: str) -> float:
        box = page.locator(selector).first.bounding_box()
        return float(box["y"] + box["height"])

    for part in (".bar", ".banner", ".attested", ".ladder", ".usable", ".signing"):
        assert foot(part) <= PAPER[1], part
    assert foot("#decision") <= 2 * PAPER[1]
    assert page.locator(".banner h2").inner_text().startswith("Protection: weak. Finding a person's record: none.")
    assert page.locator(".banner .points li").count() == 6
    assert page.evaluate("getComputedStyle(document.querySelector('#risk')).breakBefore") == "page"


@pytest.mark.parametrize("width", [320, 768, 900, 1400])
@pytest.mark.parametrize("name", ["public", "audit", "failing", "plan", "graded"])
def test_no_text_is_squeezed_into_a_column_of_letters(
    examples: Any, opened: Callable[..., Any], name: str, width: int
) -> None:
    squeezed = opened(examples.EXAMPLES[name](), width).evaluate(
        """() => [...document.querySelectorAll('main :is(th, td, caption, p, dd, dt, li, h3, h4)')]
          .filter(e => e.checkVisibility({contentVisibilityAuto: true}) && !e.querySelector('.unseen'))
          .filter(e => e.innerText.length > 14 && e.getBoundingClientRect().width > 2
                       && e.getBoundingClientRect().width < 60)
          .map(e => e.tagName + ' ' + e.innerText)"""
    )

    assert squeezed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["public", "audit", "failing", "plan", "graded"])
def test_all_text_has_the_contrast_of_wcag_aa(
    examples: Any, opened: Callable[..., Any], contrast: str, name: str, scheme: str
) -> None:
    ratios = opened(examples.EXAMPLES[name](), scheme=scheme).evaluate(contrast)

    assert len(ratios) > 30
    assert {key: ratio for key, ratio in ratios.items() if ratio < 4.5} == {}


def test_dark_and_light_differ_and_print_is_light(examples: Any, opened: Callable[..., Any]) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page = opened(examples.report(), scheme="dark")
    dark = page.evaluate(background)
    page.emulate_media(media="print")

    assert dark == "rgb(20, 24, 28)"
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_printing_opens_the_details(examples: Any, opened: Callable[..., Any]) -> None:
    page = opened(examples.report("audit"))
    closed = page.locator("#annex details:last-of-type table.heat")
    before = closed.evaluate("e => e.checkVisibility({contentVisibilityAuto: true})")
    page.emulate_media(media="print")
    pdf = page.pdf(format="A4")

    assert before is False
    assert closed.evaluate("e => e.checkVisibility({contentVisibilityAuto: true})") is True
    assert pdf.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 14


def test_the_keyboard_reaches_the_skip_link_and_opens_details(examples: Any, opened: Callable[..., Any]) -> None:
    page = opened(examples.report("audit"))
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.className")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    place = page.evaluate("document.activeElement.getBoundingClientRect().top")
    page.keyboard.press("Enter")
    after = page.evaluate("document.activeElement.id")
    summary = page.locator("#annex details:last-of-type summary")
    for _ in range(90):
        page.keyboard.press("Tab")
        if summary.evaluate("e => e === document.activeElement"):
            break
    page.keyboard.press("Enter")

    assert (focused, outline, after) == ("skip", "solid", "content")
    assert place >= 0
    assert page.locator("#annex details:last-of-type").evaluate("e => e.open") is True


def test_the_accessibility_tree_names_what_matters(examples: Any, opened: Callable[..., Any]) -> None:
    page = opened(examples.failing())

    assert page.get_by_role("banner").count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Contents").count() == 1
    assert page.get_by_role("heading", level=1, name="Household survey, version 1.2.0, release 2026-11").count() == 1
    assert page.get_by_role("region", name="Not fit for release").count() == 1
    assert page.get_by_role("article", name="identity-disclosure: linking <= 1/2 for everybody not met").count() == 1
    assert (
        page.get_by_role("table", name="Requirements, as share of their limit")
        .get_by_text("154 % of the limit")
        .count()
        == 1
    )
    assert page.get_by_role("img", name="Histogram of people by chance that the record is found").count() == 1
    assert page.get_by_role("table", name=re.compile("shares of sex, with 95 % intervals")).count() == 1
    assert page.get_by_role("rowheader", name="success of the best guess", include_hidden=True).count() == 1


@pytest.mark.parametrize("width", [360, 1400])
def test_the_shares_are_a_table_at_every_width(examples: Any, opened: Callable[..., Any], width: int) -> None:
    table = opened(examples.report("audit"), width).get_by_role("table", name=re.compile("shares of age_group"))

    assert table.get_by_role("row").count() == 5
    assert table.get_by_role("columnheader").count() == 5
    assert table.get_by_role("rowheader", name="40-64").count() == 1


def test_the_browser_reads_the_page_as_it_was_written(examples: Any, opened: Callable[..., Any]) -> None:
    page = opened(examples.hostile())

    assert page.evaluate("document.compatMode") == "CSS1Compat"
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("document.querySelectorAll('script, img, [onmouseover]').length") == 0
    assert page.evaluate("document.querySelectorAll('body > *').length") == 3
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.rows.length > 1)") is True


def test_nothing_is_refused_by_the_pages_own_policy(examples: Any, browser: Any, tmp_path: Any) -> None:
    from rrpolicy_reports.html import HtmlRenderer

    file = tmp_path / "page.html"
    file.write_bytes(HtmlRenderer().render(examples.hostile()))
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    styled = page.evaluate("getComputedStyle(document.querySelector('.banner')).borderInlineStartWidth")
    context.close()

    assert said == []
    assert styled == "8px"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_inventory_and_nothing_is_wider_than_the_window(
    browser: Any, tmp_path: Any, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    from rrpolicy.compliance.evidence_file import inventory_page
    from rrpolicy.compliance.inventory import Inventory, InventoryEntry
    from rrpolicy.report import Fact

    long = "a <name> & of some length" * 4
    releases = (
        InventoryEntry(
            "wages 1.0.0", "q1", "recalled", "2027-01-20", grade="strong", decide=("its bundle is still here",)
        ),
        InventoryEntry(
            long, None, "in use", attested=(Fact("Signed", "with a key"),), digest="sha256:" + "0" * 64, bundle="b"
        ),
    )
    file = tmp_path / "inventory.html"
    file.write_bytes(inventory_page(Inventory("2027-02-01", releases, ("panel",), ("x.toml cannot be read",))))
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(file.as_uri())
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.get_by_role("row").count() == 3
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (768, "light"), (360, "dark")])
def test_axe_finds_nothing_on_any_page(examples: Any, browser: Any, tmp_path: Any, width: int, scheme: str) -> None:
    """The pages run no script of their own: here one is let in, to look at them."""
    from axe_playwright_python.sync_playwright import Axe

    from rrpolicy_reports.html import HtmlRenderer

    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    for name in ("public", "audit", "failing", "plan", "graded", "wide"):
        file = tmp_path / f"{name}.html"
        file.write_bytes(HtmlRenderer().render(examples.EXAMPLES[name]()))
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        found = Axe().run(page)
        assert found.response["passes"]
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    context.close()
