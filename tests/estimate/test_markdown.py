"""Names in a release's README are the names, and nothing of them is Markdown or HTML."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from rrpolicy.escaping.printable import (
    markdown_cell,
    markdown_code,
    markdown_fence,
    markdown_prose,
    visible,
)
from rrpolicy.estimate.counts.columns import category

HOSTILE = (
    "[x](javascript:alert(1))",
    "![x](http://example.invalid/x.png)",
    "<img src=http://example.invalid/x.png>",
    "<http://example.invalid/>",
    "[x]: http://example.invalid/",
    "[x][y] ![y]",
    "&lt;b&gt; &#60;",
    "```\n<img src=x>\n```",
    "~~~~\n<img src=x>",
    "`` ` a | b | c",
    "two\n\n<script>alert(1)</script>\n",
    "1. one",
    "12) twelve",
    "- item",
    "+ item",
    "---",
    "===",
    "> quoted",
    "# heading",
    "\u202egnirts\u2066 \x1b[31mred \x7f\x9b",
    "*a* _b_ \\",
)
ODD = st.text(st.sampled_from("`<>|[]()*_!\\# a12é~&"), max_size=20)


def spans(text: str) -> list[str]:
    """Return what CommonMark shows of the code spans of a line: between runs of backticks of one length."""
    found, rest = [], text
    while match := re.search("`+", rest):
        end = re.search(f"(?<!`){match[0]}(?!`)", rest[match.end() :])
        if end is None:
            break
        inner = rest[match.end() : match.end() + end.start()]
        if inner[:1] == inner[-1:] == " " and inner.strip():
            inner = inner[1:-1]
        found.append(inner)
        rest = rest[match.end() + end.end() :]
    return found


@given(ODD)
def test_a_code_span_shows_the_text_as_it_is(text):
    assert spans(markdown_code(text)) == ([text] if text else [])
    assert not re.search(r"(?<!\\)\|", markdown_cell(text))
    assert spans(markdown_cell(text).replace("\\|", "|")) == ([text] if text else [])


@given(ODD)
def test_prose_has_no_mark_that_is_not_escaped(text):
    escaped = markdown_prose(text)
    assert not re.search(r"[`*_\[\]<>|!#~&]", re.sub(r"\\.", "", escaped))
    assert re.sub(r"\\(.)", r"\1", escaped) == text


PLAIN = {"inline", "text", "softbreak", "code_inline", "heading_open", "heading_close", "paragraph_open"}
PLAIN |= {"paragraph_close", "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close", "fence"}
PLAIN |= {f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")}
PLAIN |= {"strong_open", "strong_close"}


def tokens(page: str) -> list[Token]:
    found = MarkdownIt("commonmark").enable("table").parse(page)
    return [t for block in found for t in (block, *(block.children or ()))]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_markdown_client_finds_nothing_but_the_text(text):
    shown = visible(text)
    for page in (
        f"# {markdown_prose(text)}",
        f"Purpose: {markdown_prose(text)}. Owner: x.",
        f"- {markdown_prose(text)}",
        markdown_prose(text),
    ):
        found = tokens(page)
        assert {t.type for t in found} <= PLAIN, found
        assert shown.strip() in "".join(t.content for t in found if t.type == "text")
    (span,) = (t for t in tokens(f"- {markdown_code(text)}: x") if t.type == "code_inline")
    assert span.content == shown
    row = [
        t
        for t in tokens(f"| a | b |\n|---|---|\n| {markdown_cell(text)} | {markdown_cell(text)} |")
        if t.type == "code_inline"
    ]
    assert [t.content for t in row] == [shown, shown]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_block_of_code_ends_where_it_should(text):
    fence, after = [t for t in tokens(markdown_fence(f"SELECT 1\n{text}\n", "sql") + "\nafter") if t.content][:2]
    assert (fence.type, fence.content, after.content) == ("fence", f"SELECT 1\n{text}\n", "after")


def test_a_renderer_that_links_addresses_finds_none():
    address = re.compile(r"(https?|ftp)://|www\.|[\w.]+@[\w.]+|\w\.[a-z]")
    for text in ("see http://example.invalid/x", "www.example.invalid", "mail a.b@example.invalid", "ftp://x.y"):
        assert address.search(text)
        assert not address.search(markdown_prose(text))
    assert markdown_prose("up to 2.5 %, e. g. here") == "up to 2.5 %, e. g. here"


@pytest.mark.parametrize(("text", "escaped"), [("1.0.0", "1.0.0"), ("1. x", r"1\. x"), ("2)", r"2\)")])
def test_only_what_begins_a_list_is_escaped_of_numbers(text, escaped):
    assert markdown_prose(text) == escaped
    assert not any("list" in t.type for t in tokens(markdown_prose(text)))


def test_what_people_call_categories():
    assert markdown_code("<12 yrs") == "`<12 yrs`"
    assert markdown_cell("a|b") == "`a\\|b`"
    assert markdown_code("line\nbreak") == "`line\\nbreak`"
    assert markdown_prose("[bold] <b>") == r"\[bold\] \<b\>"


def test_a_group_that_only_looks_alike_is_not_offered():
    from rrpolicy.errors import PolicyError

    groups = ("<12 yrs", "12-18 yrs", ">18 yrs")
    for value, offered in (("‹12 yrs", "<12 yrs"), ("12 yrs", "<12 yrs"), ("0-6 yrs", None)):
        try:
            category("age", groups, value, ordered=False)
        except PolicyError as error:
            hint = error.problems[0].hint
        assert hint.startswith(f"did you mean {offered!r}?") is (offered is not None), (value, hint)
        assert hint.endswith("its categories are '<12 yrs', '12-18 yrs', '>18 yrs'")
