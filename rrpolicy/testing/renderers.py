"""Checks of a renderer of the report."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_origin, get_type_hints

from rrpolicy.api import release, render
from rrpolicy.frozen import field_names, has_fields, replace
from rrpolicy.report import Renderer, Report
from rrpolicy.testing.assertions import convert_to_assertion, demand
from rrpolicy.testing.policies import policy_text, write_csv

HOSTILE = '</p></style><script>run()</script><b onclick="run()" title=\'" {{ 7 * 7 }} & \u202e\u2066\x1b[8m'
HARMLESS = re.sub(r"\S", "x", HOSTILE)
"""Neutral text with as many words of the same lengths: pages may break between words."""
BIDIRECTIONAL = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
MARKUP = frozenset({".html", ".htm", ".xhtml", ".svg", ".xml", ".md"})
"""Suffixes of formats read as markup; other text may contain an unescaped `<`."""
LOADING = frozenset({"src", "srcset", "href", "xlink:href", "action", "formaction", "poster", "data", "background"})
NEIGHBOUR_FILE = re.compile(r"\./(?!/|\.\.)(?!.*/\.\./)[^\s:\\]+")
"""The address of a file in the page's folder."""
STYLED = re.compile(r"@import[^;]*|url\([^)]*\)|https?://[^\s\"')]*")
LINKED = re.compile(
    r"\]\(\s*<?((?:https?:)?//[^\s)>]*)|^ *\[[^\]]+\]: *<?((?:https?:)?//\S*)|<(https?://[^\s>]*)", re.MULTILINE
)
"""Addresses of links and pictures in Markdown."""
ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
"""An escaped sign of Markdown."""
RUNNING = re.compile(r"https?://[^\s\"']*|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(")
"""Parts of a script that send a request."""
POLICY = """\
[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s"], release_as = "part" }
disease = { role = "sensitive", domain = ["none", "flu", "cold"] }
wave = { role = "insensitive", domain = ["1", "2"], assume_unlinkable = "of the survey, not of a person" }
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[[privacy]]
model = "attribute-disclosure"
threshold = "9/10"
[mechanism]
name = "pram"
[[utility]]
metric = "expected-l2"
max = 1
[release]
accept = ["parameters:sex", "parameters:region", "parameters:disease", "released"]
"""
RECORDS = 600
PAGES: tuple[Literal["audit"], Literal["public"]] = ("audit", "public")


@convert_to_assertion("the arguments of the renderer")
def check_renderer(renderer: Renderer) -> None:
    """Check that a renderer prints both pages of a release for any texts, self-contained and reproducibly.

    Args:
        renderer: the renderer to check. HTML, XML and JSON are parsed, by the suffix; in other text the words are
            compared; in binary output, whether the bytes depend on the report.

    Raises:
        AssertionError: with the violated requirement.
    """
    demand(re.fullmatch(r"[a-z0-9-]+", renderer.name) is not None, "the name of a renderer is a word in small letters")
    demand(re.fullmatch(r"\.[a-z0-9]+", renderer.suffix) is not None, "the suffix of a renderer begins with a dot")
    audit, public = render_pages()
    for report in (audit, public):
        with convert_to_assertion("render()"):
            content = renderer.render(report)
        demand(type(content) is bytes and bool(content), "render() returns bytes")
        demand(renderer.render(report) == content, "the same report gives other bytes")
        other = renderer.render(replace(report, title=report.title + " again"))
        demand(other != content, "another report gives the same bytes")
        _check_decision_shown(renderer, report)
        _check_text(renderer, report)
    for secret in _leaked_marks(renderer, audit, public):
        raise AssertionError(f"the public page contains a text of the audit page that was rendered before: '{secret}'")


