"""Names in a release's README are the names, and nothing of them is Markdown or HTML."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.estimate.columns import category
from rrpolicy.estimate.markdown import cell, code, prose

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
    assert spans(code(text)) == ([text] if text else [])
    assert not re.search(r"(?<!\\)\|", cell(text))
    assert spans(cell(text).replace("\\|", "|")) == ([text] if text else [])


@given(ODD)
def test_prose_has_no_mark_that_is_not_escaped(text):
    escaped = prose(text)
    assert not re.search(r"[`*_\[\]<>|!#~&]", re.sub(r"\\.", "", escaped))
    assert re.sub(r"\\(.)", r"\1", escaped) == text


def test_what_people_call_categories():
    assert code("<12 yrs") == "`<12 yrs`"
    assert cell("a|b") == "`a\\|b`"
    assert code("line\nbreak") == "`line break`"
    assert prose("[bold] <b>") == r"\[bold\] \<b\>"


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
