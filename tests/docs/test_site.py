"""The documentation site: built without a warning, every link and anchor leads somewhere, nothing is fetched from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

import rrpolicy
from rrpolicy.cli.main import COMMANDS
from rrpolicy.discovery import load_registry
from rrpolicy.error_codes import codes

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
SHAPES = ("li", "table", "tr", "pre", "blockquote", "h1", "h2", "h3", "h4")


class Page(HTMLParser):
    """What a page links to, fetches and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.tags: Counter[str] = Counter()
        self.article = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.article += tag == "article"
        self.tags[tag] += bool(self.article)
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if FETCHED.get(tag) in given and given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(given[FETCHED[tag]])


def test_links_lead_to_what_stands_in_the_repository() -> None:
    """There nothing is built, and no link of a folder is followed; what of it is elsewhere on the site, `hooks` knows."""
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "rrpolicy" / "error_codes").glob("*.md")]
    links = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(`+).*?\1", "", text, flags=re.DOTALL)):
            target = urlsplit(link)
            if target.scheme:
                continue
            file = Path(os.path.normpath(page.parent / unquote(target.path))) if target.path else page
            assert file.exists(), (page, link)
            assert file.resolve() == file, (page, link)
            if target.fragment and file.suffix == ".md":
                assert target.fragment in _headings(file), (page, link)
            links += 1
    assert links > 100


def _headings(page: Path) -> list[str]:
    """Return what headings can be linked at, as repositories show them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_whole(tmp_path: Path) -> None:
    """As `make docs` builds it; built once, since that takes a while."""
    built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(built, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = {path: Page(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.html")}
    every_link_leads_somewhere_and_nothing_is_fetched(site)
    no_stylesheet_or_script_of_a_page_fetches_from_elsewhere(tmp_path)
    a_page_has_the_same_lists_and_tables_here_and_there(tmp_path, site)
    the_reference_has_every_code_command_model_metric_and_function(tmp_path, site)


def every_link_leads_somewhere_and_nothing_is_fetched(site: dict[Path, Page]) -> None:
    links = 0
    for path, page in site.items():
        if path.name == "404.html":  # shown at any address: its links begin at the site's root
            continue
        for link in page.links + page.fetched:
            target = urlsplit(link)
            if link in page.links and (target.scheme or target.netloc):
                continue
            assert not target.scheme, (path.name, link)
            assert not target.netloc, (path.name, link)
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            file = file / "index.html" if file.is_dir() else file
            assert file.exists(), (path.name, link)
            if target.fragment and file.suffix == ".html":
                assert unquote(target.fragment) in site[file].ids, (path.name, link)
            links += 1
    assert links > 1000


def no_stylesheet_or_script_of_a_page_fetches_from_elsewhere(root: Path) -> None:
    for path in root.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path.name
    for path in root.rglob("*.html"):
        inline = re.findall(r"<(?:script|style)[^>]*>(.*?)</", path.read_text(encoding="utf-8"), re.DOTALL)
        assert not [text for text in inline if "://" in text], path


def a_page_has_the_same_lists_and_tables_here_and_there(root: Path, site: dict[Path, Page]) -> None:
    """Guides are read in the repository, too: Markdown that the two understand differently is written otherwise."""
    for path in sorted({*DOCS.rglob("*.md")} - {DOCS / "reference" / "README.md"}):
        text = path.read_text(encoding="utf-8")
        here = Page(f"<article>{MarkdownIt('commonmark').enable('table').render(text)}</article>").tags
        there = site[root / path.relative_to(DOCS).with_suffix(".html")].tags
        assert {tag: here[tag] for tag in SHAPES} == {tag: there[tag] for tag in SHAPES}, path


def the_reference_has_every_code_command_model_metric_and_function(root: Path, site: dict[Path, Page]) -> None:
    ids = {path.relative_to(root).as_posix(): set(page.ids) for path, page in site.items()}
    registry = load_registry()

    for code in codes():
        assert code in ids[f"reference/codes/{code[:3]}xx.html"]
    assert {f"rrpolicy-{name.replace(' ', '-')}" for name in COMMANDS} <= ids["reference/commands.html"]
    assert set(registry.privacy_models) <= ids["reference/measures.html"]
    assert {*registry.mechanisms, *registry.privacy_models, *registry.utility_metrics} <= ids["reference/policy.html"]
    functions = {getattr(rrpolicy, name) for name in rrpolicy.__all__ if not name.startswith("_")}
    assert {f"{thing.__module__}.{thing.__qualname__}" for thing in functions} <= ids["reference/python.html"]
    written = (DOCS / "reference" / "utility.md").read_text(encoding="utf-8")
    assert [name for name in registry.utility_metrics if f"| `{name}` |" not in written] == []