@cache
def render_pages() -> tuple[Report, Report]:
    """Return the audit page and the public page of a made-up release."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        values = {"sex": "fm", "region": "nesen", "disease": ("none", "flu", "none", "cold")}
        columns = {name: [v[i * 7 % 11 % len(v)] for i in range(RECORDS)] for name, v in values.items()}
        columns["wave"] = ["12"[i * 5 % 13 % 2] for i in range(RECORDS)]
        write_csv(folder / "people.csv", {"person": list(range(RECORDS)), **columns})
        (folder / "policy.toml").write_text(policy_text(POLICY, owner="an office", purpose="a test"), encoding="utf-8")
        release(folder / "policy.toml", out=folder / "out", key=folder / "key")
        audit, public = (render(folder / "out", page=page, format="json").content for page in PAGES)
    return Report.from_json(json.loads(audit)), Report.from_json(json.loads(public))


def _mark_texts(report: Report, suffix: str, mark: str = "") -> Report:
    """Return a report with a suffix after every text, and with a separate number if a mark is given."""
    numbers = count()
    marked: Report = _map_texts(
        report, Report, lambda text: text + (f"{mark}{next(numbers)}." if mark else "") + suffix
    )
    return marked


def _map_texts(value: Any, hint: Any, change: Any) -> Any:
    """Return data with changed texts, except words of the format."""
    if get_origin(hint) is Literal:
        return value
    if isinstance(value, str):
        return change(value)
    if has_fields(type(value)):
        hints = get_type_hints(type(value))
        return replace(
            value, **{name: _map_texts(getattr(value, name), hints[name], change) for name in field_names(type(value))}
        )
    if isinstance(value, tuple):
        return tuple(_map_texts(inner, None, change) for inner in value)
    return value


def _check_decision_shown(renderer: Renderer, report: Report) -> None:
    """Look for the decision, and for the requirements, on the page."""
    try:
        page = _words(" ".join(_texts(renderer.suffix, renderer.render(report).decode())))
    except ValueError:
        return  # no text, or no JSON: reported below
    demand(_words(report.decision) in page, f"the page does not contain the decision: '{report.decision}'")
    for finding in report.findings:
        told = any(_words(text) in page for text in (finding.requirement, finding.model))
        demand(told, f"the page does not contain the requirement '{finding.requirement}' of {finding.model}")


def _texts(suffix: str, content: str) -> list[str]:
    if suffix == ".json":
        return [json.dumps(json.loads(content), ensure_ascii=False).replace("\\n", " ")]
    return _Page.of(_without_backslashes(suffix, content)).texts if suffix in MARKUP else [content]


def _without_backslashes(suffix: str, content: str) -> str:
    """Return a page without the backslashes of escapes, if it is Markdown."""
    return ESCAPED.sub(" ", content) if suffix == ".md" else content


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def _check_text(renderer: Renderer, report: Report) -> None:
    hostile, harmless = (renderer.render(_mark_texts(report, suffix)) for suffix in (HOSTILE, HARMLESS))
    try:
        text, plain = hostile.decode(), harmless.decode()
    except UnicodeDecodeError:
        return  # no text: its readers decide
    turned, steering = BIDIRECTIONAL.search(text), CONTROLS.search(text)
    demand(turned is None, "a text that turns the direction of writing is on the page unescaped; see `visible`")
    demand(steering is None, "a control character of a text is on the page unescaped; see `visible`")
    if renderer.suffix == ".json":
        for document in (text, plain):
            try:
                json.loads(document)
            except ValueError as error:
                raise AssertionError(f"it is not JSON: {error}") from error
    if renderer.suffix not in MARKUP:
        return
    text, plain = (_without_backslashes(renderer.suffix, page) for page in (text, plain))
    demand("<script>run()" not in text, "a text of the report is on the page as markup: it is not escaped")
    one, other = _Page.of(text), _Page.of(plain)
    demand(one.tags == other.tags, "a text of the report becomes markup: it is not escaped")
    linked = ["".join(found) for found in LINKED.findall(plain)] if renderer.suffix == ".md" else []
    for outside in (one.outside, other.outside, linked):
        demand(not outside, f"the page refers to what is outside of it: {outside[:3]}")


class _Page(HTMLParser):
    """The tags of a page with the names of their attributes, and references to other resources."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.outside: list[str] = []
        self.texts: list[str] = []
        self._within = ""

    @classmethod
    def of(cls, text: str) -> _Page:
        page = cls()
        page.feed(text)
        page.close()
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._within = tag
        if tag == "meta" and "refresh" in {(value or "").lower() for _, value in attrs}:
            self.outside.append("meta refresh")
        self.texts += [value for _, value in attrs if value]
        for name, value in attrs:
            beside = tag == "a" and NEIGHBOUR_FILE.fullmatch(value or "")  # a link that nothing follows by itself
            if name in LOADING and not beside and not (value or "").startswith(("#", "data:")):
                self.outside.append(f"{tag} {name}={value}")
            if name == "style":
                self._check_style(value or "")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._within == "style":
            self._check_style(data)
        if self._within == "script":
            self.outside += RUNNING.findall(data)

    def handle_endtag(self, tag: str) -> None:
        self._within = "" if tag == self._within else self._within

    def unknown_decl(self, data: str) -> None:
        """Read a CDATA section of XML as text."""
        self.texts.append(data.removeprefix("CDATA["))

    def handle_pi(self, data: str) -> None:
        """Refuse the style sheet of an XML document."""
        if data.startswith("xml-stylesheet"):
            self.outside.append(data)

    def _check_style(self, style: str) -> None:
        self.outside += [m for m in STYLED.findall(style) if "data:" not in m]


def _leaked_marks(renderer: Renderer, audit: Report, public: Report) -> list[str]:
    """Return the marks of the audit page that appear on a public page printed after it."""
    before = renderer.render(_mark_texts(audit, "", "AuditMark"))
    content = renderer.render(_mark_texts(public, "", "PublicMark"))
    demand(b"PublicMark" in content or b"AuditMark" not in before, "the public page contains no text of its report")
    return sorted({m.decode() for m in re.findall(rb"AuditMark\d+", content)})
